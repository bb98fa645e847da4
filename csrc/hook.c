/* The evaluation hook (PEP 523): takes frames that an entry waits for, offers frames that start
 * while the hook is active, and hands everything else to the hook that was installed before. */
#include "core.h"

#define SMALL_STATE 16

_Thread_local suture_thread suture_this_thread;

static Py_ssize_t needed;             /* reasons to be installed, over all threads */
static int permanent;                 /* one of them is set_frame_permanent(True) */
static _PyFrameEvalFunction previous; /* what was installed before us; never ours */

static PyObject *eval_hook(PyThreadState *tstate, suture_frame *frame, int throwflag);

void
suture_hook_recheck(void)
{
    PyInterpreterState *interp = PyInterpreterState_Get();
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interp);
    if (current != eval_hook) {
        previous = current;
        _PyInterpreterState_SetEvalFrameFunc(interp, eval_hook);
    }
}

/* Another hook on top of ours stays there; it keeps calling us, and we chain. */
static void
uninstall(void)
{
    PyInterpreterState *interp = PyInterpreterState_Get();
    if (_PyInterpreterState_GetEvalFrameFunc(interp) == eval_hook) {
        _PyInterpreterState_SetEvalFrameFunc(interp, previous);
    }
}

void
suture_hook_need(void)
{
    needed++;
    suture_hook_recheck();
}

void
suture_hook_release(void)
{
    if (--needed == 0) {
        uninstall();
    }
}

/* Hands the frame on. The hook before ours may itself hand it back to us (it was installed above
 * ours once, and we above it): `chaining` ends that circle. All arguments borrowed. */
static PyObject *
chain(suture_thread *thread, PyThreadState *tstate, suture_frame *frame, int throwflag)
{
    if (previous == NULL || previous == _PyEval_EvalFrameDefault || thread->chaining == frame) {
        return _PyEval_EvalFrameDefault(tstate, frame, throwflag);
    }
    suture_frame *outer = thread->chaining;
    thread->chaining = frame;
    PyObject *result = previous(tstate, frame, throwflag);
    thread->chaining = outer;
    return result;
}

/* Runs compiled code in place of a function's fresh frame. Arguments borrowed, result new. */
static PyObject *
run_from_start(suture_thread *thread, suture_frame *frame, PyObject *point)
{
    PyObject *small[SMALL_STATE];
    PyObject **state = small;
    int count = suture_slot_count(suture_frame_code(frame));
    if (count + 1 > SMALL_STATE) {
        state = PyMem_New(PyObject *, count + 1);
        if (state == NULL) {
            return PyErr_NoMemory();
        }
    }
    state[0] = suture_frame_function(frame);
    suture_frame_arguments(frame, count, state + 1);
    int compiled = suture_begin_compiled(thread);
    PyObject *result = suture_trampoline(thread, point, state, count + 1);
    thread->compiled = compiled;
    if (state != small) {
        PyMem_Free(state);
    }
    return result;
}

/* Runs a frame with the hook off for it and for all that it calls. Arguments borrowed. */
static PyObject *
run_hidden(suture_thread *thread, PyThreadState *tstate, suture_frame *frame)
{
    int active = thread->active;
    thread->active = 0;
    PyObject *result = chain(thread, tstate, frame, 0);
    thread->active = active;
    return result;
}

/* A function's frame that starts. 1 if it was answered, *result then being the answer of the
 * evaluation function; 0 if it is to run plainly. Arguments borrowed. */
static int
offer_start(suture_thread *thread, PyThreadState *tstate, suture_frame *frame, PyObject **result)
{
    const int generator_flags = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    PyCodeObject *code = suture_frame_code(frame);
    if (!suture_frame_is_start(frame) || (code->co_flags & generator_flags) ||
        !suture_code_can_answer(code)) {
        return 0;
    }
    PyObject *point;
    int found = suture_site_point(thread, code, suture_frame_function(frame), -1, &point);
    if (found < 0) {
        *result = suture_frame_answer(tstate, frame, NULL);
        return 1;
    }
    if (found > 0) {
        *result = run_hidden(thread, tstate, frame);
        return 1;
    }
    if (point == NULL) {
        return 0;
    }
    PyObject *answer = run_from_start(thread, frame, point);
    Py_DECREF(point);
    *result = suture_frame_answer(tstate, frame, answer);
    return 1;
}

/* The same for a generator's frame that is resumed. */
static int
offer_resumed(suture_thread *thread, PyThreadState *tstate, suture_frame *frame, PyObject **result)
{
    PyObject *point, *outer = thread->context;
    PyCodeObject *code = suture_frame_code(frame);
    PyObject *watched = suture_code_watched(code);
    if (!thread->active && watched == NULL) {
        return 0;
    }
    if (watched != NULL) {
        thread->context = watched;
    }
    int found = suture_site_point(thread, code, suture_frame_function(frame),
                                  suture_frame_last_unit(frame), &point);
    if (found < 0) {
        *result = _PyEval_EvalFrameDefault(tstate, frame, 1);
    } else if (found > 0) {
        *result = run_hidden(thread, tstate, frame);
    } else if (point != NULL) {
        *result = suture_generator_run(thread, tstate, frame, point);
        Py_DECREF(point);
    }
    thread->context = outer;
    Py_XDECREF(watched);
    return found != 0 || point != NULL;
}

/* The evaluation function. Arguments borrowed, result new. */
static PyObject *
eval_hook(PyThreadState *tstate, suture_frame *frame, int throwflag)
{
    suture_thread *thread = &suture_this_thread;
    PyObject *result = NULL;
    if (thread->pending != NULL && suture_entry_matches(thread->pending, frame)) {
        return suture_entry_run(thread, tstate, frame);
    }
    /* What the interpreter itself calls while it traces, profiles or audits is no part of the
     * program that made it do so. */
    if (thread->chaining == frame || throwflag || tstate->tracing > 0) {
        return chain(thread, tstate, frame, throwflag);
    }
    if (suture_frame_is_generator(frame)) {
        if ((thread->active || permanent) && offer_resumed(thread, tstate, frame, &result)) {
            return result;
        }
    } else if (thread->active && offer_start(thread, tstate, frame, &result)) {
        return result;
    }
    if (needed == 0) {
        uninstall();
    }
    return chain(thread, tstate, frame, throwflag);
}

PyDoc_STRVAR(hook_active_doc, "hook_active()\n--\n\n"
                              "Are frames that start on this thread offered for compilation?");

static PyObject *
hook_active(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(suture_this_thread.active);
}

PyDoc_STRVAR(set_hook_active_doc, "set_hook_active(active, /)\n--\n\n"
                                  "Set it for this thread; returns what it was.");

static PyObject *
set_hook_active(PyObject *Py_UNUSED(module), PyObject *value)
{
    int active = PyObject_IsTrue(value);
    if (active < 0) {
        return NULL;
    }
    suture_thread *thread = &suture_this_thread;
    int before = thread->active;
    thread->active = active;
    if (active && !thread->holds && thread->scopes == 0) {
        thread->holds = 1;
        suture_hook_need();
    } else if (!active && thread->holds) {
        thread->holds = 0;
        suture_hook_release();
    }
    return PyBool_FromLong(before);
}

PyDoc_STRVAR(set_frame_permanent_doc,
             "set_frame_permanent(permanent, /)\n--\n\n"
             "Keep the hook installed, for generators that are resumed outside of compiled code.");

static PyObject *
set_frame_permanent(PyObject *Py_UNUSED(module), PyObject *value)
{
    int wanted = PyObject_IsTrue(value);
    if (wanted < 0) {
        return NULL;
    }
    int before = permanent;
    permanent = wanted;
    if (wanted && !before) {
        suture_hook_need();
    } else if (before && !wanted) {
        suture_hook_release();
    }
    return PyBool_FromLong(before);
}

PyDoc_STRVAR(hook_installed_doc, "hook_installed()\n--\n\n"
                                 "Is our evaluation function the interpreter's current one?");

static PyObject *
hook_installed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyInterpreterState *interp = PyInterpreterState_Get();
    return PyBool_FromLong(_PyInterpreterState_GetEvalFrameFunc(interp) == eval_hook);
}

PyDoc_STRVAR(current_context_doc, "current_context()\n--\n\n"
                                  "The context of the compiled code that runs, or None.");

static PyObject *
current_context(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *context = suture_this_thread.context;
    return Py_NewRef(context == NULL ? Py_None : context);
}

PyMethodDef suture_hook_methods[] = {
    {"hook_active", hook_active, METH_NOARGS, hook_active_doc},
    {"set_hook_active", set_hook_active, METH_O, set_hook_active_doc},
    {"set_frame_permanent", set_frame_permanent, METH_O, set_frame_permanent_doc},
    {"hook_installed", hook_installed, METH_NOARGS, hook_installed_doc},
    {"current_context", current_context, METH_NOARGS, current_context_doc},
    {NULL, NULL, 0, NULL},
};
