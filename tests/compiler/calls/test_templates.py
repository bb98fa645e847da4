"""Templates filled with sizes and with tensors: the text is made when the variant runs."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Graphs, check

FILLED = {
    "size": lambda x: str(x.shape),
    "slice of a size": lambda x: f"{x.shape[1:]!r:*^30}|{tuple(x.shape)!s:<20}|{x.stride()}",
    "percent, one": lambda x: "%5d" % x.shape[1],
    "percent, several": lambda x: "%s: %d of %-4d|%r %%" % ("n", x.shape[1], x.numel(), x.shape),
    "percent of floats": lambda x: "%.2f %8.1e %g" % (x.shape[1] / 3, x.shape[1] / 7, 0.5),
    "percent of a list": lambda x: "%s %6s" % ([x.shape[1]], x.shape[1]),
    "format, counted": lambda x: "{} {:>6} {!r:>6}".format(x.shape, x.shape[1], x.shape[1]),
    "format, by name": lambda x: "{1:03d}{n}{0}{{}}".format(x.shape[1], x.numel(), n=x.dtype),
    "join": lambda x: "x".join(map(str, x.shape)),
    "join with others": lambda x: ", ".join(["a", f"{x.shape[1]}", "b"]),
    "methods": lambda x: ("n%d" % x.shape[1]).upper().rjust(8, ".").replace("N", "m"),
    "width": lambda x: f"{str(x.shape[1]):>6}|{f'{x.numel()}':^9}",
}


@pytest.mark.parametrize("fill", FILLED.values(), ids=FILLED)
def test_a_text_with_sizes_needs_no_variant_for_each(fill):
    graphs = Graphs()
    compiled = suture.compile(lambda x: (x + 1, fill(x)), backend=graphs)
    for rows in (5, 4, 6, 7, 12):
        x = torch.ones(2, rows, 3)
        assert compiled(x)[1] == fill(x)
    assert len(graphs) == 2


def test_a_number_out_of_a_tensor():
    def fn(x):
        loss = x.mean()
        return "%.3f|%5.1e|%s" % (loss, loss, loss), "{:.2f}".format(loss), loss + 1

    check(fn, torch.arange(4.0), graphs=1)


class Named:
    def __str__(self):
        print("written")
        return "named"


TEMPLATES = [
    ("%d %d", lambda n: (n,)),
    ("%d", lambda n: (n, n)),
    ("%y", lambda n: n),
    ("%(a)d", lambda n: {"a": n}),
    ("%*d", lambda n: (5, n)),
    ("%c", lambda n: n),
    ("%x", lambda n: n / 2),
    ("%d", lambda n: float("inf") * n),
    ("%s %d %s", lambda n: (Named(), n, Named())),
]
FORMATS = [
    ("{} {}", lambda n: [n]),
    ("{0} {}", lambda n: [n]),
    ("{a}", lambda n: [n]),
    ("{:{}}", lambda n: [n, 5]),
    ("{:q}", lambda n: [n]),
    ("{", lambda n: [n]),
    ("{0.real} {0!r}", lambda n: [n]),
    ("{} {} {}", lambda n: [Named(), n, Named()]),
]
METHODS = [
    lambda n: ",".join([str(n), n]),
    lambda n: str(n).center("a"),
    lambda n: str(n).replace("1"),
    lambda n: format(str(n), "d"),
]


@pytest.mark.parametrize(
    "fill",
    [
        *(lambda n, t=t, v=v: t % v(n) for t, v in TEMPLATES),
        *(lambda n, t=t, v=v: t.format(*v(n)) for t, v in FORMATS),
        *METHODS,
    ],
)
def test_what_does_not_fit_raises_as_in_python(fill):
    def fn(x):
        try:
            return x + 1, fill(x.shape[0])
        except (TypeError, ValueError, IndexError, KeyError, OverflowError) as error:
            return x - 1, type(error), str(error)

    check(fn, torch.ones(3), graphs=None, breaks=None, dynamic=True)
