/* Frames of CPython 3.12. */
#include <patchlevel.h>
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000

#define Py_BUILD_CORE 1
#include "core.h"
#include "internals.h"

#define FRAME_CODE(f) ((f)->f_code)
#define FRAME_FUNCTION(f) ((f)->f_funcobj)
#define FRAME_NEXT(f) ((f)->prev_instr)
#define FRAME_UNITS(f) _PyCode_CODE(FRAME_CODE(f))
#define FRAME_SET_COPY(f) ((void)0)
#define NEXT_BEFORE 1
#define FRAME_SET_CODE(f, c) Py_SETREF((f)->f_code, (PyCodeObject *)Py_NewRef(c))
#define SLOT_HIDDEN CO_FAST_HIDDEN
#define CALLER_CLEARS 0
#define RAISED_NEXT(code, unit) ((unit) + 1)
#define SUSPENDED_STATE(code, unit) FRAME_SUSPENDED
#define CURRENT_FRAME(t) ((t)->cframe->current_frame)
#define STATE_ENDED(state) ((state) >= FRAME_COMPLETED)
#define GENERATOR_FRAME(g) ((suture_frame *)(g)->gi_iframe)

#include "frames_objects.h"
#include "frames_shared.h"

#endif
