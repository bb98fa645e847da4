/* The interpreter's frames, as the rest of the core sees them.
 *
 * frames_311.c to frames_314.c (which also has 3.15) each state how one version of CPython lays out
 * a frame and then include frames_shared.h, which is the same for all of them. No other file knows
 * a field of a frame or of a generator. */
#ifndef SUTURE_FRAMES_H
#define SUTURE_FRAMES_H

#include <Python.h>

typedef struct _PyInterpreterFrame suture_frame;

/* All arguments of the functions below are borrowed, and so are all results but those of the
 * evaluation functions, unless it says otherwise. */

/* The code the frame runs. */
PyCodeObject *suture_frame_code(suture_frame *frame);
/* The function the frame was made for. */
PyObject *suture_frame_function(suture_frame *frame);
/* 1 for a frame of a Python function (no class body, no module) that has run nothing yet. */
int suture_frame_is_start(suture_frame *frame);
/* 1 for a frame that lives in a generator, coroutine or asynchronous generator. */
int suture_frame_is_generator(suture_frame *frame);
/* Copies the first `count` slots of a frame that has not begun: its arguments. Some may be NULL. */
void suture_frame_arguments(suture_frame *frame, int count, PyObject **arguments);
/* What slot i holds; the value stack follows behind the locals. New; NULL if it is empty, or with
 * an error set. Where a loop keeps a sequence and an index, an iterator and nothing. */
PyObject *suture_frame_slot(suture_frame *frame, int i);
/* Slots in use: locals, cells, free variables and the values on the stack. */
int suture_frame_used(suture_frame *frame);
/* Index of the last code unit that ran, -1 if none did. */
int suture_frame_last_unit(suture_frame *frame);
/* Index of the first code unit behind the ones that make cells and the generator. */
int suture_code_prefix(PyCodeObject *code);
/* 1 if slot i is a cell or a free variable / only a free variable. */
int suture_code_slot_is_cell(PyCodeObject *code, int i);
int suture_code_slot_is_free(PyCodeObject *code, int i);
/* 1 if slot i belongs to an inlined comprehension, where even a cell may be missing. */
int suture_code_slot_is_hidden(PyCodeObject *code, int i);

/* 1 if the instruction at `unit` yields, 0 if not, -1 with an error set. */
int suture_code_yields_at(PyCodeObject *code, int unit);

/* Replaces everything in the frame by the tuples `locals` and `stack`, which were checked against
 * its code. Empty cells and free variables are completed from `function` if `unit` is behind the
 * prefix. With `move` the values are taken out of the tuples. 0, or -1 with an error set and the
 * frame as it was. */
int suture_frame_fill(suture_frame *frame, PyObject *function, PyObject *locals, PyObject *stack,
                      int unit, int move);
/* The next code unit to run is `unit`. */
void suture_frame_set_next(suture_frame *frame, int unit);
/* The exception about to be thrown into the frame was raised by the instruction at `unit`. */
void suture_frame_set_raised(suture_frame *frame, int unit);

/* Calls the function itself, whatever its vectorcall slot says: makes a frame of its code. */
PyObject *suture_function_call(PyObject *function, PyObject *const *args, size_t nargs,
                               PyObject *kwnames);

/* 1 if a frame of this code can be answered without being run. */
int suture_code_can_answer(PyCodeObject *code);
/* Result of an evaluation function for a frame that did not run: `result` (stolen; NULL if an
 * error is set). Leaves the frame as the caller of an evaluation function expects it. */
PyObject *suture_frame_answer(PyThreadState *tstate, suture_frame *frame, PyObject *result);
/* Once, before the functions above are used. 0, or -1 with an error set. */
int suture_frames_init(void);

/* The frame inside a generator-like object (checked), or NULL if it finished. */
suture_frame *suture_generator_frame(PyObject *generator);
/* 1 while the generator is running. */
int suture_generator_running(PyObject *generator);
/* Marks the generator as suspended at `unit` (a YIELD_VALUE), `handled` (borrowed, may be NULL)
 * being the exception that it handles. */
void suture_generator_suspend(PyObject *generator, int unit, PyObject *handled);

/* Sets what a frame object made by PyFrame_New shows: the instruction at `unit`, and empty cells
 * where the code has free variables. 0, or -1 with an error set. */
int suture_frame_object_at(PyFrameObject *frame, PyCodeObject *code, int unit, PyObject *locals);

/* The frame that the thread runs, and making another one pass for it while C code is running. */
suture_frame *suture_current_frame(PyThreadState *tstate);
void suture_set_current_frame(PyThreadState *tstate, suture_frame *frame);
/* Makes the frame of a frame object made by PyFrame_New look like one that is being run and was
 * called by `below`. Gives that frame, which is valid until suture_frame_object_unlink. */
suture_frame *suture_frame_object_link(PyFrameObject *object, suture_frame *below);
/* Ends that. Who has kept the frame object still finds its caller. 1 if nobody has. */
int suture_frame_object_unlink(PyFrameObject *object);

#endif
