"""The exceptions under the name torch gives this module: `suture.exc`."""

from suture.errors import (
    BackendFailed,
    ConstraintViolation,
    InternalError,
    InvalidBackend,
    RecompileError,
    RecompileLimitExceeded,
    SutureError,
    Unsupported,
    UnsupportedVersion,
    UserError,
)

__all__ = [
    "BackendFailed",
    "ConstraintViolation",
    "InternalError",
    "InvalidBackend",
    "RecompileError",
    "RecompileLimitExceeded",
    "SutureError",
    "Unsupported",
    "UnsupportedVersion",
    "UserError",
]
