"""The short way to a replay does what Inductor's trees would do: both are asked the same, in
random programs, with nodes that stand for recorded graphs. No GPU is needed to decide."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._dynamo.mutation_guard import GenerationTracker
from torch._inductor import compile_fx
from torch._inductor import cudagraph_trees as trees

from suture.torch_private import cuda_graphs

Status, State = trees.CheckInvariantStatus, trees.ExecutionState


def _numbers(inputs: Any) -> list[int]:
    return [int(one) for one in inputs]


class Node(trees.CUDAGraphNode):
    """A recorded graph. It may be replayed for the input it was recorded with, and while what was
    alive then is."""

    def __init__(self, log: list[Any], number: int, given: Any) -> None:
        self.log, self.id, self.given = log, trees.GraphID(number), given
        self.children: Any = defaultdict(list)
        self.dead = False

    def check_invariants(self, inputs: Any) -> Any:
        fits = self.given == int(inputs[0])
        return (Status.SUCCESS if fits else Status.StaticInputIdxMismatch), lambda: "another one"

    def run(self, inputs: Any) -> Any:
        self.log.append(("replayed", self.id.id, _numbers(inputs)))
        inputs.clear()
        self.dead = False
        return [self.id.id]

    def all_outputs_are_dead(self) -> bool:
        return self.dead

    def clear_path_state(self) -> None:
        self.log.append(("left", self.id.id))

    def mismatched_cudagraph_managed_idxs(self, inputs: Any) -> Any:  # 2.15 asks
        return ()


class Warm(trees.CUDAWarmupNode):
    """A graph that ran once as it is."""

    parent: Any = None

    def __init__(self) -> None:
        self.id, self.dead = trees.GraphID(-1), True

    def all_outputs_are_dead(self) -> bool:
        return self.dead


def new_manager(log: list[Any]) -> Any:
    """Torch's manager of trees, but for what needs a GPU: its decisions are its own."""
    manager = object.__new__(trees.CUDAGraphTreeManager)
    numbers = itertools.count()
    state: dict[str, Any] = {
        "graph": object(), "roots": defaultdict(list), "ids_to_funcs": {}, "device_index": 0,
        "ids_to_stack_traces": {}, "id_to_mode": {}, "id_to_compile_id": {},
        "warmed_up_functions": set(), "warned_functions": set(), "warned_mutation": set(),
        "num_rerecord": defaultdict(lambda: defaultdict(int)), "path_state": State.NONE,
        "_current_node": None, "current_gen": -1, "debug_fail_counter": 0, "mode": None,
        "running_forwards_with_pending_backwards": False, "func_counter": itertools.count(),
        "non_cudagraph_managed_mutation_hint": defaultdict(dict), "compile_id": None,
        "has_live_user_visible_output_cloning": False,
    }  # fmt: skip
    vars(manager).update(state)
    if torch.__version__ >= (2, 15):
        manager.skip_cudagraph = defaultdict(dict)

    def record(inputs: Any, function: Any, *_: Any, **__: Any) -> Any:
        node = Node(log, next(numbers), int(inputs[0]))
        above = manager.current_node
        (manager.roots if above is None else above.children)[function].append(node)
        log.append(("recorded", node.id.id, function.id, _numbers(inputs)))
        manager.current_node, manager.path_state = node, State.RECORDING
        manager.update_generation()
        return [node.id.id]

    def warm_up(inputs: Any, function: Any) -> Any:
        manager.warmed_up_functions.add(function)
        log.append(("warmed up", function.id, _numbers(inputs)))
        manager.current_node, manager.path_state = Warm(), State.WARMUP
        manager.update_generation()
        return ["warm"]

    manager.record_function, manager.run_eager = record, warm_up
    manager._clone_current_path_live_user_visible_outputs = lambda: log.append("cloned")
    manager.dealloc_current_path_weakrefs = lambda: log.append("forgotten")
    manager.apply_checkpoint_execution_state_in_allocator = lambda: log.append("checkpoint")
    return manager


INFERENCE = ("inference",) * 3
TRAINING = ("forward", "backward", "inference")


class Side:
    """Three graphs of one manager, of these kinds. `short`: replayed the short way."""

    def __init__(self, patched: Any, short: bool, kinds: tuple[str, ...] = INFERENCE) -> None:
        self.log: list[Any] = []
        self.manager = manager = new_manager(self.log)
        container = SimpleNamespace(
            get_tree_manager=lambda *_: manager, add_strong_reference=lambda fn: None
        )
        patched.setattr(trees, "get_container", lambda index: container)
        self.graphs = []
        for name, kind in zip("abc", kinds):
            run = compile_fx.cudagraphify(
                lambda inputs, name=name: self.log.append(("as it is", name, _numbers(inputs))),
                (),
                device_index=0,
                stack_traces=[],
                is_backward=kind == "backward",
                is_inference=kind == "inference",
            )
            self.graphs.append(cuda_graphs.replaying(run) if short else run)
        for graph in self.graphs:
            graph([torch.tensor(0)])

    def step(self, which: int, given: int, dead: bool, often: bool, skip: bool) -> Any:
        manager = self.manager
        node = manager.current_node
        if node is not None:
            node.dead = dead
        function = trees.FunctionID(which)
        at = None if node is None else node.id
        if often:
            manager.num_rerecord[at][function] = 10**6
        known = getattr(manager, "skip_cudagraph", manager.non_cudagraph_managed_mutation_hint)
        if skip and function in known[at]:
            known[at][function] = True
        try:
            made = self.graphs[which]([torch.tensor(given)])
        except Exception as error:
            made = f"{type(error).__name__}: {error}"
        here = manager.current_node
        where = None if here is None else here.id.id
        pending = manager.running_forwards_with_pending_backwards
        return made, where, manager.path_state, manager.current_gen, manager.mode, pending


@pytest.fixture
def patched(monkeypatch):
    before = GenerationTracker.generation
    # once a program has marked a step, marks count instead
    monkeypatch.setattr(trees.MarkStepBox, "mark_step_counter", 0)
    # dicts by node: kept as they are, and no input is asked for
    monkeypatch.setattr(trees, "check_for_mutation", lambda *_: None)
    if hasattr(trees.CUDAGraphTreeManager, "_update_non_cudagraph_managed_mutation"):
        monkeypatch.setattr(
            trees.CUDAGraphTreeManager, "_update_non_cudagraph_managed_mutation", _not_written
        )
    yield monkeypatch
    GenerationTracker.generation = before


def _not_written(self: Any, function: Any, inputs: Any) -> None:
    known = getattr(self, "skip_cudagraph", self.non_cudagraph_managed_mutation_hint)
    known[self._get_node_id()].setdefault(function, False)


@pytest.mark.parametrize("kinds", [INFERENCE, TRAINING], ids=["inference", "training"])
@pytest.mark.parametrize("seed", range(40))
def test_the_same_is_recorded_replayed_and_left(patched, seed, kinds):
    draw = random.Random(seed)
    plain, short = Side(patched, False, kinds), Side(patched, True, kinds)
    for _ in range(120):
        if draw.random() < 0.4:
            GenerationTracker.generation += 1
        step = (
            draw.choice((0, 0, 1, 2)),
            draw.choice((0, 0, 0, 1)),
            draw.random() < 0.3,
            draw.random() < 0.02,
            draw.random() < 0.02,
        )
        assert short.step(*step) == plain.step(*step)
    assert short.log == plain.log
    assert any(event[0] == "replayed" for event in plain.log)


@pytest.mark.parametrize("kinds", [INFERENCE, TRAINING], ids=["inference", "training"])
def test_the_short_way_is_taken(patched, monkeypatch, kinds):
    """Not the long one: the tree's own way in is not called again."""
    side = Side(patched, True, kinds)
    for _ in range(4):
        GenerationTracker.generation += 1
        for graph in side.graphs[:2]:
            graph([torch.tensor(0)])
    side.log.clear()
    monkeypatch.setattr(trees.CUDAGraphTreeManager, "_run", None)
    for _ in range(3):
        GenerationTracker.generation += 1
        assert [graph([torch.tensor(0)]) for graph in side.graphs[:2]] == [[0], [1]]
    assert [event[0] for event in side.log if event[0] == "replayed"] == ["replayed"] * 6


def test_inputs_that_are_not_aligned_go_the_long_way(patched):
    side = Side(patched, True)
    longest: list[Any] = []
    recorded = cuda_graphs._Recorded(side.manager, trees.FunctionID(0), (0,))
    short = cuda_graphs._short(longest.append, recorded)
    short([torch.zeros(9)[1:]])
    assert len(longest) == 1


def test_what_torch_keeps_otherwise_is_called_as_it_is():
    seen: list[Any] = []
    call = cuda_graphs.replaying(seen.append)
    for i in range(6):
        call([i])
    assert seen == [[i] for i in range(6)]


def test_a_manager_that_was_shut_down_says_so(patched):
    side = Side(patched, True)
    for _ in range(4):
        GenerationTracker.generation += 1
        side.graphs[0]([torch.tensor(0)])
    side.manager.graph = None
    with pytest.raises(AssertionError, match="after shutdown"):
        side.graphs[0]([torch.tensor(0)])
