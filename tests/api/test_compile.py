"""suture.compile as function and decorator, on all that can be called."""

from __future__ import annotations

import functools
import os
import threading
import traceback

import pytest
import torch

import suture
from tests.harness import Graphs, check


def test_as_decorator_with_and_without_arguments():
    @suture.compile(backend="eager")
    def one(x):
        return x + 1

    two = suture.compile(lambda x: x + 2, backend="eager")
    x = torch.ones(2)
    assert torch.equal(one(x), x + 1) and torch.equal(two(x), x + 2)
    assert one.__name__ == "one" and one.__wrapped__(x).equal(x + 1)


def test_on_methods_and_classes_methods():
    class Thing:
        def __init__(self):
            self.k = 3

        @suture.compile(backend="eager")
        def plain(self, x):
            return x * self.k

        @classmethod
        @suture.compile(backend="eager")
        def made(cls, x):
            return x + len(cls.__name__)

        @staticmethod
        @suture.compile(backend="eager")
        def alone(x, y=2):
            return x - y

        def later(self, x):
            return x / self.k

    thing, x = Thing(), torch.ones(2)
    assert torch.equal(thing.plain(x), x * 3)
    assert torch.equal(Thing.made(x), x + 5)
    assert torch.equal(Thing.alone(x), x - 2)
    assert torch.equal(suture.compile(thing.later, backend="eager")(x), x / 3)


def test_on_callable_objects_and_partials():
    class Caller:
        def __call__(self, x, *, by=1):
            return x + by

    x = torch.ones(2)
    assert torch.equal(suture.compile(Caller(), backend="eager")(x, by=4), x + 4)
    partial = functools.partial(torch.add, alpha=2)
    assert torch.equal(suture.compile(partial, backend="eager")(x, x), x + 2 * x)


def test_disable_gives_the_function_back():
    def fn(x):
        return x

    assert suture.compile(fn, disable=True) is fn


def test_a_compiled_function_inside_another_is_inlined():
    inner = suture.compile(lambda x: x.sin(), backend="eager")

    def fn(x):
        return inner(x) + inner(x + 1)

    check(fn, torch.ones(3), graphs=1)


def test_recursion():
    def fn(x, n):
        return x if n == 0 else fn(x + n, n - 1)

    check(fn, torch.ones(3), 5, graphs=1)


@pytest.mark.parametrize("bad", [3, None.__class__, "name", [1]])
def test_wrong_things_to_compile(bad):
    with pytest.raises((TypeError, suture.exc.UserError), match="suture.compile takes"):
        suture.compile(bad)


def test_wrong_arguments_to_compile():
    with pytest.raises(TypeError, match="fullgraph"):
        suture.compile(len, fullgraph=1)
    with pytest.raises(TypeError, match="dynamic"):
        suture.compile(len, dynamic="yes")
    with pytest.raises(TypeError, match="recompile_limit"):
        suture.compile(len, recompile_limit=0)
    with pytest.raises(suture.exc.InvalidBackend, match="inductor"):
        suture.compile(lambda x: x, backend="inducter")


def test_calling_with_wrong_arguments_is_pythons_own_error():
    def fn(x, *, k):
        return x

    compiled = suture.compile(fn, backend="eager")
    for args, kwargs in (((), {}), ((1, 2), {}), ((1,), {"j": 2})):
        with pytest.raises(TypeError) as ours:
            compiled(*args, **kwargs)
        with pytest.raises(TypeError) as plain:
            fn(*args, **kwargs)
        assert str(ours.value) == str(plain.value)


def test_a_backend_that_raises_is_named_and_the_next_call_tries_again():
    calls = []

    def moody(gm, inputs):
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("not today")
        return gm.forward

    def fn(x):
        return x + 1

    compiled = suture.compile(fn, backend=moody)
    raising = suture.config.patch(raise_backend_errors=True)
    with raising, pytest.raises(suture.exc.BackendFailed, match="not today") as failed:
        compiled(torch.ones(2))
    assert isinstance(failed.value.__cause__, RuntimeError)
    assert torch.equal(compiled(torch.ones(2)), torch.ones(2) + 1)


def test_exceptions_of_the_program_have_its_lines():
    def inner(x):
        raise ValueError(f"bad {x.shape[0]}")

    def fn(x):
        y = x + 1
        return inner(y)

    compiled = suture.compile(fn, backend="eager")
    lines = []
    for call in (fn, compiled):
        try:
            call(torch.ones(2))
        except ValueError as error:
            frames = traceback.extract_tb(error.__traceback__)[1:]
            lines.append([(f.name, f.lineno) for f in frames])
            assert str(error) == "bad 2"
    assert lines[0] == lines[1]


def test_interrupt_while_tracing_leaves_nothing_behind():
    class Stop:
        armed = True

        def __bool__(self):
            if Stop.armed:
                raise KeyboardInterrupt
            return True

    def backend(gm, inputs):
        if Stop.armed:
            raise KeyboardInterrupt
        return gm.forward

    compiled = suture.compile(lambda x: x + 1, backend=backend)
    with pytest.raises(KeyboardInterrupt):
        compiled(torch.ones(2))
    Stop.armed = False
    assert torch.equal(compiled(torch.ones(2)), torch.ones(2) + 1)


def test_two_threads_compile_and_call_at_once():
    def fn(x, k):
        for i in range(k):
            x = x + i
        return x.sum()

    compiled = suture.compile(fn, backend="eager")
    wrong = []

    def work(k):
        for _ in range(20):
            x = torch.ones(3)
            if not torch.equal(compiled(x, k), fn(x, k)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in (2, 3, 4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_reentry_from_a_backend():
    def helper(x):
        return x * 2

    inside = suture.compile(helper, backend="eager")

    def backend(gm, inputs):
        assert torch.equal(inside(torch.ones(2)), torch.full((2,), 2.0))
        return gm.forward

    compiled = suture.compile(lambda x: x + 1, backend=backend)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))


def test_after_a_fork_the_child_compiles_and_hits():
    compiled = suture.compile(lambda x: x + 1, backend="eager")
    compiled(torch.ones(2))
    pid = os.fork()
    if pid == 0:
        try:
            good = torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
            good = good and torch.equal(compiled(torch.ones(3)), torch.full((3,), 2.0))
        except BaseException:
            good = False
        os._exit(0 if good else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_fullgraph_raises_unsupported_with_the_number():
    def fn(x):
        suture.graph_break("because")
        return x

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    with pytest.raises(suture.exc.Unsupported, match="GB0025") as error:
        compiled(torch.ones(2))
    assert error.value.number == "GB0025"


def test_code_and_guards_can_be_read():
    @suture.compile(backend="eager")
    def fn(x, k):
        return x * k

    assert "call it first" in suture.code(fn)
    fn(torch.ones(2), 3)
    assert "def fn(" in suture.code(fn) and "graph(" in suture.code(fn)
    assert "k == 3" in suture.guards(fn)
    with pytest.raises(suture.exc.UserError, match="not compiled"):
        suture.code(len)


def test_stats_and_reset():
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(lambda x: x + 1, backend=graphs)
    compiled(torch.ones(2))
    stats = suture.stats()
    assert (stats.graphs, stats.variants, stats.ops) == (1, 1, 1)
    suture.reset()
    assert suture.stats().graphs == 0
    compiled(torch.ones(2))
    assert len(graphs) == 2


def test_what_torch_compile_returned_is_compiled_from_the_start():
    def fn(x):
        return x.cos() + 1

    x = torch.ones(3)
    graphs = Graphs()
    assert torch.equal(suture.compile(torch.compile(fn, backend="eager"), backend=graphs)(x), fn(x))
    model = torch.nn.Linear(3, 2)
    compiled = suture.compile(torch.compile(model, backend="eager"), backend=graphs)
    assert torch.equal(compiled(x), model(x))
    assert list(compiled.state_dict()) == ["weight", "bias"]
    assert len(graphs) == 2


def test_the_plain_generator_function_is_left_alone():
    def fn(x, *, scale=2.0):
        yield x * scale
        yield x + scale

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    plain = list(fn(torch.ones(2)))
    assert suture.stats().variants == 0
    for ours, theirs in zip(compiled(torch.ones(2)), plain, strict=True):
        assert torch.equal(ours, theirs)
    assert suture.stats().graphs == 2
    assert compiled.__wrapped__ is fn
