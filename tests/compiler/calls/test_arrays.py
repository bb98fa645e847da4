"""NumPy in compiled functions: arrays are tensors of the graph underneath."""

from __future__ import annotations

import numpy
import pytest
import torch

import suture
from tests.harness import Graphs, check


def test_functions_and_methods_of_arrays_are_one_graph():
    def fn(x):
        y = numpy.sin(x.numpy()) + 1
        y = numpy.maximum(y.reshape(2, 2), 1.0).T
        return torch.from_numpy(y.clip(0, 1.5)) * 2

    check(fn, torch.randn(4))


def test_an_array_argument_is_an_input_of_the_graph():
    def fn(x, a):
        return torch.from_numpy(a * 2 + a.mean(axis=0)) + x, a.shape, a.ndim

    check(fn, torch.randn(3, 2), numpy.ones((3, 2), dtype=numpy.float32))


def test_an_array_that_is_returned_is_an_array():
    def fn(x):
        y = x.numpy()
        return y * 2, numpy.concatenate([y, y])

    check(fn, torch.randn(4))


def test_a_reduction_gives_a_scalar_of_numpy():
    def fn(x):
        return x.numpy().sum()

    check(fn, torch.randn(4))


def test_an_array_argument_that_shares_memory_is_changed_by_python():
    """In ways that a graph does not see."""

    def fn(a, b):
        c = a + b[0]
        b += 1
        a[0] = 7
        return c + a * 2

    def make():
        base = numpy.zeros(3, dtype=numpy.float32)
        return base[:2], base

    check(fn, make=make, breaks=("GB0158", "GB0158"), graphs=2)


def test_an_array_over_a_tensor_is_changed_in_the_graph():
    def fn(x):
        a = x.numpy()
        a += 1
        a[0] = 7
        return x * 2

    check(fn, torch.randn(4))


def test_dtypes_are_named_by_numpys_types():
    def fn(x):
        y = x.numpy().astype(numpy.float64)
        return torch.from_numpy(y), y.dtype, len(y)

    check(fn, torch.randn(4))


def test_an_array_of_another_layout_compiles_again():
    def fn(a):
        return torch.from_numpy(a + 1)

    import suture

    compiled = suture.compile(fn, backend="eager")
    for shape in ((2,), (3,), (2,)):
        array = numpy.ones(shape, dtype=numpy.float32)
        assert torch.equal(compiled(array), fn(array))


@pytest.mark.parametrize("name", ["interp", "unwrap"])
def test_a_function_that_torch_has_not_is_a_break(name):
    def fn(x):
        y = x.sin().numpy()
        z = getattr(numpy, name)(y, *([[0.0, 1.0], [0.0, 2.0]] if name == "interp" else []))
        return torch.from_numpy(z) + 1

    check(fn, torch.randn(4), breaks=("GB2022",), graphs=2)


def test_an_array_of_strings_is_left_to_numpy():
    def fn(x, names):
        return x * len(names.tolist())

    check(fn, torch.randn(4), numpy.array(["a", "b"]), breaks=("GB0185",), graphs=1)


def test_tensors_are_made_of_arrays_in_the_graph():
    def fn(x, a):
        copied = torch.tensor(a, dtype=torch.float64)
        over = torch.as_tensor(a)
        return x + copied.sum(), over * 2, torch.tensor(a.T).stride(), torch.tensor(a.sum())

    check(fn, torch.randn(3), numpy.ones((3, 2), dtype=numpy.float32))


def test_a_tensor_made_of_an_array_is_a_copy():
    def fn(x):
        a = x.numpy()
        made = torch.tensor(a)
        a += 1
        return made, torch.as_tensor(a)

    check(fn, torch.randn(3))


def test_seeding_numpy_breaks_nothing():
    def fn(x):
        y = x.sin()
        numpy.random.seed(7)
        return y + 1

    numpy.random.seed(0)
    check(fn, torch.randn(3))
    assert numpy.random.get_state()[1][0] == 7


def test_seeding_numpy_with_a_wrong_number_raises_as_eager_does():
    def fn(x):
        numpy.random.seed(-1)
        return x + 1

    check(fn, torch.randn(3), graphs=None, breaks=None)


def test_scalars_of_numpy_are_numbers_to_tensors():
    def fn(x):
        three = numpy.sum([1, 2])
        half = numpy.float32(0.5)
        return x + three, three * x, x * half, x == three, x != half, x < three, x**three

    check(fn, torch.arange(4))
    check(fn, torch.arange(4.0))


def test_a_scalar_of_numpy_decides_the_type_of_a_sum_with_a_size():
    def fn(x):
        return x + 1, x.shape[0] + numpy.sum([1, 2]), numpy.int64(2) * x.shape[0]

    for dynamic in (False, True):
        check(fn, torch.ones(5), dynamic=dynamic)


def graphs_of(fn, made):
    """How many graphs each call makes; all give what eager gives."""
    suture.reset()
    graphs, out = Graphs(), []
    compiled = suture.compile(fn, backend=graphs)
    for args in made:
        before = len(graphs)
        torch.testing.assert_close(compiled(*args), fn(*args))
        out.append(len(graphs) - before)
    assert not suture.stats().interpreted
    return out


def test_a_number_before_an_array_is_an_operand():
    def fn(x):
        steps = numpy.linspace(0.1, 0.5, 4)
        kept = numpy.cumprod(1.0 - steps)
        return x * torch.from_numpy(2 * kept)

    check(fn, torch.randn(4))


def test_a_tensor_is_indexed_by_arrays():
    def fn(x, rows, kept):
        y = x.clone()
        y[rows] = 0
        return x[rows].sin(), x[rows, rows], x[kept], y

    check(fn, torch.randn(4, 4), numpy.array([2, 0]), numpy.array([True, False, True, True]))


def test_an_array_whose_size_changes_is_compiled_twice():
    def fn(x, a):
        return x[torch.from_numpy(a)].sin().sum() + torch.tensor(a).sum()

    made = [(torch.randn(9), numpy.arange(n + 2)) for n in range(5)]
    assert graphs_of(fn, made) == [1, 1, 0, 0, 0]


@pytest.mark.parametrize("kind", [numpy.int64, numpy.int32, numpy.float64, numpy.float32])
def test_a_scalar_of_numpy_that_changes_is_compiled_twice(kind):
    def fn(x, a):
        return x * a + float(a), a + x, torch.full((2,), int(a))

    made = [(torch.randn(9), kind(n + 2)) for n in range(5)]
    assert graphs_of(fn, made) == [1, 1, 0, 0, 0]


def test_a_scalar_of_numpy_that_changes_stays_a_scalar_of_numpy():
    def fn(a):
        return a * 2, a + 1.5, a > 3, -a

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for number in range(5):
        for kind in (numpy.int64, numpy.float32):
            got, want = compiled(kind(number)), fn(kind(number))
            assert list(got) == list(want)
            assert [type(g) for g in got] == [type(w) for w in want]


def test_a_branch_on_a_scalar_of_numpy_is_guarded():
    def fn(x, a):
        return x + 1 if a > 2 else x - 1

    made = [(torch.randn(3), numpy.int64(n)) for n in (0, 1, 5, 2, 3, 7, 0)]
    assert sum(graphs_of(fn, made)) <= 3


def test_drawn_numbers_are_no_reason_to_compile_again_and_again():
    def fn(x):
        start = numpy.random.randint(0, 5)
        kept = numpy.random.choice([1, 2, 3])
        return x[start:].sum() * float(kept)

    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for seed in range(8):
        x = torch.randn(9)
        numpy.random.seed(seed)
        want = fn(x)
        numpy.random.seed(seed)
        torch.testing.assert_close(compiled(x), want)
    assert len(graphs) <= 3
    assert not suture.stats().interpreted


@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_an_array_of_a_tensor_is_the_tensor_seen_by_numpy():
    def fn(x):
        return numpy.asarray(x) * 2, numpy.array(x) + 1, numpy.asarray(x, dtype=numpy.float64)

    check(fn, torch.randn(4))


def test_integers_are_divided_in_double_precision():
    def fn(a):
        return a / 3, 1 / a, (a * 2) / a

    check(fn, numpy.arange(1, 5))


def test_a_scalar_of_numpy_is_not_changed_in_place():
    def fn(x, a):
        b = a
        b += 2
        return x * b, a, b

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for number in range(4):
        got, want = (f(torch.ones(2), numpy.int64(number)) for f in (compiled, fn))
        assert torch.equal(got[0], want[0])
        assert got[1:] == want[1:]
        assert type(got[2]) is type(want[2])


def test_a_scalar_of_numpy_repeats_a_list():
    def fn(x, a):
        return x + 1, a * [1.0, 2.0]

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for number in range(1, 4):
        assert compiled(torch.ones(2), numpy.int64(number))[1] == [1.0, 2.0] * number


def test_questions_about_dtypes_are_answered_while_tracing():
    double = numpy.dtype("float64")

    def fn(x, a):
        limits = numpy.finfo(numpy.float32).min, numpy.finfo(a.dtype).eps, numpy.iinfo("int16").max
        kinds = a.dtype == numpy.float64, a.dtype != double, a.dtype in (numpy.int8, "float32")
        wider = numpy.promote_types(numpy.int32, numpy.float32), numpy.result_type(a, numpy.int8)
        known = numpy.issubdtype(a.dtype, numpy.floating), numpy.can_cast("int64", "int32")
        return x + limits[0], limits, kinds, wider, known, a.itemsize, {double: 1}[a.dtype]

    check(fn, torch.ones(2), numpy.ones(2), graphs=1)


def test_arrays_made_of_known_numbers():
    def fn(x):
        order = numpy.argsort([3, 1, 2])
        bounds = numpy.cumsum([1, 2, 3])
        return x + torch.as_tensor(order), x + torch.as_tensor(bounds), bounds

    check(fn, torch.ones(3), graphs=1)


def test_a_number_of_an_array_is_an_index_of_a_tensor():
    steps = numpy.arange(6)[::-1].copy()

    def fn(x, i):
        written = x.clone()
        written[steps[i]] = 3.0
        return x[steps[i]], x[numpy.int64(2)], x[None, steps[i] - 1], written

    check(fn, torch.arange(12.0), 1)


def test_the_array_to_fill_is_what_a_function_gives():
    def fn():
        x = numpy.arange(5.0)
        out = numpy.empty((5, 5))
        other = numpy.empty(5)
        given = numpy.sin(x, out=out)
        return (
            given is out,
            given,
            numpy.add(x, 1, other) is other,
            numpy.cos(x, out=(other,)) is other,
        )

    check(fn, graphs=None)


def test_an_array_from_outside_is_filled():
    def fn(x, out):
        return numpy.add(x, 1, out) is out, out

    check(fn, numpy.arange(3.0), numpy.zeros(3))


def test_array_like_a_tensor():
    def fn(x):
        return numpy.ones_like(x, dtype=numpy.float64), numpy.full_like(x, 2.5)

    check(fn, torch.randn(2, 3), graphs=1)


def test_a_number_of_numpy_is_compared_with_each_item_of_a_list():
    def fn(x, number, items):
        return x + 1, number == items, items == number

    for number, items in (
        (numpy.bool_(True), [1, 0]),
        (numpy.float64(2), [2.0, 3]),
        (numpy.int64(2), (2, 3)),
    ):
        check(fn, torch.ones(1), number, items, graphs=None, breaks=None)


def test_numbers_at_equal_distances_are_those_of_numpy():
    """torch counts the second half from the end: 3.0 for NumPy's 3.0000000000000004."""

    def fn(x, start, stop):
        at = numpy.linspace(start, stop, 3)
        return x * 2, at, numpy.linspace(0, stop, num=7) == numpy.linspace(0, stop, num=7)[3]

    for start, stop in ((0.1, 5.9), (0.1, 5.8), (-0.3, 0.7)):
        given = fn(torch.ones(1), start, stop)
        made = suture.compile(fn, backend="eager")(torch.ones(1), start, stop)
        assert [list(a) for a in given[1:]] == [list(a) for a in made[1:]]
    check(fn, torch.ones(1), 0.1, 5.9, graphs=None)
