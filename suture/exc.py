"""The exceptions under the name torch gives this module: `suture.exc`."""

from suture.errors import (
    BackendFailed,
    ConstraintViolation,
    InternalError,
    InvalidBackend,
    RanksDiffer,
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
    "RanksDiffer",
    "RecompileError",
    "RecompileLimitExceeded",
    "SutureError",
    "Unsupported",
    "UnsupportedVersion",
    "UserError",
]
