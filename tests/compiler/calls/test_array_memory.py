"""Arrays that are changed in place: those from outside, views, and what shares their memory."""

from __future__ import annotations

import numpy
import pytest
import torch

import suture
from tests.harness import check


def array():
    return numpy.arange(12.0).reshape(3, 4)


def both(fn, make, **expected):
    """On graphs as they are, and through AOTAutograd."""
    check(fn, make=make, **expected)
    expected.pop("graphs", None)
    check(fn, make=make, backend="aot_eager", **expected)


def test_an_argument_is_written():
    def fn(a):
        a[...] = 2.0
        a[1] = [1, 2, 3, 4]
        a[:, 2] += 3
        a *= 2
        return a * 2

    both(fn, lambda: (array(),))


def test_an_argument_of_integers_takes_whole_numbers():
    def fn(a):
        a[0] = 2.7
        a[1] = True
        return a

    both(fn, lambda: (numpy.arange(12).reshape(3, 4),))


def test_a_result_is_written_next_to_an_argument():
    def fn(a):
        b = a * 3
        b[b > 2] = 0
        b.fill(1.0)
        return b + a

    both(fn, lambda: (array(),))


VIEWS = {
    "ravel": lambda a: a.ravel(),
    "transposed": lambda a: a.T,
    "reshaped": lambda a: a.reshape(4, 3),
    "reshaped copy": lambda a: a.T.reshape(12),
    "rows": lambda a: a[1:],
    "every other": lambda a: a[:, ::2],
    "split": lambda a: numpy.split(a, 3)[1],
    "same": lambda a: numpy.asarray(a),
    "copied": lambda a: numpy.array(a),
    "flattened": lambda a: a.flatten(),
    "of its own type": lambda a: a.astype(numpy.float64),
    "positive": lambda a: +a,
    "picked": lambda a: a[[0, 1]],
    "masked": lambda a: a[a > 3],
}


@pytest.mark.parametrize("name", VIEWS)
def test_what_shares_memory_with_an_array(name):
    get = VIEWS[name]

    def fn(a):
        b = get(a)
        b[...] = 7
        return a, b

    both(fn, lambda: (array(),))


@pytest.mark.parametrize(
    "get",
    [
        lambda a: a[::-1],
        numpy.flip,
        numpy.rot90,
        numpy.diag,
        lambda a: numpy.broadcast_to(a, (2, 3, 4)),
        lambda a: numpy.broadcast_arrays(a, a[0])[1],
    ],
)
def test_views_that_only_numpy_has(get):
    def write(a):
        b = get(a)
        b[...] = 7
        return a, b

    def write_base(a):
        b = get(a)
        a[...] = 7
        return a, b + 1

    check(write, make=lambda: (array(),), graphs=None, breaks=None)
    check(write_base, make=lambda: (array(),), graphs=None, breaks=None)


def test_a_flipped_array_that_stays_inside_is_one_graph():
    def fn(a):
        return a[::-1] * 2 + numpy.flip(a, 1)

    both(fn, lambda: (array(),))


def test_parts_of_an_array_that_overlap():
    def fn(a):
        a[:, 1:] = a[:, :-1]
        a[1:] += a[:-1]
        numpy.add(a[:-1], 1, out=a[1:])
        return a

    both(fn, lambda: (array(),))


def test_an_array_that_may_not_be_written():
    def make():
        a = array()
        a.flags.writeable = False
        return (a,)

    def fn(a):
        b = a * 2
        a[0] = 1
        return b

    check(fn, make=make, breaks=["GB0158"], graphs=None)

    def then(a):
        a[0] = 1
        return a * 2

    compiled = suture.compile(then, backend="eager")
    compiled(array())
    with pytest.raises(ValueError, match="read-only"):
        compiled(*make())


def test_arrays_and_tensors_that_share_memory():
    def fn(x, a):
        y = x + 1
        a[...] = 1
        return x + y

    def apart():
        return torch.ones(3, 4, dtype=torch.float64), array()

    def shared():
        a = array()
        return torch.from_numpy(a), a

    both(fn, apart)
    check(fn, make=shared, breaks=["GB0158"], graphs=2)
    compiled = suture.compile(fn, backend="eager")
    for make in (apart, shared, apart, shared):
        assert torch.equal(compiled(*make()), fn(*make()))


def test_one_array_as_two_arguments():
    def fn(a, b):
        a[...] = 1
        return a + b, b

    compiled = suture.compile(fn, backend="eager")
    for same in (False, True, False):
        a = array()
        b = a if same else array()
        total, _ = compiled(a, b)
        assert total.tolist() == (numpy.full((3, 4), 2.0) if same else array() + 1).tolist()


def test_an_array_read_behind_the_change_of_another():
    base = array()

    def fn(a):
        a[...] = 1
        return base * 2

    check(fn, make=lambda: (array(),))
    compiled = suture.compile(fn, backend="eager")
    assert compiled(base[:2]).tolist() == [[2.0] * 4, [2.0] * 4, [16.0, 18.0, 20.0, 22.0]]


def test_an_element_is_a_number_that_no_later_change_reaches():
    def make():
        return torch.arange(6.0).view(2, 3), array()

    def fn(x, a):
        seen = x.numpy()
        picked = [seen[0, 1], a[1, 2], a.flat[3], *seen[0]]
        x.fill_(3)
        a += 5
        return picked, seen[1, 2]

    both(fn, make)


def test_an_index_with_an_ellipsis_gives_an_array_over_the_element():
    def fn(x):
        seen = x.numpy()
        view = seen[1, ...]
        whole = view[...]
        x.fill_(3)
        return view, whole, view[()], view + 1, view.T

    both(fn, lambda: (torch.arange(4.0),))


def test_the_array_of_a_tensor_without_dimensions_is_no_scalar():
    def fn(x):
        total = x.sum()
        seen = total.numpy()
        total += 1
        seen += 1
        return seen, type(seen), seen * 2, torch.from_numpy(seen)

    both(fn, lambda: (torch.arange(4.0),))


@pytest.mark.parametrize("use", [len, list, hash], ids=lambda use: use.__name__)
def test_an_array_without_dimensions_refuses_as_numpy_does(use):
    check(lambda x: (x.cos(), use(x.sum().numpy())), torch.ones(2), graphs=None, breaks=None)


def test_a_scalar_of_numpy_takes_no_items():
    def fn(x):
        one = x.numpy()[0]
        try:
            one[...] = 2
        except TypeError as error:
            return str(error), one, x

    check(fn, torch.ones(2))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_autograd_does_not_count_what_numpy_writes(backend):
    """What a product has saved may change by then; a write of torch's own would be refused."""

    def of_argument(x):
        y = x * x
        x.detach().numpy()[0] = 9
        y.sum().backward()
        return x.grad

    def of_result(x):
        z = x.exp()
        y = z * z
        t = torch.from_numpy(z.detach().numpy())
        t[1:] *= 2
        torch.as_tensor(z.detach().numpy()[:1]).add_(1)
        y.sum().backward()
        return x.grad, y.detach()

    for fn in (of_argument, of_result):
        want, got = (
            one(torch.ones(3, requires_grad=True))
            for one in (fn, suture.compile(fn, backend=backend))
        )
        torch.testing.assert_close(got, want)
