"""Call a program several times, compare each call with eager, count what was compiled."""

from __future__ import annotations

from typing import Any

import suture
from tests.harness import Outcome, _copies, compare


def compilations(
    fn: Any,
    *calls: Any,
    backend: Any = "eager",
    eager: Any = None,
    grads: bool = True,
    raises: bool = False,
    **options: Any,
) -> list[int]:
    """The number of variants after each call. `calls` are tuples of arguments; `eager` is what
    to compare with, if calling `fn` changes more than its arguments. `raises`: some calls do."""
    suture.reset()
    compiled = suture.compile(fn, backend=backend, **options)
    counts = []
    for args in calls:
        want = Outcome(eager or fn, *_copies(args, {}))
        assert raises or want.error is None, want.error
        with suture.config.patch(strict=True):
            got = Outcome(compiled, *_copies(args, {}))
        compare(want, got, grads)
        counts.append(suture.stats().variants)
    return counts


def guard_texts(compiled: Any) -> list[str]:
    """The guards of the newest variant, as text."""
    return [g.text() for g in compiled.point.data.variants[-1].guards.entries]


def by_dynamo(fn: Any, *calls: Any, backend: Any = "eager", **options: Any) -> int:
    """How often TorchDynamo compiles the same in the same process."""
    import torch._dynamo
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(fn, backend=backend, **options)
    for args in calls:
        compiled(*_copies(args, {})[0])
    return int(counters["frames"]["total"])
