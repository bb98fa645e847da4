"""What a backend made of a graph, in a form that can be kept (`runtime.store.graph_forms`)."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch

from suture import config
from suture.compiler.misses.inductor_graph import describe_code
from suture.runtime.callers import (
    Around,
    Before,
    Caller,
    Direct,
    Measured,
    Training,
    WithoutAutocast,
    Wrapped,
)
from suture.runtime.callers.extern import REMADE
from suture.runtime.store.files import BINARY, blob_name
from suture.runtime.store.graph_forms import (
    Behind,
    Code,
    FxCode,
    InductorCode,
    KeptGraph,
    OneGraph,
    Parts,
    TwoGraphs,
)
from suture.runtime.store.literals import Unstorable
from suture.runtime.store.operators import TORCHS, operator_digest
from suture.runtime.store.tensor_constants import encode_tensor
from suture.torch_private import (
    aot_facts,
    aot_subclasses,
    aot_training,
    compilers,
    custom_operators,
    dtensor_parts,
    triton_kernels,
)

Later = Callable[[], bool]  # completes a description that lacks something until the graph has run


class Describing(Protocol):
    """What is needed of whoever describes a variant."""

    blobs: dict[str, bytes]
    later: list[Later]

    def ref(self, value: Any) -> list[Any]:
        """How an object is found again."""
        ...

    def graph_global(self, value: Any) -> list[Any]:
        """How a global of a graph's function is found again."""
        ...

    def mesh(self, value: Any) -> list[Any]:
        """How a mesh is found again that is a constant of a graph."""
        ...


def graph_of(to: Describing, emitted: Any) -> KeptGraph:
    """The graph of a variant, without what is done around it for the variant; raises Unstorable if
    what the backend gave has no form to keep."""
    if emitted.backend_failed:
        raise Unstorable("the backend failed on its graph; another process may have more luck")
    operators = _operators(emitted.module)
    if emitted.graph_kept:
        return KeptGraph(OneGraph(_fx(to, emitted.module)), operators)
    if config.verify:
        raise Unstorable("what is compiled is verified at each call")
    caller, autocast_off = emitted.caller, False
    behind = None
    while isinstance(caller, (Around, Measured)):  # modes that it switches are described apart
        autocast_off |= isinstance(caller, WithoutAutocast)
        if isinstance(caller, Before):
            behind = Behind(_fx(to, caller.behind), caller.inputs)
        caller = caller.other if isinstance(caller, Measured) else caller.inner
    facts = caller.facts if isinstance(caller, Wrapped) else None
    if facts is not None:
        autocast_off |= facts.autocast_off
    made = KeptGraph(_called(to, caller, emitted), operators, autocast_off, behind)
    for code in made.codes():
        if isinstance(code, InductorCode):
            operators |= _digests(one.removeprefix("torch.ops.") for one in code.operations)
    return made


def _operators(module: Any) -> dict[str, str]:
    """The operators of the program that a graph calls, also in graphs inside, and the code that
    they stood for while it was made."""
    graphs = [one.graph for one in module.modules() if isinstance(one, torch.fx.GraphModule)]
    targets = (custom_operators.overload_of(node.target) for g in graphs for node in g.nodes)
    return _digests(custom_operators.path_of(one) for one in targets if one is not None)


def _digests(paths: Iterable[str]) -> dict[str, str]:
    own = {path for path in paths if path.partition(".")[0] not in TORCHS}
    return {path: operator_digest(path) for path in own}


def _called(to: Describing, caller: Caller | None, emitted: Any) -> OneGraph | TwoGraphs:
    if isinstance(caller, Direct):
        return OneGraph(_inductor(to, caller.call), caller.written, caller.off)
    if isinstance(caller, Training):
        return _trained(to, caller.function, caller.facts)
    if isinstance(caller, Wrapped) and caller.facts is not None:
        return _operations(to, caller.facts, emitted)
    raise Unstorable("what the backend gave has no form that can be kept")


def _operations(to: Describing, facts: aot_facts.Facts, emitted: Any) -> OneGraph | TwoGraphs:
    """Graphs of AOTAutograd that are run as they are."""
    more = [one for one in facts.reasons if one != aot_facts.TAKEN_APART]
    if more or facts.inputs != len(emitted.inputs):
        raise Unstorable(f"AOTAutograd does more than run the graph: {', '.join(more)}")
    if facts.joint:
        function = compilers.autograd_function(facts)
        if function is None:
            raise Unstorable("AOTAutograd does more than run the graph")
        return _trained(to, function, facts)
    # grad mode is off around it, as AOTAutograd has it
    code = _code(to, facts.compiled)
    written = facts.written if isinstance(code, InductorCode) else ()
    return OneGraph(code, written, grad_off=True, parts=_parts(facts))


def _parts(facts: aot_facts.Facts) -> Parts | None:
    """How DTensors are taken apart for a graph and put together after it."""
    if aot_facts.TAKEN_APART not in facts.reasons:
        return None
    try:
        return aot_subclasses.parts_facts(*facts.subclasses)
    except aot_subclasses.NotSimple as error:
        raise Unstorable(str(error)) from error


def _trained(to: Describing, function: Any, facts: aot_facts.Facts) -> TwoGraphs:
    """Both graphs of an autograd function, and what is done around them."""
    backward = aot_training.backward_of(function)
    if backward is None:
        raise Unstorable("the backward graph is compiled when it is needed")
    try:
        around = aot_training.training_facts(function)
    except aot_subclasses.NotSimple as error:
        raise Unstorable(str(error)) from error
    return TwoGraphs(
        _code(to, function.compiled_fw),
        _code(to, backward),
        around,
        facts.detached,
        facts.written,
        _parts(facts),
    )


def _code(to: Describing, compiled: Any) -> Code:
    """One of the two: a list of inputs in, a list of outputs out."""
    graph = aot_training.graph_of(compiled)
    if graph is not None:
        return _fx(to, graph)
    call = compilers.inductor_call(compiled)
    if call is None:
        raise Unstorable("what the backend gave has no form that can be kept")
    return _inductor(to, call)


def _fx(to: Describing, module: Any) -> FxCode:
    """The source that torch.fx writes for a graph, and the objects it names."""
    held, meshes = {}, {}
    for node in module.graph.nodes:
        constant = getattr(module, node.target, None) if node.op == "get_attr" else None
        if constant is not None and isinstance(constant, torch.Tensor):
            held[node.target] = encode_tensor(constant)
        elif (mesh := dtensor_parts.mesh_held(constant)) is not None:
            meshes[node.target] = to.mesh(mesh)
        elif node.op in ("get_attr", "call_module"):
            raise Unstorable("the graph has graphs inside")
    written = module.graph.python_code("self")
    used = names_in(compile(written.src, "<graph>", "exec", dont_inherit=True))
    names = {n: to.graph_global(value) for n, value in written.globals.items() if n in used}
    return FxCode(written.src, names, held, meshes)


def _inductor(to: Describing, call: Callable[..., Any]) -> InductorCode:
    made = describe_code(call)
    extern = {}
    for name, operation in made.extern.items():
        if name not in REMADE and type(operation) is not types.BuiltinFunctionType:
            raise Unstorable(f"the graph calls {name} of Inductor")
        extern[name] = to.ref(REMADE.get(name, operation))
    to.blobs |= {blob_name(data): data for data, _ in made.kernels.values()}
    launches: dict[str, Any] = {}
    for name, kernel in made.launched.items():
        if not _add_launch(to.blobs, launches, name, kernel):
            to.later.append(functools.partial(_add_launch, to.blobs, launches, name, kernel))
    return InductorCode(
        made.code,
        {name: (blob_name(data), part) for name, (data, part) in made.kernels.items()},
        launches,
        made.checked,
        made.written,
        extern,
        made.operations,
        made.constants,
        {name: to.mesh(mesh) for name, mesh in made.meshes.items()},
    )


def _add_launch(blobs: dict[str, bytes], launches: dict[str, Any], name: str, kernel: Any) -> bool:
    """Describe the launch of a kernel; False if it is not known yet how it is launched."""
    try:
        launch = triton_kernels.launch_of(kernel)
    except triton_kernels.NotStatic as error:
        raise Unstorable(str(error)) from error
    if launch is None:
        return False
    blob = blob_name(launch.binary, BINARY)
    blobs[blob] = launch.binary
    facts = {"name": launch.name, "code": launch.code, "shared": launch.shared}
    launches[name] = {**facts, "device": launch.device, "blob": blob}
    return True


def names_in(code: types.CodeType) -> set[str]:
    """The globals that a code object and those inside it name."""
    inner = (names_in(one) for one in code.co_consts if type(one) is types.CodeType)
    return set(code.co_names).union(*inner)
