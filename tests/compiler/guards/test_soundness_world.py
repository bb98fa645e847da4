"""Whatever tracing read is guarded: the world around a function is changed between calls."""

from __future__ import annotations

import collections
import functools
import types

import pytest
import torch

import suture
from tests.compiler.guards.changing import X, changes
from tests.compiler.guards.test_soundness import Data, Other, Point
from tests.harness import same

# ---- the world around the function

NUMBER = 3
TABLE = {"scale": 2.0}
CONFIG = Point(4)


def helper(x, by=1):
    return x + by


def world(name, value):
    return lambda: globals().__setitem__(name, value)


@pytest.fixture(autouse=True)
def restore():
    saved = dict(globals())
    table, attributes = dict(TABLE), dict(vars(CONFIG))
    classes = {c: dict(vars(c)) for c in (Point, Other, Data)}
    defaults = helper.__defaults__, helper.__code__
    yield
    globals().update(saved)
    TABLE.clear()
    TABLE.update(table)
    vars(CONFIG).clear()
    vars(CONFIG).update(attributes)
    helper.__defaults__, helper.__code__ = defaults
    for cls, names in classes.items():
        for name in [n for n in vars(cls) if n not in names]:
            delattr(cls, name)
        for name, value in names.items():
            if vars(cls).get(name) is not value:
                setattr(cls, name, value)


def test_global_number():
    changes(lambda x: x * NUMBER, X, change=world("NUMBER", 5))


def test_global_type():
    changes(lambda x: (x * NUMBER, type(NUMBER)), X, change=world("NUMBER", 3.0))


def test_global_function():
    changes(lambda x: helper(x), X, change=world("helper", torch.sin))


def test_global_dict_item():
    changes(lambda x: x * TABLE["scale"], X, change=lambda: TABLE.update(scale=4.0))


def test_global_dict_has_one_more_key():
    changes(lambda x: x * len(TABLE), X, change=lambda: TABLE.update(more=1))


def test_global_dict_gets_the_key_that_was_missing():
    changes(lambda x: x * TABLE.get("k", 5), X, change=lambda: TABLE.update(k=6))


def test_global_is_deleted_and_a_builtin_shows():
    globals()["abs"] = lambda x: x * 100
    changes(lambda x: abs(x), X, change=lambda: globals().pop("abs"))


def test_builtin_is_hidden_by_a_global():
    try:
        changes(lambda x: abs(x - 3), X, change=world("abs", lambda x: x * 100))
    finally:
        globals().pop("abs", None)


def test_attribute_of_a_global():
    changes(lambda x: x * CONFIG.x, X, change=lambda: setattr(CONFIG, "x", 9))


def test_attribute_of_a_global_that_was_missing():
    fn = lambda x: x * getattr(CONFIG, "missing", 2)  # noqa: E731
    changes(fn, X, change=lambda: setattr(CONFIG, "missing", 9))


def test_instance_attribute_hides_the_class_attribute():
    changes(lambda x: x * CONFIG.scale, X, change=lambda: setattr(CONFIG, "scale", 9))


def test_instance_attribute_hides_a_method():
    fn = lambda x: CONFIG.times(x)  # noqa: E731
    changes(fn, X, change=lambda: setattr(CONFIG, "times", lambda t: t - 8))


def test_class_attribute():
    changes(lambda x: x * CONFIG.scale, X, change=lambda: setattr(Point, "scale", 5))


def test_method_is_replaced():
    fn = lambda x: CONFIG.times(x)  # noqa: E731
    changes(fn, X, change=lambda: setattr(Point, "times", lambda self, t: t + 50))


def test_class_gets_a_property():
    def change():
        Point.x = property(lambda self: 77)

    changes(lambda x: x * CONFIG.x, X, change=change)


def test_class_gets_getattr():
    def change():
        Point.__getattr__ = lambda self, name: 31

    changes(lambda x: x * getattr(CONFIG, "missing", 2), X, change=change)


def test_class_gets_getattribute():
    class Local:
        x = 1

    local = Local()

    def change():
        Local.__getattribute__ = lambda self, name: 31

    changes(lambda x: x * local.x, X, change=change)


def test_class_gets_a_special_method():
    def change():
        Point.__len__ = lambda self: 0

    changes(lambda x: x + 1 if CONFIG else x - 1, X, change=change)


def test_base_class_changes_what_super_finds():
    class Base:
        def f(self, x):
            return x + 1

    class Derived(Base):
        def f(self, x):
            return super().f(x) * 2

    obj = Derived()
    changes(lambda x: obj.f(x), X, change=lambda: setattr(Base, "f", lambda self, x: x - 1))


def test_bases_of_a_class():
    class A:
        v = 1

    class B:
        v = 2

    class C(A):
        pass

    changes(lambda x: x * C().v, X, change=lambda: setattr(C, "__bases__", (B,)))


def test_class_of_an_instance():
    obj = Point(2)
    changes(lambda x: obj.times(x), X, change=lambda: setattr(obj, "__class__", Other))


def test_isinstance_of_an_abstract_class():
    import abc

    class Abstract(abc.ABC):  # noqa: B024
        pass

    changes(
        lambda x: x + 1 if isinstance(CONFIG, Abstract) else x - 1,
        X,
        change=lambda: Abstract.register(Point),
    )


def test_default_of_a_function():
    def change():
        helper.__defaults__ = (8,)

    changes(lambda x: helper(x), X, change=change)


def test_default_of_the_function_itself():
    def fn(x, by=1):
        return x + by

    def change():
        fn.__defaults__ = (8,)

    changes(fn, X, change=change)


def test_keyword_default():
    def inner(x, *, by=1):
        return x + by

    changes(lambda x: inner(x), X, change=lambda: inner.__kwdefaults__.update(by=4))


def test_code_of_a_function():
    def change():
        helper.__code__ = (lambda x, by=1: x - by).__code__

    changes(lambda x: helper(x), X, change=change)


def test_closure_variable():
    n = 1

    def change():
        nonlocal n
        n = 2

    changes(lambda x: x * n, X, change=change)


def test_closure_variable_of_an_inlined_function():
    n = [1]

    def outer():
        return lambda x: x * n[0]

    inner = outer()
    changes(lambda x: inner(x), X, change=lambda: n.__setitem__(0, 6))


def test_attribute_of_a_function():
    helper.tag = 1
    changes(lambda x: x * helper.tag, X, change=lambda: setattr(helper, "tag", 2))
    del helper.tag


def test_attribute_of_a_module():
    module = types.ModuleType("module")
    module.k = 1
    changes(lambda x: x * module.k, X, change=lambda: setattr(module, "k", 2))


def test_cached_function_is_cleared():
    state = [1]

    @functools.lru_cache(None)
    def read(k):
        return state[0] * k

    def change():
        state[0] = 10
        read.cache_clear()

    changes(lambda x: x * read(2), X, change=change)


def test_generic_function_gets_an_implementation():
    @functools.singledispatch
    def kind(v):
        return 1

    changes(lambda x: x * kind(3), X, change=lambda: kind.register(int, lambda v: 5))


def test_list_in_a_closure():
    items = [1, 2]
    changes(lambda x: x + sum(items), X, change=lambda: items.append(3))


def test_set_in_a_closure():
    items = {1}
    changes(lambda x: x + len(items), X, change=lambda: items.add(3))


def test_member_of_a_set_of_objects():
    a, b = Point(1), Point(2)
    items = {a}
    changes(lambda x: x + (b in items), X, change=lambda: items.add(b))


def test_property_reads_something_that_changes():
    class Box:
        inner = 1

        @property
        def value(self):
            return self.inner * 2

    box = Box()
    changes(lambda x: x * box.value, X, change=lambda: setattr(box, "inner", 4))


def test_slot_of_an_instance():
    class Slotted:
        __slots__ = ("a", "b")

    box = Slotted()
    box.a = 1
    changes(lambda x: x * box.a, X, change=lambda: setattr(box, "a", 3))
    del box.a
    changes(lambda x: x * getattr(box, "b", 5), X, change=lambda: setattr(box, "b", 3))


def test_number_of_items_of_a_deque():
    items = collections.deque([1, 2])
    changes(lambda x: x + sum(items), X, change=lambda: items.appendleft(9))


def test_default_factory():
    table = collections.defaultdict(int)

    def fn(x):
        value = table["k"]
        del table["k"]
        return x + value

    changes(fn, X, change=lambda: setattr(table, "default_factory", lambda: 6))


# ---- torch's state


def test_grad_mode():
    p = torch.zeros(2, 3, requires_grad=True)

    def fn(x):
        return (x * p).requires_grad, torch.is_grad_enabled(), x * p

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for enabled in (True, False, True):
        with torch.set_grad_enabled(enabled):
            same(fn(X), compiled(X), str(enabled))


def test_default_dtype():
    def fn(x):
        return x + 1, torch.ones(2), torch.tensor(1.5)

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for dtype in (torch.float32, torch.float64, torch.float32):
        torch.set_default_dtype(dtype)
        try:
            same(fn(X), compiled(X), str(dtype))
        finally:
            torch.set_default_dtype(torch.float32)


# ---- modules


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3)
        self.b = torch.nn.Dropout(0.5)
        self.flag = 1
        self.register_buffer("buf", torch.ones(3))

    def forward(self, x):
        return self.b(self.a(x)) * self.flag + self.buf


CHANGES = {
    "eval": lambda net: net.eval(),
    "flag": lambda net: setattr(net, "flag", 3),
    "parameter": lambda net: setattr(net.a, "weight", torch.nn.Parameter(torch.ones(3, 3))),
    "data": lambda net: net.a.weight.data.fill_(2.0),
    "buffer": lambda net: setattr(net, "buf", torch.zeros(3)),
    "child": lambda net: setattr(net, "a", torch.nn.Identity()),
    "no bias": lambda net: setattr(net.a, "bias", None),
    "hook": lambda net: net.a.register_forward_hook(lambda m, i, o: o * 10),
    "pre-hook": lambda net: net.register_forward_pre_hook(lambda m, i: (i[0] * 10,)),
    "forward": lambda net: setattr(net.a, "forward", lambda x: x * 5),
    "float64": lambda net: net.double(),
    "frozen": lambda net: net.requires_grad_(False),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_module_changes(change):
    suture.reset()
    net = Net()
    net.b.p = 0.0
    compiled = suture.compile(net, backend="eager")
    same(net(X), compiled(X), "before")
    change(net)
    x = X.to(next(iter(net.buffers())).dtype)
    same(net(x), compiled(x), "after")
