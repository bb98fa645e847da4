/* CPython's private headers, with the warnings silenced that they give under our flags. Only the
 * frame files include this. */
#ifndef SUTURE_INTERNALS_H
#define SUTURE_INTERNALS_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe.h"
#include "internal/pycore_stackref.h"
#endif
#include "internal/pycore_genobject.h"
#include "internal/pycore_pystate.h"
#include "opcode.h"
#pragma GCC diagnostic pop

#endif
