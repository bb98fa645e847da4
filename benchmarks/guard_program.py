"""Nanoseconds per check of guard programs: one tensor, eight tensors, a 36-layer model.

Run: python benchmarks/guard_program.py. The last lines show what a change of the model costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn

from suture import _core

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))


class Block(nn.Module):
    """One layer of a Llama-like model: 9 parameters, 11 modules."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width)
        self.gate, self.up = (nn.Linear(width, 4 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * width, width, bias=False)


class Model(nn.Module):
    def __init__(self, layers: int = 36, width: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(32, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, 32, bias=False)


def module_node(accessor: str, arg: object, module: nn.Module, *checks: tuple) -> tuple:
    """What a call of the module reads: class, flags, hooks, parameters, buffers, children."""
    own = module.__dict__

    def tensor(key: str, value: torch.Tensor | None) -> tuple:
        check = ("is", None, 0) if value is None else ("tensor", _core.TensorSpec(value), 0)
        return ("item", key, (check,), ())

    def table(name: str, child) -> tuple:
        values = own[name]
        return (
            "item",
            name,
            (("keys", tuple(values), 0),),
            tuple(child(key, value) for key, value in values.items()),
        )

    nodes = [("item", "training", (("is", module.training, 0),), ())]
    nodes += [("item", name, (("len", 0, 0),), ()) for name in HOOKS]
    nodes += [table("_parameters", tensor), table("_buffers", tensor)]
    nodes.append(table("_modules", lambda key, value: module_node("item", key, value)))
    forward = ("mro_attr", "forward", (), ())
    return (
        accessor,
        arg,
        (("type", type(module), 0), *checks),
        (("type", None, (), (forward,)), ("dict", None, (("no_key", "forward", 0),), tuple(nodes))),
    )


def tensors(n: int) -> tuple[list[torch.Tensor], tuple]:
    made = [torch.randn(i + 1, 3) for i in range(n)]
    nodes = tuple(
        ("slot", i, (("tensor", _core.TensorSpec(value), i),), (), i)
        for i, value in enumerate(made)
    )
    return made, nodes


def best(program: object, turns: int, *state: object) -> float:
    """The least of seven averages: the machine may be doing other things."""
    return min(program.time(turns, *state) for _ in range(7))


def once(text: str, call: Callable[[], object]) -> None:
    """Prints what a single call takes."""
    start = time.perf_counter_ns()
    call()
    print(f"  {text:28}{time.perf_counter_ns() - start:10} ns")


def main() -> None:
    _core.configure_tensors((torch.Tensor, nn.Parameter), torch._C.TensorBase)
    made, nodes = tensors(1)
    plain = _core.GuardProgram((nodes[0][:4],))
    print(f"one tensor                    {best(plain, 300_000, *made):10.0f} ns")
    made, nodes = tensors(8)
    values = (3, 2.5, "text", None)
    nodes += tuple(("slot", 8 + i, (("equals", v, i),), ()) for i, v in enumerate(values))
    plain = _core.GuardProgram(tuple(node[:4] for node in nodes))
    state = (*made, *values)
    print(f"8 tensors, 4 values           {best(plain, 100_000, *state):10.0f} ns")
    distinct = _core.GuardProgram(nodes, distinct=((tuple(range(8)), 0),))
    print(f"the same, tensors distinct    {best(distinct, 100_000, *state):10.0f} ns")
    torch_state = _core.GuardProgram(
        (),
        torch_state=(
            (torch.is_grad_enabled, True, 0),
            (torch.get_default_dtype, torch.float32, 1),
            (torch._C._len_torch_function_stack, 0, 2),
            (torch.is_inference_mode_enabled, False, 3),
        ),
    )
    print(f"4 facts of torch's state      {best(torch_state, 100_000):10.0f} ns")

    model = Model()
    program = _core.GuardProgram((module_node("slot", 0, model, ("weak", model, 0)),))
    print("36 layers")
    once("first check, which records", lambda: program.check(model))
    print(f"  each check                  {best(program, 2_000, model):10.0f} ns")
    once("a walk over everything", lambda: program.failing(model))
    model.eval()
    once("after eval(), failing", lambda: program.check(model))
    model.train()
    once("after train(), taken over", lambda: program.check(model))
    model.steps = 1
    once("after one unrelated write", lambda: program.check(model))
    print(
        f"  {sum(1 for _ in model.modules())} modules, {program.tensors} parameters, "
        f"{program.watched} dicts, {program.nodes} nodes"
    )


if __name__ == "__main__":
    main()
