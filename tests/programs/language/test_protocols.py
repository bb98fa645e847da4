"""What classes, iterators and containers of the program say themselves is asked as Python asks."""

from __future__ import annotations

import abc
import collections
import types
import typing

import torch

import suture
from tests.harness import check


def anyway(program, *args):
    return check(program, *args, graphs=None, breaks=None, recompiles=None)


def test_classes_made_in_the_call_are_compared_by_identity_in_each_turn():
    def program(x):
        class A:
            pass

        class B:
            pass

        out = []
        for one in (A, B, A):
            for other in (A, B):
                if one is other:
                    out.append((one.__name__, other.__name__))
        return out, x + 1

    anyway(program, torch.ones(2))


class Even(type):
    def __instancecheck__(cls, obj):
        cls.asked.append(obj)
        return obj % 2 == 0

    def __subclasscheck__(cls, other):
        return other is int


class EvenNumber(metaclass=Even):
    asked = []


class Pretender:
    def __init__(self, cls):
        self.cls = cls

    @property
    def __class__(self):
        return self.cls


def test_isinstance_asks_the_metaclass_and_the_class_that_is_claimed():
    def program(x):
        EvenNumber.asked.clear()
        out = [isinstance(n, EvenNumber) for n in (1, 2, 3)]
        out += [isinstance(4, (str, EvenNumber)), issubclass(int, EvenNumber)]
        out += [isinstance(Pretender(int), int), isinstance(Pretender(str), int)]
        out += [isinstance(3, int | str), isinstance(None, int | None), issubclass(bool, int | str)]
        return out, list(EvenNumber.asked), x + 1

    anyway(program, torch.ones(2))


def test_a_class_registered_later_is_a_subclass_from_then_on():
    class Base(abc.ABC):  # noqa: B024
        pass

    class Other:
        pass

    def program(x):
        return x + 1 if issubclass(Other, Base) else x + 2

    fn = suture.compile(program, backend="eager")
    x = torch.ones(2)
    assert torch.equal(fn(x), x + 2)
    Base.register(Other)
    assert torch.equal(fn(x), x + 1)


class Counting(dict):
    def __init__(self, *args):
        super().__init__(*args)
        self.read = 0

    def __getitem__(self, key):
        self.read += 1
        return super().__getitem__(key)

    def __repr__(self):
        raise RuntimeError("nobody prints it")


class Doubling(list):
    def __getitem__(self, i):
        return super().__getitem__(i) * 2


def test_items_of_derived_containers_are_read_when_the_program_reads_them():
    table, numbers = Counting({"a": torch.ones(2), "b": torch.zeros(2)}), Doubling([1, 2, 3])

    def program(x, table, numbers):
        total = x
        for value in table.values():
            total = total + value
        suture.graph_break()
        return total + sum(numbers) + numbers[1], table.read

    fn = suture.compile(program, backend="eager")
    for x in (torch.ones(2), torch.ones(2), torch.ones(3)[:2]):
        ours = fn(x, table, numbers)
        assert torch.equal(ours[0], x + 1 + 6 + 4) and ours[1] == 0


def test_methods_of_derived_containers_stay_methods_of_the_object():
    class Log(list):
        pass

    def program(x):
        log = Log()
        add = log.append
        suture.graph_break()
        add(1)
        same = log.append == add, log.pop == add, add.__self__ is log
        return list(log), same, {log.append, add} == {add}, x + 1

    anyway(program, torch.ones(2))


def test_ordered_and_default_dicts_keep_their_kinds():
    def program(x):
        a = collections.OrderedDict(a=1)
        b = collections.defaultdict(list, b=2)
        out = [dict(c=3) | a, a | dict(c=3), dict(c=3) | b, b | dict(c=3), a.copy(), b.copy()]
        texts = [repr(a), repr(b), repr(collections.deque([1, 2], 4))]
        for wrong in (
            lambda: collections.OrderedDict([], []),
            lambda: a.update([], []),
            lambda: {}.update([], []),
        ):
            try:
                wrong()
            except TypeError as error:
                texts.append(str(error))
        return out, texts, [type(o) for o in out], x + 1

    anyway(program, torch.ones(2))


def test_deques_refuse_to_be_iterated_after_a_change():
    def program(x):
        items = collections.deque([1, 2, 3], 3)
        out = []
        going = iter(items)
        next(going)
        items.append(4)
        for act in (lambda: next(going), lambda: items.insert(0, 1), lambda: items[0:1]):
            try:
                out.append(act())
            except Exception as error:
                out.append((type(error), str(error)))
        going = iter(items)
        items[0] = 7
        return out, list(going), items, x + 1

    anyway(program, torch.ones(2))


def test_next_tells_what_a_generator_returned():
    def count():
        yield 1
        return "done"

    def program(x):
        numbers = count()
        out = [next(numbers)]
        try:
            next(numbers)
        except StopIteration as stop:
            out.append((stop.value, stop.args))
        return out, x + 1

    check(program, torch.ones(2))


def test_functions_made_inside_have_what_functions_have():
    def program(x):
        def inner(a: int = 1):
            return a

        def plain():
            return 2

        plain.__annotations__["a"] = int
        is_function = inner.__class__ is types.FunctionType
        return is_function, plain.__annotations__, hasattr(inner, "__repr__"), x + 1

    anyway(program, torch.ones(2))


def test_unions_of_typing_objects():
    def program(x):
        return typing.List[int] | None, typing.Dict | typing.Tuple, x + 1  # noqa: UP006

    anyway(program, torch.ones(2))


def test_objects_refuse_arguments_that_nobody_takes():
    class Plain:
        pass

    class Initialised:
        def __init__(self, a):
            super().__init__(a)

    def program(x):
        out = []
        for make in (
            lambda: Plain(1),
            lambda: object.__new__(Plain, 1),
            lambda: Plain().__init__(1),
            lambda: Initialised(1),
        ):
            try:
                make()
            except TypeError as error:
                out.append(str(error))
        return out, x + 1

    anyway(program, torch.ones(2))


def test_a_builtin_that_is_replaced_meanwhile():
    import builtins

    def program(x):
        return len([1, 2]), x + 1

    fn = suture.compile(program, backend="eager")
    before = builtins.len
    try:
        builtins.len = lambda of: 7
        replaced = fn(torch.ones(1))[0]
    finally:
        builtins.len = before
    assert replaced == 7
    assert fn(torch.ones(1))[0] == 2


def test_sorting_a_list_that_changes_meanwhile():
    def program(x):
        items = [3, 1, 2]
        seen = []

        def key(value):
            seen.append(list(items))
            return value

        items.sort(key=key)
        try:
            items.sort(key=lambda value: items.append(value) or value)
        except ValueError as error:
            return str(error), seen, items, x + 1

    check(program, torch.ones(2))


def test_exceptions_whose_constructors_look_at_their_arguments():
    def program(x):
        out = []
        for make in (
            lambda: OSError(2, "gone"),
            lambda: OSError(17, "there", "file"),
            lambda: OSError("text"),
            lambda: ExceptionGroup("many", [ValueError(1)]),
            lambda: ExceptionGroup("none", []),
            lambda: UnicodeDecodeError("utf8", b"a", 0, 1, "why"),
            lambda: UnicodeDecodeError("utf8"),
        ):
            try:
                made = make()
                out.append((type(made), str(made)))
            except Exception as error:
                out.append((type(error), str(error)))
        return out, x + 1

    anyway(program, torch.ones(2))


def test_items_of_classes_are_what_the_class_says():
    class Named(type):
        def __getitem__(cls, key):
            return cls.__name__, key

    class One(metaclass=Named):
        pass

    class Other:
        asked = []

        def __class_getitem__(cls, key):
            cls.asked.append(key)
            return key

    def program(x):
        Other.asked.clear()
        return One[1], Other["a"], list(Other.asked), list[int], x + 1

    anyway(program, torch.ones(2))


def test_printing_with_wrong_arguments_raises_where_it_is_called():
    def program(x):
        try:
            print("a", sep=3)
        except TypeError as error:
            return str(error), x + 1

    check(program, torch.ones(2))


def test_builtins_called_in_forms_they_do_not_take():
    def program(x):
        out = []
        for wrong in (
            lambda: enumerate(),
            lambda: enumerate([], 1, 2),
            lambda: enumerate([], "a"),
            lambda: enumerate(iterable=[], x=3),
            lambda: reversed(),
            lambda: reversed([], []),
            lambda: int.__new__(bool, 0),
            lambda: tuple.__new__(list),
            lambda: collections.deque([], -1),
            lambda: collections.deque([], 1, 2),
            lambda: round(),
            lambda: isinstance(1),
        ):
            try:
                wrong()
            except (TypeError, ValueError) as error:
                out.append((type(error), str(error)))
        out.append(
            (round(number=2.5), round(2.567, ndigits=1), list(enumerate(start=3, iterable="a")))
        )
        return out, x + 1

    anyway(program, torch.ones(2))


class Derived(str):
    pass


def test_constants_with_objects_of_derived_classes():
    def program(x):
        return [
            "a" + Derived("b"),
            Derived("a") + "b",
            "x" in Derived("xy"),
            "a" < Derived("b"),
        ], x + 1

    anyway(program, torch.ones(2))


def test_globals_changed_as_a_dict_are_seen():
    globals()["CHANGED"] = 1

    def program(x):
        globals()["CHANGED"] = 5
        seen = CHANGED  # noqa: F821
        globals()["CHANGED"] = 1
        return seen, x + 1

    anyway(program, torch.ones(2))


def test_symbols_and_numbers_beyond_64_bits():
    def program(n):
        return n + 10**5000 > 0, n < 10**5000, (n * 10**30) % 7

    fn = suture.compile(program, backend="eager")
    for n in (1, 2, 3, 4):
        assert fn(n) == program(n)


def test_a_super_object_that_is_kept_looks_where_it_should():
    def program(x):
        class A:
            def meth(self, a):
                return a + 1

        class B(A):
            def meth(self, a):
                above = super(B, self)
                suture.graph_break()
                return above.meth(a) * 2

        return B().meth(x)

    anyway(program, torch.ones(2))


def test_a_defaultdict_takes_only_what_can_be_called():
    def program(x):
        try:
            collections.defaultdict(1)
        except TypeError as error:
            return str(error), collections.defaultdict(None, a=1), x + 1

    check(program, torch.ones(2))
