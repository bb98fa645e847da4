/* Frames of CPython 3.13. */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000

#define Py_BUILD_CORE 1
#include "core.h"
#include "exception_table.h"
#include "internals.h"

/* State of a generator suspended behind `unit`: 3.13 tells apart whether it delegates. */
static inline int8_t
suspended_state(PyCodeObject *code, int unit)
{
    _Py_CODEUNIT word = _PyCode_CODE(code)[unit];
    int yields = word.op.code == YIELD_VALUE || word.op.code == INSTRUMENTED_YIELD_VALUE;
    return yields && word.op.arg == 1 ? FRAME_SUSPENDED_YIELD_FROM : FRAME_SUSPENDED;
}

#define FRAME_CODE(f) ((PyCodeObject *)(f)->f_executable)
#define FRAME_FUNCTION(f) ((f)->f_funcobj)
#define FRAME_NEXT(f) ((f)->instr_ptr)
#define FRAME_UNITS(f) _PyCode_CODE(FRAME_CODE(f))
#define FRAME_SET_COPY(f) ((void)0)
#define NEXT_BEFORE 0
#define FRAME_SET_CODE(f, c) Py_SETREF((f)->f_executable, Py_NewRef(c))
#define SLOT_HIDDEN CO_FAST_HIDDEN
#define CALLER_CLEARS 0
#define RAISED_NEXT(code, unit) raised_next(code, unit)
#define SUSPENDED_STATE(code, unit) suspended_state(code, unit)
#define CURRENT_FRAME(t) ((t)->current_frame)
#define STATE_ENDED(state) ((state) >= FRAME_COMPLETED)
#define GENERATOR_FRAME(g) ((suture_frame *)(g)->gi_iframe)

#include "frames_objects.h"
#include "frames_shared.h"

#endif
