/* Frames of CPython 3.11. */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000

#define Py_BUILD_CORE 1
#include "core.h"
#include "internals.h"

#define FRAME_CODE(f) ((f)->f_code)
#define FRAME_FUNCTION(f) ((f)->f_func)
#define FRAME_NEXT(f) ((f)->prev_instr)
#define FRAME_UNITS(f) _PyCode_CODE(FRAME_CODE(f))
#define FRAME_SET_COPY(f) ((void)0)
#define NEXT_BEFORE 1
#define SLOT_HIDDEN 0
#define CALLER_CLEARS 1
#define RAISED_NEXT(code, unit) ((unit) + 1)
#define SUSPENDED_STATE(code, unit) FRAME_SUSPENDED
#define CURRENT_FRAME(t) ((t)->cframe->current_frame)
#define STATE_ENDED(state) ((state) >= FRAME_COMPLETED)
#define GENERATOR_FRAME(g) ((suture_frame *)(g)->gi_iframe)

#include "frames_objects.h"
#include "frames_shared.h"

#endif
