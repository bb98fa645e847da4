"""Nodes, fake results, inputs and outputs of one graph."""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from suture import config
from suture.compiler.graph.asserts import bind_unbacked
from suture.compiler.graph.compiling import state_for
from suture.compiler.graph.derivatives import Derivatives
from suture.compiler.graph.fake_copies import Alike
from suture.compiler.graph.fake_inputs import fake_input
from suture.compiler.graph.fake_values import is_quantized, value_of
from suture.compiler.graph.known_numbers import known_above, watched_mode
from suture.compiler.graph.names import valid_name
from suture.compiler.graph.results import Calls
from suture.compiler.graph.spans import Span
from suture.compiler.graph.subgraphs import Levels
from suture.op_effects import any_writes, effects_of
from suture.runtime.callers import Around, Caller
from suture.runtime.modes import around
from suture.runtime.sources import Source
from suture.torch_private import (
    MissingName,
    fake_tensors,
    graph_modules,
    symbolic_shapes,
    tensor_parts,
    thread_state,
)
from suture.torch_private.tensor_parts import version_of


class OpFailed(Exception):
    """An operation that fake tensors could not run. `reason` is one of "data", "shape",
    "kernel", "decision", "error"; `cause` the exception torch raised."""

    def __init__(self, reason: str, cause: BaseException) -> None:
        super().__init__(f"{reason}: {cause}")
        self.reason = reason
        self.cause = cause


@dataclass(slots=True, eq=False)
class GraphInput:
    """One placeholder: the real value seen while tracing and where it is read at a call."""

    node: torch.fx.Node
    example: Any
    source: Source | None
    static: bool  # parameters and buffers reached through pinned objects: kept, not re-read
    convert: Callable[[Any], Any] | None = None  # what the variant does to the value first
    owner: Source | None = None  # the argument of whose modules it is a parameter or a buffer
    made: bool = False  # by the variant, for this call
    text: str = ""  # how a variant spells it, if it is not read at the source but computed
    kept: bool = False  # though no node uses it
    as_it_came: Any = None  # a fake tensor like it, if the graph gives it another shape

    def for_backend(self) -> Any:
        """The example that a backend gets: of a wrapper subclass the fake one, whose inner tensors
        have the symbols of this trace."""
        if self.as_it_came is not None:
            return self.as_it_came
        fake = self.node.meta["val"]
        return (
            fake if self.kept or tensor_parts.is_traceable_wrapper_subclass(fake) else self.example
        )

    def rank(self) -> int:
        """The order of inputs: those that stay, those that belong to an argument, the others."""
        return 0 if self.static else 2 if self.owner is None or self.convert is not None else 1


class Decisions(list[Any]):
    """The shape guards torch collects, each with the user's line that asked for it."""

    def __init__(self) -> None:
        super().__init__()
        self.where: Callable[[], Any] = lambda: None
        self.lines: dict[int, Any] = {}

    def append(self, guard: Any) -> None:
        self.lines[len(self)] = self.where()
        super().append(guard)


class GraphBuilder:
    """Builds one torch.fx graph. `ops` counts its operations, `fake` is its fake tensor mode."""

    def __init__(self, without_data: bool = False) -> None:
        self.graph = torch.fx.Graph(tracer_cls=None)
        self.decisions = Decisions()
        self.origins: dict[Any, tuple[str, Any]] = {}  # of numbers from data: name, (file, line)
        self.shape_env = symbolic_shapes.ShapeEnv(
            allow_scalar_outputs=True,
            allow_dynamic_output_shape_ops=config.capture_dynamic_output_shape_ops
            and not without_data,
            duck_shape=config.duck_sizes,
        )
        self.shape_env.guards = self.decisions
        # `decisions` know the user's line; to find it torch imports torch.export and AOTAutograd.
        self.shape_env._get_user_frame = sys._getframe
        symbolic_shapes.tell_lines(self.shape_env, lambda: self.decisions.where())
        self.fake = watched_mode(
            shape_env=self.shape_env, allow_non_fake_inputs=False, export=False
        )
        self.calls = Calls()
        self.alike = Alike()
        self.inputs: list[GraphInput] = []
        self.known: dict[torch.fx.Node, Any] = {}  # inputs whose number may decide something
        self.decided: Callable[[list[Any]], None] = lambda inputs: None
        self.attributes: dict[str, Any] = {}
        self.equals: dict[Any, Any] = {}  # symbol -> the number it stands for
        self.computed: dict[Any, Any] = {}  # symbol -> function and numbers it is computed from
        self.numbers: set[torch.fx.Node] = set()  # tensors that stand for Python's floats
        self.truths: list[Any] = []  # function, numbers, what it said of them
        self.decides_floats = False  # whether something was decided by a float that may change
        self.levels = Levels(self.graph, self.attributes)
        self.derivatives = Derivatives()
        self.fused: set[Any] = set()  # positions of calls that not every backend has a kernel for
        self.resets: dict[Any, tuple[Any, ...]] = {}  # (setter, which) -> state of a mode before
        self.inference = torch.is_inference_mode_enabled()
        self.ops = 0
        self.caught = False  # whether the program handles what one of them raises
        # whether nodes run with a `__torch_function__` that was not traced
        self.calls_torch_function = False
        self.torch_function_off = False  # whether the graph runs without `__torch_function__`
        self.stack: Callable[[], str | None] = lambda: None
        self.span: Callable[[], Span | None] = lambda: None  # the call that is under way
        self.spans: dict[torch.fx.Node, Span] = {}  # by which call a node was made
        self._names: set[str] = set()

    # ---- inputs

    def add_input(
        self,
        source: Source,
        example: Any,
        value: Any,
        static: bool = False,
        convert: Callable[[Any], Any] | None = None,
        owner: Source | None = None,
        kept: bool = False,
    ) -> torch.fx.Node:
        """A placeholder for the value read at `source`; `value` is its fake counterpart."""
        name = self.unique_name(valid_name(source.path()))
        at = self.inputs[-1].node if self.inputs else None
        with self.graph.inserting_after(at) if at is not None else self._at_start():
            # the name is one that torch.fx makes of itself
            node = self.graph.create_node(
                "placeholder", name, (), {}, name, type_expr=type(example)
            )
        node.meta["example_value"] = value
        node.meta["val"] = value
        if isinstance(value, torch.Tensor):
            value.version_at_start = version_of(value)  # type: ignore[attr-defined]
            self.derivatives.note_input(value)
        entry = GraphInput(node, example, source, static, convert, owner, kept=kept)
        self.inputs.append(entry)
        return node

    def _at_start(self) -> Any:
        return self.graph.inserting_before(next(iter(self.graph.nodes), None))

    def fake_tensor(self, tensor: torch.Tensor, source: Source, dims: Any) -> torch.Tensor:
        """The fake counterpart of an input; `dims` says which sizes are symbolic (or None)."""
        fresh = self.shape_env.pending_fresh_unbacked_symbols
        fake: torch.Tensor
        known, before = len(fresh), torch.is_inference_mode_enabled() is self.inference
        # if the mode was switched since, the tensor was there before
        with _NOTHING if before else torch.inference_mode(self.inference):
            fake = fake_input(self.fake, tensor, source.path(), dims, self.equals, self.alike)
        del fresh[known:]  # sizes that the program marks as unbacked come from no operation
        return fake

    # ---- operations

    def call(
        self, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[torch.fx.Node, Any]:
        """Add `target(*args, **kwargs)` (arguments are nodes and plain values) and run it on
        fake tensors. Gives the node and its fake result. On failure nothing was added."""
        value = self.run_fake(op, target, args, kwargs)
        if self.fake.read:
            self.fake.read = False
            above: list[torch.fx.Node] = []
            torch.fx.map_arg((args, kwargs), above.append)
            self.decide(above)
        if is_quantized(value):
            raise OpFailed("error", TypeError("fake tensors cannot be quantized"))
        return self.node(op, target, args, kwargs, value), value

    def decide(self, nodes: list[torch.fx.Node]) -> None:
        """Something is decided by a number that these nodes hold: tell what it comes from."""
        self.decided(known_above(nodes, self.known))

    def node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        value: Any,
        *,
        outermost: bool = False,
        counted: bool = True,
    ) -> torch.fx.Node:
        """Not `counted`: it only reads a part of a value, which is no operation."""
        graph = self.graph
        if len(self.levels.stack) > 1 and not (
            outermost or self.levels.belongs_outside(op, target, args, kwargs, value)
        ):
            graph = self.levels.top.graph
            args, kwargs = torch.fx.map_arg((args, kwargs), self.levels.lift)
        name = graph_modules.name_for(graph, target)
        node = graph_modules.call_node(graph, op, target, tuple(args), dict(kwargs), name)
        meta = node.meta
        meta["example_value"] = value
        meta["val"] = value
        if self.shape_env.pending_fresh_unbacked_symbols:
            for symbol in bind_unbacked(self.shape_env, node, value):
                self.origins[symbol] = (node.name, self.decisions.where())
        trace = self.stack()
        if trace is not None:
            meta["stack_trace"] = trace
        span = self.span()
        if span is not None and graph is self.graph:
            self.spans[node] = span
        self.ops += counted
        return node

    def run_fake(self, op: str, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of an operation on the fake values of its arguments."""
        real_args = tuple([value_of(one) for one in args])
        real_kwargs = {name: value_of(one) for name, one in kwargs.items()} if kwargs else {}
        return self.execute(op, target, real_args, real_kwargs)

    def execute(self, op: str, target: Any, args: Any, kwargs: Any) -> Any:
        if self.calls_torch_function:
            return self._attempt(op, target, args, kwargs)
        key = self.calls.call_key(op, target, args, kwargs)
        if key is None:
            return self._attempt(op, target, args, kwargs)
        value = self.calls.find(self.fake, key)
        if value is None:
            self.fake.only_computed = None
            value = self._attempt(op, target, args, kwargs)
            if self.fake.only_computed:
                self.calls.remember(key, (args, kwargs), value)
        return value

    def _attempt(self, op: str, target: Any, args: Any, kwargs: Any) -> Any:
        pending = len(self.shape_env.pending_fresh_unbacked_symbols)
        # Kernels that know only plain ints have a form in Python for symbolic ones.
        in_python = bool(self.shape_env.var_to_range)
        while True:
            try:
                return self._execute(op, target, args, kwargs, in_python)
            except OpFailed as failed:
                # numbers from data that the operation had begun to make belong to no node
                del self.shape_env.pending_fresh_unbacked_symbols[pending:]
                if failed.reason != "data" or in_python:
                    raise
            in_python = True  # that form may do without data that the kernel checks

    def _execute(self, op: str, target: Any, args: Any, kwargs: Any, in_python: bool) -> Any:
        try:
            with self.fake, self._torch_function_context():
                if not in_python:
                    return self._call_fake(op, target, args, kwargs)
                with fake_tensors.enable_python_dispatcher():
                    return self._call_fake(op, target, args, kwargs)
        except fake_tensors.DataDependentOutputException as error:
            raise OpFailed("data", error) from error
        except fake_tensors.DynamicOutputShapeException as error:
            raise OpFailed("shape", error) from error
        except symbolic_shapes.GuardOnDataDependentSymNode as error:
            raise OpFailed("decision", error) from error
        except fake_tensors.UnsupportedOperatorException as error:
            raise OpFailed("kernel", error) from error
        except (KeyboardInterrupt, SystemExit, MissingName):
            raise
        except BaseException as error:
            raise OpFailed("error", error) from error

    def _torch_function_context(self) -> Any:
        calls = self.calls_torch_function and not self.torch_function_off
        return tensor_parts.EnableTorchFunction() if calls else _NOTHING

    def _call_fake(self, op: str, target: Any, args: Any, kwargs: Any) -> Any:
        if op == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        if op == "call_module":
            return self.levels.top.attributes[target](*args, **kwargs)
        return target(*args, **kwargs)

    def run_operator(self, target: Any, args: Any) -> Any:
        """The fake result of an operator that takes functions: those are looked up by the exact
        type of the mode."""
        kind, self.fake.__class__ = type(self.fake), fake_tensors.FakeTensorMode
        try:
            return self.run_fake("call_function", target, args, {})
        finally:
            self.fake.__class__ = kind

    def attribute(self, value: Any, hint: str) -> torch.fx.Node:
        """A constant held by the graph module itself (get_attr node)."""
        name = next((n for n, held in self.attributes.items() if held is value), "")
        if not name:
            name = self.unique_name(valid_name(hint))
            self.attributes[name] = value
        with self.after_inputs():
            node = self.graph.get_attr(name)
        node.meta["example_value"] = value
        node.meta["val"] = value
        return node

    def hold(self, module: Any, hint: str) -> str:
        """Keep a module in the innermost graph; gives its name there."""
        name = self.unique_name(valid_name(hint))
        self.levels.top.attributes[name] = module
        return name

    def held_module(self, module: Any, hint: str) -> torch.fx.Node:
        """A node that reads a module kept in the innermost graph."""
        node = self.levels.top.graph.get_attr(self.hold(module, hint))
        node.meta["example_value"] = module
        return node

    def held_body(self, module: Any, name: str) -> torch.fx.Node:
        """The same for the body of an operator: the first is `name_0`, as passes over graphs that
        look for bodies by their names expect."""
        number = next(n for n in itertools.count() if f"{name}_{n}" not in self._names)
        return self.held_module(module, f"{name}_{number}")

    def after_inputs(self) -> Any:
        """Nodes that are made inside of this come behind the inputs that there are."""
        if self.inputs:
            return self.graph.inserting_after(self.inputs[-1].node)
        return self._at_start()

    def getitem(self, node: torch.fx.Node, i: Any, value: Any) -> torch.fx.Node:
        """A node for one element of a node's result."""
        return self.node("call_function", operator.getitem, (node, i), {}, value, counted=False)

    def unique_name(self, name: str) -> str:
        """A name that no node has, and none will get."""
        candidate, n = name, 1
        while candidate in self._names:
            n += 1
            candidate = f"{name}_{n}"
        self._names.add(candidate)
        return candidate

    def writes_inputs(self) -> bool:
        """Whether some operation changed an input in place."""
        values = [entry.node.meta["val"] for entry in self.inputs if not entry.made]
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        if not self.ops or not any(was_written(v) for v in tensors):
            return False
        if any(was_written(v) for v in tensors if not v.is_inference()):
            return True
        return self.writes()

    def must_run(self) -> bool:
        """Whether running the graph does something even if nobody takes its results."""
        return any(effects_of(node).must_run for node in self.graph.nodes)

    def writes(self) -> bool:
        """Whether some operation may change a tensor in place."""
        return any_writes(self.graph.nodes)

    def keeping_modes(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        """The compiled graph; if it raises, the modes it switched are as they were before."""
        if not (self.resets or self.torch_function_off):
            return compiled
        resets, off = self.resets_in_order(), self.torch_function_off
        if isinstance(compiled, Caller):
            return Around(compiled, lambda run: around(run, resets, off))
        return around(compiled, resets, off)

    def resets_in_order(self) -> list[tuple[Any, Any]]:
        """(setter, state) to put the modes back, the last switched first; grad mode, which others
        switch along, comes last."""
        resets = [(setter, before) for (setter, _), before in reversed(self.resets.items())]
        return sorted(resets, key=lambda one: one[0] is thread_state.set_grad_enabled)

    def compiling(self) -> Any:
        """The state of torch in which a backend compiles the graph."""
        return state_for(self.graph, self.torch_function_off)

    # ---- the end

    def finish(self, outputs: list[torch.fx.Node]) -> torch.fx.GraphModule:
        """The graph with these outputs; inputs nobody uses are removed."""
        # the trace is over; operators that take functions are looked up by the mode's exact type
        self.fake.__class__ = fake_tensors.FakeTensorMode
        for setter, before in self.resets_in_order():
            self.graph.call_function(setter, before)
        self.graph.output(tuple(outputs))
        used = []
        for entry in self.inputs:
            if entry.node.users or entry.kept:
                used.append(entry)
            else:
                self.graph.erase_node(entry.node)
        self.inputs = sorted(used, key=GraphInput.rank)
        for entry in reversed(self.inputs):
            first = next(iter(self.graph.nodes))
            if entry.node is not first:
                first.prepend(entry.node)
        root = torch.nn.Module()
        for name, value in self.attributes.items():
            if any(
                n.op in ("get_attr", "call_module") and n.target == name for n in self.graph.nodes
            ):
                setattr(root, name, value)
        return torch.fx.GraphModule(root, self.graph, "Region")


_NOTHING = nullcontext()


def was_written(fake: torch.Tensor) -> bool:
    """Whether the fake tensor of an input may have been changed since it became one."""
    return fake.is_inference() or version_of(fake) != getattr(fake, "version_at_start", 0)
