"""The forms in which a graph is kept: what torch.fx or Inductor wrote, alone or as the two graphs
of an autograd function, and what is done around it.

The compiler makes forms of what a backend gave; `graphs` makes something to call of them. Their
JSON is written and read here and nowhere else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Reference = list[Any]  # how an object is found again: runtime.store.references


@dataclass(slots=True)
class FxCode:
    """The function that torch.fx wrote for a graph. `held` has tensors as `tensor_constants` writes
    them."""

    code: str
    names: dict[str, Reference]
    held: dict[str, Any]
    meshes: dict[str, Reference]


@dataclass(slots=True)
class InductorCode:
    """What Inductor wrote for a graph. `kernels` are (file, part of the library), `launches` those
    of Triton's kernels; these may come later, when the graph has run. `checked` are the inputs that
    must begin where kernels expect it, `written` those of them that the code writes."""

    code: str
    kernels: dict[str, Sequence[str]]
    launches: dict[str, dict[str, Any]]
    checked: Sequence[int]
    written: Sequence[int]
    extern: dict[str, Reference]
    operations: list[str]
    held: dict[str, Any]
    meshes: dict[str, Reference]


Code = FxCode | InductorCode
Parts = dict[str, Any]  # how DTensors are taken apart: runtime.callers.dtensors


@dataclass(slots=True)
class OneGraph:
    """A graph without a backward. `written`: the inputs that it writes; `grad_off`: grad mode is
    off around it."""

    code: Code
    written: Sequence[int] = ()
    grad_off: bool = False
    parts: Parts | None = None


@dataclass(slots=True)
class TwoGraphs:
    """The graphs of an autograd function. `around` is what it does around them, `detached` and
    `written` are inputs as in `runtime.callers.Training`."""

    forward: Code
    backward: Code
    around: dict[str, Any]
    detached: Sequence[int]
    written: Sequence[int]
    parts: Parts | None


@dataclass(slots=True)
class Behind:
    """The views that are taken of results after the graph, and the inputs that this needs."""

    code: FxCode
    inputs: Sequence[int]


@dataclass(slots=True)
class KeptGraph:
    """The graph of a variant.

    `operators` are the program's own that it calls, with a digest of their code. `statics` are the
    guards that know its first inputs, `aligned_statics` those of which it takes it where they begin
    in memory. `resets` are calls that put modes back: a function, and its arguments.
    """

    graphs: OneGraph | TwoGraphs
    operators: dict[str, str]
    autocast_off: bool = False
    behind: Behind | None = None
    statics: Sequence[int] = ()
    aligned_statics: Sequence[int] = ()
    resets: Sequence[tuple[Reference, list[Reference]]] = ()
    torch_function_off: bool = False

    def codes(self) -> list[Code]:
        """The code of each graph in it; of two, the forward's first."""
        if isinstance(self.graphs, TwoGraphs):
            return [self.graphs.forward, self.graphs.backward]
        return [self.graphs.code]

    def files(self) -> set[str]:
        """The names of the files that its code needs."""
        found: set[str] = set()
        for code in self.codes():
            if isinstance(code, InductorCode):
                found |= {file for file, _ in code.kernels.values()}
                found |= {launch["blob"] for launch in code.launches.values()}
        return found


# ---- JSON: an object with the name of the form and its fields

Form = FxCode | InductorCode | OneGraph | TwoGraphs | Behind | KeptGraph
_FORMS: dict[str, type[Form]] = {
    "fx": FxCode,
    "inductor": InductorCode,
    "one": OneGraph,
    "two": TwoGraphs,
    "behind": Behind,
    "graph": KeptGraph,
}
_NAMES = {form: name for name, form in _FORMS.items()}
# The fields that hold forms themselves.
_INNER = frozenset({
    (OneGraph, "code"), (TwoGraphs, "forward"), (TwoGraphs, "backward"), (Behind, "code"),
    (KeptGraph, "graphs"), (KeptGraph, "behind"),
})  # fmt: skip


def encode(form: Form) -> dict[str, Any]:
    """A form as JSON. Launches that come later are added to it."""
    made: dict[str, Any] = {"form": _NAMES[type(form)]}
    for one in dataclasses.fields(form):
        value = getattr(form, one.name)
        inner = (type(form), one.name) in _INNER and value is not None
        made[one.name] = encode(value) if inner else value
    return made


def decode(data: dict[str, Any]) -> KeptGraph:
    """The graph that `encode` wrote; KeyError or ValueError if it is not well formed."""
    graph = _decoded(data)
    if not isinstance(graph, KeptGraph):
        raise ValueError("no graph of a variant")
    return graph


def _decoded(data: dict[str, Any]) -> Form:
    form = _FORMS[data["form"]]
    values: dict[str, Any] = {}
    for one in dataclasses.fields(form):
        value = data[one.name]
        inner = (form, one.name) in _INNER and value is not None
        values[one.name] = _decoded(value) if inner else value
    return form(**values)
