"""Control flow of canonical instructions: stack depths, exceptions being handled, loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .canonical import CANONICAL
from .decoder import DecodeError
from .instructions import Instruction


class Handling:
    """An exception that is being handled: where it and the one before it are on the stack.

    previous  position of the exception that POP_EXCEPT will put back
    current   position of the exception itself, or None: the body of an ``except`` has popped it
    """

    __slots__ = ("current", "previous")

    def __init__(self, previous: int, current: int | None) -> None:
        self.previous = previous
        self.current = current

    def __repr__(self) -> str:
        return f"Handling(previous={self.previous}, current={self.current})"


def successors(inst: Instruction) -> Iterator[int]:
    """The indices at which execution can continue after ``inst`` when it does not raise."""
    effect = CANONICAL[inst.op]
    if effect.falls:
        yield inst.index + 1
    if effect.jumps and inst.target is not None:
        yield inst.target


def only_raises(instructions: Sequence[Instruction], index: int) -> bool:
    """Whether every way on from ``index`` ends in a ``raise``, without a loop and before long."""
    work, seen = [index], set()
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        if len(seen) > _LONGEST_RAISE:
            return False
        inst = instructions[at]
        if inst.op == "RAISE_VARARGS":
            continue
        onward = list(successors(inst))
        if not onward or any(n <= at for n in onward):
            return False
        work += onward
    return True


_LONGEST_RAISE = 200


def stack_depths(instructions: Sequence[Instruction]) -> list[int | None]:
    """The depth of the value stack on entry of each instruction, None where it is not reachable.

    Exceptions reach the handler of an instruction whether or not it can raise.
    """
    depths: list[int | None] = [None] * len(instructions)
    work = [(0, 0)] if instructions else []
    while work:
        index, depth = work.pop()
        while True:
            known = depths[index]
            if known is not None:
                if known != depth:
                    raise DecodeError(f"stack depth {known} or {depth} at {instructions[index]}")
                break
            depths[index] = depth
            inst = instructions[index]
            handler = inst.handler
            if handler is not None and depths[handler.target] is None:
                work.append((handler.target, handler.depth + handler.lasti + 1))
            effect = CANONICAL[inst.op]
            if effect.jumps and inst.target is not None:
                pops, pushes = effect.counts_taken(inst)
                work.append((inst.target, depth - pops + pushes))
            if not effect.falls:
                break
            pops, pushes = effect.counts(inst)
            if pops > depth:
                raise DecodeError(f"stack underflow at {inst}")
            depth += pushes - pops
            index += 1
    return depths


# On the abstract stack of `handlings`: an ordinary value, or (region, whether it is the exception
# itself) where a region is the index of the PUSH_EXC_INFO that began it.
_Tag = tuple[int, bool] | None
_State = tuple[tuple[_Tag, ...], tuple[int, ...]]


def handlings(instructions: Sequence[Instruction]) -> list[tuple[Handling, ...]]:
    """The exceptions being handled on entry of each instruction, outermost first.

    A handler is entered as an instruction that can raise leaves the stack; where it covers none
    such, as any of those it covers does.
    """
    if not any(inst.op == "PUSH_EXC_INFO" for inst in instructions):
        return [()] * len(instructions)
    states: list[_State | None] = [None] * len(instructions)
    work: list[tuple[int, _State]] = [(0, ((), ()))]
    unlikely: list[tuple[int, _State]] = []
    while work or unlikely:
        index, state = work.pop() if work else unlikely.pop()
        if states[index] is not None:
            continue
        states[index] = state
        inst = instructions[index]
        stack, regions = state
        effect = CANONICAL[inst.op]
        if (handler := inst.handler) is not None:
            cut = stack[: handler.depth]
            open_ = tuple(region for region in regions if (region, False) in cut)
            entered = (cut + (None,) * (handler.lasti + 1), open_)
            (work if effect.raises else unlikely).append((handler.target, entered))
        if effect.jumps and inst.target is not None:
            pops, pushes = effect.counts_taken(inst)
            kept = stack[: len(stack) - pops]
            work.append((inst.target, (kept + (None,) * pushes, regions)))
        if effect.falls:
            work.append((index + 1, _step(inst, stack, regions)))
    return [_positions(state) for state in states]


def _step(inst: Instruction, stack: tuple[_Tag, ...], regions: tuple[int, ...]) -> _State:
    """The tags after an instruction that falls through."""
    pops, pushes = CANONICAL[inst.op].counts(inst)
    kept = stack[: len(stack) - pops]
    match inst.op:
        case "PUSH_EXC_INFO":
            return (*kept, (inst.index, False), (inst.index, True)), (*regions, inst.index)
        case "POP_EXCEPT":
            return kept, regions[:-1]
        case "COPY":
            return (*stack, stack[-inst.arg]), regions
        case "SWAP" if inst.arg > 1:
            return (*kept, stack[-1], *stack[1 - inst.arg : -1], stack[-inst.arg]), regions
        case _:
            return kept + (None,) * pushes, regions


def _positions(state: _State | None) -> tuple[Handling, ...]:
    if state is None:
        return ()
    stack, regions = state
    found = []
    for region in regions:
        current = (region, True)
        found.append(
            Handling(
                stack.index((region, False)), stack.index(current) if current in stack else None
            )
        )
    return tuple(found)


def loops(instructions: Sequence[Instruction]) -> list[bool]:
    """Which instructions can be reached again from themselves.

    Exceptions count as flow (``except: continue`` closes a loop); the loop in which an await or a
    ``yield from`` waits does not: its turns are suspensions, not repetitions.
    """
    edges: list[list[int]] = []
    for inst in instructions:
        out = list(successors(inst))
        if inst.op == "JUMP" and instructions[out[0]].op == "SEND":
            out.clear()
        if inst.handler is not None:
            out.append(inst.handler.target)
        edges.append(out)
    looping = [False] * len(edges)
    for component in _components(edges):
        if len(component) > 1 or component[0] in edges[component[0]]:
            for index in component:
                looping[index] = True
    return looping


def _components(edges: list[list[int]]) -> Iterator[list[int]]:
    """Strongly connected components of what is reachable from 0 (Tarjan, without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    is_open: set[int] = set()
    work: list[tuple[int, Iterator[int]]] = []

    def visit(node: int) -> None:
        order[node] = low[node] = len(order)
        open_.append(node)
        is_open.add(node)
        work.append((node, iter(edges[node])))

    if edges:
        visit(0)
    while work:
        node, rest = work[-1]
        for following in rest:
            if following not in order:
                visit(following)
                break
            if following in is_open:
                low[node] = min(low[node], order[following])
        else:
            work.pop()
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[node])
            if low[node] == order[node]:
                start = open_.index(node)
                component = open_[start:]
                del open_[start:]
                is_open.difference_update(component)
                yield component
