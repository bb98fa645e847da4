/* Frames of CPython 3.13. */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000

#define Py_BUILD_CORE 1
#include "core.h"
#include "internals.h"

/* State of a generator suspended behind `unit`: 3.13 tells apart whether it delegates. */
static inline int8_t
suspended_state(PyCodeObject *code, int unit)
{
    _Py_CODEUNIT word = _PyCode_CODE(code)[unit];
    int yields = word.op.code == YIELD_VALUE || word.op.code == INSTRUMENTED_YIELD_VALUE;
    return yields && word.op.arg == 1 ? FRAME_SUSPENDED_YIELD_FROM : FRAME_SUSPENDED;
}

/* Reads one number of an exception table and moves `at` behind it: six bits a byte, most
 * significant first, 0x40 marks that more follow (0x80 the start of an entry). */
static unsigned
table_number(const unsigned char **at)
{
    unsigned value = **at & 0x3f;
    while (*(*at)++ & 0x40) {
        value = value << 6 | (**at & 0x3f);
    }
    return value;
}

/* The handler of an exception raised at `unit`, -1 if there is none. */
static int
handler_of(PyCodeObject *code, int unit)
{
    const unsigned char *at = (unsigned char *)PyBytes_AS_STRING(code->co_exceptiontable);
    const unsigned char *end = at + PyBytes_GET_SIZE(code->co_exceptiontable);
    while (at < end) {
        int start = (int)table_number(&at);
        int length = (int)table_number(&at);
        int target = (int)table_number(&at);
        table_number(&at); /* depth and whether the instruction is pushed */
        if (start <= unit && unit < start + length) {
            return target;
        }
    }
    return -1;
}

/* 3.13 takes the line from the next unit and the handler from the one before it. The unit itself
 * serves for both unless it is the first one of a block. */
static int
raised_next(PyCodeObject *code, int unit)
{
    return handler_of(code, unit - 1) == handler_of(code, unit) ? unit : unit + 1;
}

#define FRAME_CODE(f) ((PyCodeObject *)(f)->f_executable)
#define FRAME_FUNCTION(f) ((f)->f_funcobj)
#define FRAME_NEXT(f) ((f)->instr_ptr)
#define NEXT_BEFORE 0
#define FRAME_SET_CODE(f, c) Py_SETREF((f)->f_executable, Py_NewRef(c))
#define SLOT_HIDDEN CO_FAST_HIDDEN
#define CALLER_CLEARS 0
#define RAISED_NEXT(code, unit) raised_next(code, unit)
#define SUSPENDED_STATE(code, unit) suspended_state(code, unit)
#define CURRENT_FRAME(t) ((t)->current_frame)

#include "frames_shared.h"

#endif
