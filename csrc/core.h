/* What the files of the core share: the state of a thread and the entry points of each file.
 *
 * Ownership is stated at each declaration: "borrowed" arguments stay the caller's, "new" results
 * are the caller's to release, "stolen" arguments belong to the callee from the call on. */
#ifndef SUTURE_CORE_H
#define SUTURE_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "frames.h"

typedef struct suture_entry suture_entry;

/* One per thread. Everything here is saved and put back by whoever changes it. */
typedef struct {
    int active;                 /* frames that start are offered to the frame callback */
    int compiled;               /* a trampoline entered by compiled code is running */
    int scopes;                 /* calls under way that keep the hook installed and active */
    int holds;                  /* set_hook_active(True) keeps it installed */
    suture_entry *pending;      /* the entry whose frame has yet to arrive, or NULL */
    suture_frame *chaining;     /* the frame handed to the hook installed before ours, or NULL */
    PyObject *context;          /* borrowed from who set it; NULL outside compiled code */
    _PyErr_StackItem *exc_item; /* where the running trampoline found its exception state */
    PyObject *exc_base;         /* borrowed: the exception handled when it was entered, or NULL */
    suture_frame *below;        /* the frame that was running when it was entered, or NULL */
} suture_thread;

extern _Thread_local suture_thread suture_this_thread;

/* Stands for NULL wherever Python code describes a frame. Immortal for the life of the module. */
extern PyObject *suture_unbound;

/* What a slot holds for a value as Python sees it. Borrowed in, borrowed out. */
static inline PyObject *
suture_to_slot(PyObject *value)
{
    return value == suture_unbound ? NULL : value;
}

/* hook.c */

/* Keeps our evaluation function installed until as many suture_hook_release calls came. */
void suture_hook_need(void);
void suture_hook_release(void);
/* Puts our evaluation function back on top if another one displaced it. */
void suture_hook_recheck(void);

/* sites.c: what is remembered with a code object */

/* The callback's answer for (code, unit, current context); asked when unknown. unit -1 is the start
 * of the function, any other the last unit a suspended generator ran. All arguments borrowed.
 * On success 0 and *point a new reference to a Point, or NULL for "run plainly"; 1 for "run
 * plainly, and all that is called below"; -1 on error. */
int suture_site_point(suture_thread *thread, PyCodeObject *code, PyObject *function, int unit,
                      PyObject **point);
/* Names of the keyword-only parameters as a tuple. Borrowed from `code`; NULL with an error set. */
PyObject *suture_code_kwonly(PyCodeObject *code);
/* The context in which generators of this code are offered even while the hook is not active. New;
 * NULL, no error set, if they are not. */
PyObject *suture_code_watched(PyCodeObject *code);
/* 0, or -1 with an error set. */
int suture_sites_init(void);
extern PyMethodDef suture_site_methods[];
extern PyMethodDef suture_state_word_methods[];
extern PyMethodDef suture_around_methods[];

/* enter.c */

/* Runs function's code from byte `offset`; all arguments borrowed, exc and handled may be NULL.
 * With `move`, values are taken out of `locals` and `stack` (both only the caller's).
 * Result new. */
PyObject *suture_enter(PyObject *function, Py_ssize_t offset, PyObject *locals, PyObject *stack,
                       PyObject *exc, PyObject *handled, int move);
/* Fills the frame that the pending entry waits for and runs it. Result new. */
PyObject *suture_entry_run(suture_thread *thread, PyThreadState *tstate, suture_frame *frame);
/* 1 if `frame` is the one the thread's pending entry (not NULL) waits for. */
int suture_entry_matches(const suture_entry *entry, suture_frame *frame);
/* 0 if locals and stack (borrowed) describe a frame of `code` at `offset`, else -1, error set. */
int suture_check_state(PyCodeObject *code, Py_ssize_t offset, PyObject *locals, PyObject *stack);
/* Makes `exc` (borrowed) the current error as if it were passing through: its context and
 * traceback stay as they are. */
void suture_raise_again(PyObject *exc);
extern PyMethodDef suture_enter_methods[];

/* generators.c */
extern PyMethodDef suture_generator_methods[];
/* A generator's frame was resumed at a Point: dispatches, refills the frame, lets CPython go on.
 * All arguments borrowed; result as of an evaluation function. */
PyObject *suture_generator_run(suture_thread *thread, PyThreadState *tstate, suture_frame *frame,
                               PyObject *point);

/* jump.c */

/* Items are borrowed; `state` holds suture_jump_size(jump) of them. */
PyObject *suture_jump_point(PyObject *jump);
PyObject *const *suture_jump_state(PyObject *jump);
Py_ssize_t suture_jump_size(PyObject *jump);

/* What leave() makes: go on at `offset` of the function (or of the generator frame in hand). */
typedef struct {
    PyObject_HEAD
    PyObject *function; /* may be NULL */
    Py_ssize_t offset;
    PyObject *locals;  /* tuple */
    PyObject *stack;   /* tuple */
    PyObject *exc;     /* may be NULL */
    PyObject *handled; /* an exception, None for nothing handled, NULL for as it is */
} suture_leave;

extern PyTypeObject suture_jump_type;
extern PyTypeObject suture_leave_type;
extern PyMethodDef suture_jump_methods[];

/* point.c */
extern PyTypeObject suture_point_type;
/* The callable for this state: the variant that hit last, then the most recent first, then what
 * on_miss answers. All arguments borrowed; result new, NULL with an error set. */
PyObject *suture_point_choose(PyObject *point, PyObject *const *state, Py_ssize_t n);

/* trampoline.c */
extern PyMethodDef suture_point_methods[];
/* Dispatches at `point`, follows jumps, and enters frames that variants leave to. All arguments
 * borrowed; result new, never a Jump or a Leave. */
PyObject *suture_trampoline(suture_thread *thread, PyObject *point, PyObject *const *state,
                            Py_ssize_t n);
/* The same, but a Leave that ends the jumps is the result. */
PyObject *suture_trampoline_to_leave(suture_thread *thread, PyObject *point, PyObject *const *state,
                                     Py_ssize_t n);

/* compiled.c, bind.c */
extern PyTypeObject suture_compiled_type;
/* Binds as CPython binds for `function`; arguments borrowed. `slots` has room for
 * suture_slot_count(code) and receives new references (or NULLs on failure).
 * 1 bound, 0 the arguments do not fit, -1 error set. */
int suture_bind(PyObject *function, PyCodeObject *code, PyObject *const *args, Py_ssize_t nargs,
                PyObject *kwnames, PyObject **slots);
/* Number of argument slots: positional, keyword-only, *args, **kwargs. */
static inline int
suture_slot_count(const PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
           ((code->co_flags & CO_VARKEYWORDS) != 0);
}

/* traceback.c */

/* A frame object that looks as if it stood at `unit` of `code`. Arguments borrowed (locals may be
 * NULL), result new. */
PyObject *suture_frame_object(PyCodeObject *code, PyObject *globals, int unit, PyObject *locals);
extern PyMethodDef suture_traceback_methods[];

/* choice.c */

/* 1 if the variant that was chosen for this state (borrowed, of n values) may be run, 0 if a miss
 * is wanted instead, -1 with an error set. Arguments borrowed. */
int suture_choice_stands(PyObject *point, PyObject *const *state, Py_ssize_t n);
extern PyMethodDef suture_choice_methods[];

/* outermost.c */

/* Compiled code of the thread begins; tells the callback where nothing compiled runs below it yet.
 * Returns what thread->compiled was, which the caller puts back at the end. */
int suture_begin_compiled(suture_thread *thread);
extern PyMethodDef suture_outermost_methods[];

/* iterators.c */
/* 0, or -1 with an error set. */
int suture_iterators_init(void);
extern PyMethodDef suture_iterator_methods[];

/* plain_call.c */
extern PyMethodDef suture_plain_call_methods[];

/* synthetic_frames.c */
extern PyTypeObject suture_synthetic_frames_type;

/* hook.c */
extern PyMethodDef suture_hook_methods[];

#endif
