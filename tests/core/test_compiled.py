"""Compiled: looks and binds like the function it stands for."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import types
import weakref

import pytest
from core_under_test import core


def refuse(point, state):
    raise LookupError(state)


def sample(a: int, b: int = 2, *rest: int, c: int, d: int = 4, **more: int) -> tuple:
    """Says what it got."""
    return a, b, rest, c, d, more


sample.mark = "function's"


def compiled_of(fn, variant=None, context=None):
    point = core.Point(fn.__name__, refuse)
    point.add(variant or (lambda function, *state: state))
    return core.Compiled(fn, point, context)


compiled_sample = compiled_of(sample)


def test_attributes_are_the_functions():
    fn = compiled_sample
    assert (fn.function, fn.__wrapped__) == (sample, sample)
    for name in (
        "__name__ __qualname__ __module__ __doc__ __defaults__ __kwdefaults__ __code__ "
        "__annotations__ __globals__ __closure__ mark"
    ).split():
        assert getattr(fn, name) == getattr(sample, name), name
    assert repr(fn) == "<compiled function sample>"
    assert inspect.signature(fn) == inspect.signature(sample)
    assert callable(fn)
    assert not inspect.iscoroutinefunction(fn)
    with pytest.raises(AttributeError):
        _ = fn.nothing


def test_own_attributes_do_not_touch_the_function():
    fn = compiled_of(sample)
    fn.mark = "own"
    fn.__name__ = "renamed"
    fn.__doc__ = "Other."
    assert (fn.mark, fn.__name__, fn.__doc__) == ("own", "renamed", "Other.")
    assert (sample.mark, sample.__name__) == ("function's", "sample")
    assert fn.__dict__ == {"mark": "own", "__name__": "renamed", "__doc__": "Other."}
    del fn.mark, fn.__name__
    assert (fn.mark, fn.__name__) == ("function's", "sample")


def test_coroutine_functions_are_known_as_such():
    async def fn():
        return 1

    assert inspect.iscoroutinefunction(compiled_of(fn))


def test_copied_by_reference():
    assert copy.copy(compiled_sample) is compiled_sample
    assert copy.deepcopy(compiled_sample) is compiled_sample
    named = compiled_of(sample)
    named.__qualname__ = "missing"
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(named)


def test_is_a_method_of_its_class():
    class Owner:
        def method(self, x):
            return self, x

        method = compiled_of(method)

    owner = Owner()
    assert isinstance(owner.method, types.MethodType)
    assert owner.method(3) == (owner, 3)
    assert owner.method(x=3) == (owner, 3)
    assert Owner.method(owner, 3) == (owner, 3)
    assert [owner.method(i)[1] for i in range(50)] == list(range(50))


def test_state_starts_with_the_function():
    fn = compiled_of(sample, lambda *state: state)
    assert fn(1, 2, 3, c=4, e=5) == (sample, 1, 2, 4, 4, (3,), {"e": 5})

    def plain(a, b):
        pass

    fn = compiled_of(plain, lambda *state: state)
    assert fn(1, 2) == fn(*[1, 2]) == fn(1, b=2) == (plain, 1, 2)


def test_many_parameters():
    names = [f"p{i}" for i in range(40)]
    scope = {}
    exec(f"def wide({', '.join(names)}, **more): pass\ndef flat({', '.join(names)}): pass", scope)
    values = tuple(range(40))
    assert compiled_of(scope["wide"])(*values, z=1) == (*values, {"z": 1})
    assert compiled_of(scope["flat"])(*values) == values
    assert compiled_of(scope["flat"])(**dict(zip(names, values))) == values


def test_defaults_are_read_at_each_call():
    def fn(a=1, *, b=2):
        pass

    compiled = compiled_of(fn)
    assert compiled() == (1, 2)
    fn.__defaults__, fn.__kwdefaults__ = (10,), {"b": 20}
    assert compiled() == (10, 20)
    fn.__kwdefaults__ = None
    with pytest.raises(TypeError, match="keyword-only argument: 'b'"):
        compiled()


def test_may_be_wrapped_and_made_to_wrap():
    outer = functools.wraps(compiled_sample)(lambda *args, **kwargs: None)
    assert outer.__wrapped__ is compiled_sample
    assert inspect.signature(outer) == inspect.signature(sample)
    fn = functools.update_wrapper(compiled_of(sample), outer)
    assert fn.__wrapped__ is outer
    assert fn.function is sample


def test_bypass_runs_with_the_hook_inactive():
    def fn():
        return core.hook_active()

    compiled = compiled_of(fn)
    compiled.bypass = True
    assert core.run(compiled) is False
    assert core.run(core.hook_active) is True


def test_bypass_calls_the_function():
    fn = compiled_of(sample, refuse)
    fn.bypass = True
    assert fn(1, c=3) == sample(1, c=3)
    fn.bypass = False
    assert fn.bypass is False


def test_context_is_current_while_it_runs():
    inner = compiled_of(refuse, lambda *state: core.current_context(), "inner")
    seen = []

    def variant(function, a):
        seen.append(core.current_context())
        seen.append(inner(1, 2))
        seen.append(core.run(core.current_context))
        return core.jump(after)

    after = core.Point("after", refuse)
    after.add(core.current_context)
    outer = compiled_of(lambda a: None, variant, "outer")
    assert outer(1) == "outer"
    assert seen == ["outer", "inner", "outer"]
    assert core.current_context() is None
    outer.context = None
    assert outer(1) is None


def test_frame_arguments_are_left_as_they_were():
    def fn(a, b):
        pass

    compiled = compiled_of(fn)
    holder = [compiled]
    a, b = object(), object()
    for _ in range(3):
        assert holder[0](a, b) == (a, b)
        assert compiled.__call__(a, b) == (a, b)


def test_collected_with_its_cycles():
    compiled = compiled_of(lambda: None)
    compiled.itself = compiled
    compiled.function.back = compiled
    compiled.point.data = compiled
    ref = weakref.ref(compiled)
    del compiled
    gc.collect()
    assert ref() is None


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError):
        core.Compiled(len, core.Point("p", refuse))
    with pytest.raises(TypeError):
        core.Compiled(sample, 3)
    with pytest.raises(TypeError, match=r"sample\(\) missing 1 required positional argument: 'a'"):
        compiled_sample()
