/* Frames of CPython 3.14 and 3.15. */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030E0000 && PY_VERSION_HEX < 0x03100000

#define Py_BUILD_CORE 1
#include "core.h"
#include "exception_table.h"
#include "internals.h"

/* State of a generator suspended behind `unit`: 3.13 and later tell apart whether it delegates. */
static inline int8_t
suspended_state(PyCodeObject *code, int unit)
{
    _Py_CODEUNIT word = _PyCode_CODE(code)[unit];
    int yields = word.op.code == YIELD_VALUE || word.op.code == INSTRUMENTED_YIELD_VALUE;
    return yields && word.op.arg == 1 ? FRAME_SUSPENDED_YIELD_FROM : FRAME_SUSPENDED;
}

static inline void
set_code(suture_frame *frame, PyCodeObject *code)
{
    _PyStackRef old = frame->f_executable;
    frame->f_executable = PyStackRef_FromPyObjectNew(code);
    PyStackRef_CLOSE(old);
}

/* 3.15 knows no frame that has ended and is not cleared yet. */
#if PY_VERSION_HEX >= 0x030F0000
#define STATE_ENDED(state) ((state) == FRAME_CLEARED)
#else
#define STATE_ENDED(state) ((state) >= FRAME_COMPLETED)
#endif

/* A build without the interpreter's lock has a copy of the units for each thread. Copy 0 is the
 * code object's own, which any thread may run while the lock is on (module.c). */
#ifdef Py_GIL_DISABLED
#define FRAME_SET_COPY(f) ((f)->tlbc_index = 0)
#else
#define FRAME_SET_COPY(f) ((void)0)
#endif

#define FRAME_CODE(f) _PyFrame_GetCode(f)
#define FRAME_FUNCTION(f) PyStackRef_AsPyObjectBorrow((f)->f_funcobj)
#define FRAME_NEXT(f) ((f)->instr_ptr)
#define FRAME_UNITS(f) _PyFrame_GetBytecode(f)
#define NEXT_BEFORE 0
#define FRAME_SET_CODE(f, c) set_code(f, c)
#define SLOT_HIDDEN CO_FAST_HIDDEN
#define CALLER_CLEARS 0
#define RAISED_NEXT(code, unit) raised_next(code, unit)
#define SUSPENDED_STATE(code, unit) suspended_state(code, unit)
#define CURRENT_FRAME(t) ((t)->current_frame)
#define GENERATOR_FRAME(g) (&(g)->gi_iframe)

#include "frames_references.h"
#include "frames_shared.h"

#endif
