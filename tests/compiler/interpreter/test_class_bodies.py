"""Classes that a compiled function defines: Python runs the statement, and capture goes on behind
it, into the methods of the class."""

import collections.abc
import copy
import functools
import gc
import typing
import weakref

import pytest
import torch

import suture
from tests.harness import check

MADE = "GB0075"


def test_attributes_and_methods():
    def fn(x):
        y = x.sin()

        class Scaled:
            """Of a class."""

            scale = 2.0

            def __init__(self, t):
                self.t = t

            def value(self, more=1):
                return self.t * self.scale + more

        return Scaled(y).value().cos(), Scaled.scale, Scaled.__doc__

    check(fn, torch.ones(2), ops=[["sin"], ["mul", "add", "cos"]], breaks=(MADE,))


def test_tensors_of_the_class_and_of_the_function():
    def fn(x):
        y = x.sin()

        class Holder:
            data = y * 2

            @property
            def more(self):
                return self.data + y

            @classmethod
            def make(cls):
                return cls()

            @staticmethod
            def thrice(t):
                return t * 3

        return Holder.thrice(Holder.make().more).cos() + Holder().data

    check(fn, torch.ones(2), graphs=2, breaks=(MADE,))


def test_super_and_classes_that_derive_from_each_other():
    def fn(x):
        y = x.sin()

        class Base:
            def go(self, t):
                return t + 1

            def who(self):
                return __class__

        class Derived(Base):
            def go(self, t):
                return super().go(t) * y

        class Last(Derived):
            def go(self, t):
                return super(Last, self).go(t) - 1

        made = Last()
        same = (made.who() is Base, Last.__mro__[1] is Derived, issubclass(Last, Base))
        return made.go(x).cos(), same, isinstance(made, Derived), type(made) is Last

    check(fn, torch.ones(2), graphs=2, breaks=(MADE,) * 3)


def test_operators_iteration_and_with():
    def fn(x):
        y = x.sin()

        class Many:
            def __init__(self, n):
                self.n = n

            def __iter__(self):
                for i in range(self.n):
                    yield y + i

            def __len__(self):
                return self.n

            def __add__(self, other):
                return Many(self.n + other.n)

            def __enter__(self):
                return self

            def __exit__(self, *told):
                return True

            def __getattr__(self, name):
                return len(name)

            def __call__(self, t):
                return t - self.missing

        with Many(2) + Many(1) as many:
            total = sum(many) * len(many)
            raise ValueError
        return many(total).cos()

    check(fn, torch.ones(2), graphs=2, breaks=(MADE,))


def test_exceptions_of_a_class_of_its_own():
    def fn(x):
        class Failed(Exception):
            def __init__(self, t):
                super().__init__("failed")
                self.t = t

        try:
            raise Failed(x.sin())
        except Failed as error:
            return error.t.cos(), str(error), type(error) is Failed

    check(fn, torch.ones(2), graphs=1, breaks=(MADE,))


def test_breaks_in_methods():
    def fn(x):
        y = x.sin()

        class Slow:
            def __init__(self):
                self.times = 2

            def go(self, t):
                t = t + y
                suture.graph_break()
                self.times += 1
                return t * self.times

        slow = Slow()
        return slow.go(x).cos() + slow.times

    check(fn, torch.ones(2), graphs=3, breaks=(MADE, "GB0025"))


def test_what_leaves_is_of_the_class_of_its_call():
    def fn(x):
        class Made:
            def __init__(self, t):
                self.t = t

            def get(self):
                return self.t

        one = Made(x.sin())
        return Made, one, [Made], {Made: one}, type(one), one.get, Made.get, Made("a")

    compiled = suture.compile(fn, backend="eager")
    seen = []
    for _ in range(3):
        cls, one, listed, table, kind, bound, plain, other = compiled(torch.ones(2))
        assert type(one) is cls is listed[0] is kind is type(other)
        assert list(table) == [cls] and table[cls] is one
        assert bound.__func__ is plain is vars(cls)["get"]
        torch.testing.assert_close(bound(), torch.ones(2).sin())
        seen.append(cls)
    assert len(set(seen)) == 3


def test_an_exception_that_leaves_is_of_the_class_of_its_call():
    kept = []

    def fn(x):
        class Failed(ValueError):
            pass

        kept.append(Failed)
        raise Failed(x.shape[0])

    compiled = suture.compile(fn, backend="eager")
    for _ in range(3):
        with pytest.raises(ValueError, match="2") as found:
            compiled(torch.ones(2))
        assert type(found.value) is kept[-1]
        assert found.value.args == (2,)


def test_values_that_differ_from_call_to_call():
    def fn(x, number, flag):
        y = x.sin()

        class Changing:
            limit = number
            if flag:

                def go(self, t, by=number):
                    return t * by + self.limit

            else:

                def go(self, t):
                    return t - self.limit + number

        return Changing().go(y).cos()

    compiled = suture.compile(fn, backend="eager")
    x = torch.ones(2)
    for number, flag in ((1, True), (2, True), (1000, True), (3, False), (2.5, False), (1, True)):
        torch.testing.assert_close(compiled(x, number, flag), fn(x, number, flag))


def test_a_class_is_not_kept_by_what_was_compiled():
    told = []

    def fn(x):
        y = x.sin()

        class Freed:
            def go(self):
                return y + 1

        told.append(weakref.ref(Freed))
        return Freed().go()

    compiled = suture.compile(fn, backend="eager")
    for _ in range(3):
        compiled(torch.ones(2))
    gc.collect()
    assert [ref() for ref in told] == [None] * 3


LAST: list[type] = []


def test_a_class_is_told_apart_from_that_of_the_call_before():
    def fn(x, again):
        class Local:
            def go(self, t):
                return t + 1

        made = LAST[0] if again else Local
        LAST[:] = [Local]
        one = made()
        return one.go(x), isinstance(one, Local), made is Local, type(one) is LAST[0]

    compiled = suture.compile(fn, backend="eager")
    x = torch.ones(2)
    LAST[:] = []
    assert compiled(x, False)[1:] == (True, True, True)
    for _ in range(3):
        assert compiled(x, True)[1:] == (False, False, False)
    assert compiled(x, False)[1:] == (True, True, True)


def test_objects_that_hold_the_class():
    def fn(x):
        y = x.sin()

        class Part:
            def go(self, t):
                return t + 1

        union = Part | None
        alias = list[Part]
        optional = typing.Optional[Part]  # noqa: UP045 - the form is what is tested
        partial = functools.partial(Part)
        names = (repr(Part) == repr(Part), Part.__name__, Part.__module__, Part.__qualname__)
        held = (union.__args__[0] is Part, alias.__args__[0] is Part, optional.__args__[0] is Part)
        kinds = (isinstance(partial(), (int, Part)), issubclass(Part, collections.abc.Iterable))
        same = (hash(Part) == hash(Part), id(Part) == id(Part), Part in {Part}, Part == Part)
        return partial().go(y), names, held, kinds, same, list(vars(Part))

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None, calls=4)


def test_copies_are_of_the_class():
    def fn(x):
        class Copied:
            def __init__(self, t):
                self.t = t

            def __eq__(self, other):
                return type(other) is Copied

            def __hash__(self):
                return 3

        one = Copied([x.sin()])
        two, three = copy.copy(one), copy.deepcopy(one)
        return two.t is one.t, three.t is one.t, one == three, {one: 1}[two], three.t[0].cos()

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_classes_that_are_left_to_python():
    def fn(x):
        y = x.sin()

        class Slotted:
            __slots__ = ("t",)

            def __init__(self, t):
                self.t = t

        class Dict(dict):
            def first(self):
                return next(iter(self.values()))

        class Cached:
            @functools.lru_cache(maxsize=2)  # noqa: B019 - one more kind of entry
            def twice(self, n):
                return 2 * n

        return Slotted(y).t.cos(), Dict(a=y).first() + Cached().twice(2)

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_a_base_that_is_told_of_classes():
    def fn(x):
        seen = []

        class Base:
            def __init_subclass__(cls, **named):
                seen.append((cls.__name__, named))

        class Derived(Base, key=1):
            def go(self, t):
                return t + len(seen)

        return Derived().go(x.sin()), seen

    check(fn, torch.ones(2), graphs=None, breaks=None)


def make_in_a_helper():
    class Helped:
        def go(self, t):
            return t * 2

    return Helped()


def test_a_class_that_an_inlined_function_defines():
    def fn(x):
        return make_in_a_helper().go(x.sin()).cos()

    compiled = suture.compile(fn, backend="eager")
    x = torch.ones(2)
    for _ in range(6):
        torch.testing.assert_close(compiled(x), fn(x))
    before = suture.stats().variants
    compiled(x)
    assert suture.stats().variants == before


def test_a_method_that_is_replaced_behind_the_statement():
    def fn(x, other):
        class Patched:
            def go(self, t):
                return t + 1

        if other:
            Patched.go = lambda self, t: t * 5
        return Patched().go(x.sin())

    compiled = suture.compile(fn, backend="eager")
    x = torch.ones(2)
    for other in (False, True, False, True):
        torch.testing.assert_close(compiled(x, other), fn(x, other))


class ReturnsFromInit:
    def __init__(self, value, breaks):
        if breaks:
            suture.graph_break()
        return value


@pytest.mark.parametrize("breaks", [False, True])
def test_init_must_return_none(breaks):
    def fn(x, value):
        y = x.sin()
        try:
            ReturnsFromInit(value, breaks)
        except TypeError as error:
            return y + 1, str(error), error.__traceback__.tb_next is None
        return y + 2

    for value in (None, 10, ReturnsFromInit(None, False)):
        check(fn, torch.ones(2), value, graphs=None, breaks=None)


class ActsAs:
    """Says that it is of the class of what it holds."""

    def __init__(self, held):
        self.__dict__["held"] = held

    def __getattribute__(self, name):
        if name.startswith("__dict"):
            return object.__getattribute__(self, name)
        return getattr(object.__getattribute__(self, "held"), name)


class Plain:
    def go(self, t):
        return t + 1


class Deeper(Plain):
    def go(self, t):
        return super(Deeper, self).go(t) * 2


def test_an_object_that_says_of_what_class_it_is():
    def fn(x, proxy):
        y = x.sin()
        same = (isinstance(proxy, Plain), isinstance(proxy, Deeper), isinstance(proxy, ActsAs))
        return Deeper.__dict__["go"](proxy, y), same, proxy.__class__ is Deeper

    check(fn, torch.ones(2), ActsAs(Deeper()), graphs=None, breaks=None)


class OwnClassMethod(classmethod):
    pass


class Based:
    @OwnClassMethod
    def who(cls, t):
        return t + len(cls.__name__)


class Derived(Based):
    @classmethod
    def who(cls, t):
        return super().who(t) * 2


def test_methods_of_classes_derived_from_classmethod():
    check(lambda x: Derived.who(x.sin()) + Based().who(x), torch.ones(2))
