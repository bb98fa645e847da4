"""Logging: a message nobody listens to costs nothing and breaks nothing.

The methods of loggers are inlined; whether a level is on is asked while tracing and guarded. Where
it is on, writing the message is Python's, at that place.
"""

from __future__ import annotations

import logging
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Function, Object
from suture.runtime.predicates import LevelIs, level_is_on


@handles(logging.Logger.isEnabledFor)
def _is_enabled_for(trace: Trace, args: Any, kwargs: Any) -> Any:
    logger = args[0]
    level = args[1] if len(args) > 1 else kwargs.get("level")
    plain = logging.Logger.isEnabledFor
    known = isinstance(logger, Object) and logger.value is not None
    if not known or level is None or not level.is_constant() or _is_changed(trace, logger.value):
        return abstract.inline(trace, Function(plain, abstract.pinned(trace, plain)), args, kwargs)  # type: ignore[arg-type]
    number = level.constant()
    on = level_is_on(logger.value, number)
    trace.guards.add(logger.source, "truth", LevelIs(number, on))
    return Constant(on)


def _is_changed(trace: Trace, logger: Any) -> bool:
    """Whether the region has changed something that the answer depends on: the logger, what it
    remembers, one above it, or what holds for all."""
    parts = [logger.manager, logger._cache]
    while logger:
        parts.append(logger)
        logger = logger.parent
    met = [trace.outside.known.get(id(part), (None, None))[1] for part in parts]
    return any(v.attrs if isinstance(v, Object) else getattr(v, "changed", False) for v in met)
