"""Four threads that miss, compile, hit, jump, leave and resume at once, for as long as is asked.

    python tests/core/stress_threads.py [SECONDS]

Every result is compared with what the function gives by itself. Without torch it is the core alone;
where torch can be imported, two of the threads also compile functions of tensors, of their own and
shared ones. A wrong result, an exception or a crash ends it with an exit code that is not 0.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from core_under_test import core, line_offset, loop_slots, offset_of, slots  # noqa: E402

THREADS = 4


def total(a, b):
    found = a
    for i in range(4):
        found = found + b * i
    return found


def numbers(n):
    for i in [10, 20, 30]:
        got = yield i + n
        if got:
            return got
    return n


class Shared:
    """One point with guards, to which all threads add variants and from which they take them."""

    def __init__(self):
        self.point = core.Point("shared", self.miss)
        self.compiled = core.Compiled(total, self.point, None)

    def miss(self, point, state):
        """A variant for this `b`, which leaves the frame in its loop."""
        b = state[2]
        header = offset_of(total, "FOR_ITER")

        def variant(fn, a, b):
            half = slots(total, a=a, b=b, found=a + b, i=1)
            return core.leave(header, half, loop_slots(iter(range(2, 4))), fn)

        guards = core.GuardProgram((("slot", 2, (("equals", b, 0),), (), None, 0),))
        point.add(variant, guards)
        while len(found := point.variants) > 6:
            try:
                point.remove(found[-1])
            except ValueError:  # another thread was faster
                break
        return variant

    def turn(self, k):
        for a in range(20):
            for b in (k, a % 9):
                assert self.compiled(a, b) == a + 6 * b


def entered(k):
    """Frames entered in a loop, and generators made in the midst of one."""
    at = offset_of(total, "FOR_ITER")
    for i in range(20):
        got = core.enter(total, at, slots(total, a=0, b=k, found=i), loop_slots(iter(range(4))))
        assert got == i + 6 * k
        gen = core.suspend(
            numbers, offset_of(numbers, "YIELD_VALUE"), slots(numbers, n=k, i=10),
            loop_slots(iter([20, 30])),
        )  # fmt: skip
        assert list(gen) == [20 + k, 30 + k]


def offered(k):
    """Frames that are offered to a callback while other threads run without one."""
    at = line_offset(total, "found = a")
    point = core.Point("offered", lambda point, state: None)
    point.add(lambda fn, a, b: core.leave(at, slots(total, a=a, b=b), (), fn))
    core.set_frame_callback(lambda code, function: point if code is total.__code__ else None)
    for i in range(20):
        assert core.run(total, i, k) == i + 6 * k


def with_torch():
    """What the first two threads do with torch; None where it is missing."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    import suture

    def shared(x, n):
        for i in range(n):
            x = x.sin() + i
            if i == 1:
                suture.graph_break()
        return x

    compiled = suture.compile(shared, backend="eager")

    def turn(k):
        def own(x):
            return (x * k).cos() + len(x)

        x = torch.arange(3.0) + k
        assert torch.equal(compiled(x, k % 3 + 1), shared(x, k % 3 + 1))
        assert torch.equal(suture.compile(own, backend="eager")(x), own(x))

    return turn


def stress(seconds=None, rounds=None):
    """Run until the time or the rounds of each thread are over; how many rounds there were."""
    shared, tensors = Shared(), with_torch()
    before = core.set_frame_callback(None)
    end = None if seconds is None else time.monotonic() + seconds
    done, errors = [0] * THREADS, []

    def job(k):
        try:
            while not errors and done[k] != rounds and (end is None or time.monotonic() < end):
                shared.turn(k)
                entered(k)
                offered(k)
                if tensors is not None and k < 2:
                    tensors(k + done[k] % 5)
                done[k] += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=job, args=(k,)) for k in range(THREADS)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        core.set_frame_callback(before)
    if errors:
        raise errors[0]
    return done


if __name__ == "__main__":
    print("rounds of each thread:", stress(seconds=float(sys.argv[1]) if sys.argv[1:] else 60))
