"""Ranks that decide together: whether a call compiles, and what is a symbol in it.

Two ranks with other data may find other guards failing. With `config.agree_across_ranks` every
rank tells, at each point, whether a variant fits, and why none does; if one of them compiles, all
do, and each knows the sizes that the others saw, so that what differs between ranks is a symbol on
all. The words go through the store of the process group, not through the group itself: a rank that
is elsewhere, or gone, is named after `config.agree_timeout` seconds, where a collective would wait.

Every rank writes one word per step. Rank 0 reads them and writes one answer, which all read: two
messages per rank and step. The answer has each word that differs once: where all ranks say the
same, it is as long for a thousand of them as for two. When the words of a step are all there,
everybody has read the answer of the step before, and rank 0 deletes it.

With a cache (`config.cache_dir`) rank 0 compiles first. The others wait for that, find what it has
kept, and compile only what is not kept or does not fit them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch

from suture import _core, config, errors
from suture.runtime.chain import slot_names
from suture.torch_private import distributed_parts

_GRACE = 5  # seconds for rank 0's answer to arrive after its own time is up
HIT, MISS, MADE, TURN = "hit", "miss", "made", "turn"


class Agreement:
    """The steps of this process in one process group."""

    def __init__(self, group: Any, rank: int, world: int, store: Any) -> None:
        self.group = group  # a weak reference
        self.rank = rank
        self.world = world
        self.store = store
        self.steps = 0
        self.messages = 0
        self.last: list[dict[str, Any] | None] = [None] * self.world
        self.decided: tuple[Any, list[dict[str, Any]]] | None = None

    def exchange(self, word: dict[str, Any]) -> list[dict[str, Any]]:
        """What all ranks say in this step, by rank. Raises RanksDiffer on all of them where one
        says nothing in time, or where they are not at one point or made something else."""
        step, self.steps = self.steps, self.steps + 1
        try:
            self._set(f"{step}/{self.rank}", word)
            if self.rank == 0:
                self._answer(step)
            limit = config.agree_timeout + (0 if self.rank == 0 else _GRACE)
            if not self._wait([f"{step}/all"], limit):
                raise errors.RanksDiffer(f"rank 0 gave no answer within {limit} s{_at(word)}")
            self.messages += 1
            answer = json.loads(self.store.get(f"{_PREFIX}/{step}/all"))
            words = _unpacked(answer) if "words" in answer else []
            wrong = answer.get("missing") or _differ(words)
            if wrong:
                self._read_by_all(step, answer.get("absent", ()))
        except torch.distributed.DistError as error:
            text = f"the store of the process group is gone, and rank 0 with it{_at(word)}: {error}"
            raise errors.RanksDiffer(text) from error
        if wrong:
            raise errors.RanksDiffer(wrong)
        self.last = [*words]
        return words

    def _read_by_all(self, step: int, absent: Sequence[int]) -> None:
        """Before an error: rank 0, whose store it is, may end by it, so it lets the others read."""
        if self.rank:
            self._set(f"{step}/read {self.rank}", True)
        else:
            others = [r for r in range(1, self.world) if r not in absent]
            self._wait([f"{step}/read {rank}" for rank in others], _GRACE)

    def _answer(self, step: int) -> None:
        """Rank 0: collect the words, or say who is missing."""
        keys = [f"{step}/{rank}" for rank in range(self.world)]
        if self._wait(keys, config.agree_timeout):
            given = self.store.multi_get([f"{_PREFIX}/{key}" for key in keys])
            self._set(f"{step}/all", _packed([text.decode() for text in given], self.world))
        else:
            absent = [
                r for r in range(self.world) if not self.store.check([f"{_PREFIX}/{keys[r]}"])
            ]
            here = [r for r in range(self.world) if r not in absent]
            waiting = {r: json.loads(self.store.get(f"{_PREFIX}/{keys[r]}")) for r in here}
            text = self._missing(absent, waiting)
            self._set(f"{step}/all", {"missing": text, "absent": absent})
        for key in (*(f"{step - 1}/{rank}" for rank in range(self.world)), f"{step - 1}/all"):
            if step:
                self.store.delete_key(f"{_PREFIX}/{key}")

    def _missing(self, absent: list[int], words: dict[int, Any]) -> str:
        lines = [f"{_ranks(absent)} did not come within {config.agree_timeout} s"]
        lines += [f"  rank {rank} waits{_at(word)}" for rank, word in words.items()]
        lines += [
            f"  rank {rank} was last seen{_at(last)}"
            for rank in absent
            if (last := self.last[rank]) is not None
        ]
        return "\n".join(lines)

    def _set(self, key: str, value: Any) -> None:
        self.messages += 1
        self.store.set(f"{_PREFIX}/{key}", json.dumps(value))

    def _wait(self, keys: list[str], seconds: int) -> bool:
        try:
            self.store.wait([f"{_PREFIX}/{key}" for key in keys], timedelta(seconds=seconds))
        except torch.distributed.DistNetworkError:
            raise
        except (torch.distributed.DistStoreError, RuntimeError):
            return False
        return True


_PREFIX = "suture/agree"
_current: list[Agreement | None] = [None]


def wanted() -> Agreement | None:
    """The agreement of this process's group, if ranks are to agree; None if not. Looked at by each
    miss: the option counts from the next one on."""
    on = config.agree_across_ranks or distributed_parts.guard_collectives_on()
    group = distributed_parts.groups_made() if on else None
    if group is None:
        if _current[0] is not None:
            _core.set_choice_callback(None)
            _current[0] = None
        return None
    if _current[0] is None or _current[0].group != group:
        rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
        _current[0] = Agreement(group, rank, world, distributed_parts.default_store())
        _core.set_choice_callback(_may_run)
    return _current[0]


def _may_run(point: _core.Point, state: tuple[Any, ...]) -> bool:
    """Whether the variant that fits here is run: not if another rank compiles."""
    agreement = wanted()
    if agreement is None:
        return True
    words = agreement.exchange({"at": point.name, "does": HIT})
    if all(word["does"] != MISS for word in words):
        return True
    agreement.decided = (point, words)
    return False


def missed(
    unit: Any, point: _core.Point, data: Any, state: tuple[Any, ...]
) -> list[dict[str, Any]] | None:
    """A point has no variant that fits, or was told so: what all ranks say. None: ranks do not
    have to agree."""
    agreement = wanted()
    if agreement is None:
        return None
    word = {"at": point.name, "does": MISS, **_told(unit, data, state)}
    if agreement.decided is not None and agreement.decided[0] is point:
        words, agreement.decided = agreement.decided[1], None
    else:
        words = agreement.exchange(word)
    if all(one["does"] != HIT for one in words):
        return words
    # A rank that had a variant has not told its sizes yet: all tell once more.
    return agreement.exchange(word)


def _told(unit: Any, data: Any, state: tuple[Any, ...]) -> dict[str, Any]:
    """What other ranks want to know of a miss: the guard that fails, sizes and numbers."""
    given = {f"L[{name!r}]": value for name, value in zip(slot_names(data.chain), state)}
    tensors = {path: value for path, value in given.items() if type(value) is torch.Tensor}
    return {
        "why": _reason(unit, data, state),
        "sizes": {path: list(map(int, tensor.shape)) for path, tensor in tensors.items()},
        "numbers": {path: value for path, value in given.items() if type(value) in (int, float)},
    }


def _reason(unit: Any, data: Any, state: tuple[Any, ...]) -> str:
    """The guard that fails here; nothing where a variant fits, or where there is none."""
    if not data.variants or any(variant.program.check(*state) for variant in data.variants):
        return ""
    return str(unit.compiler.explain(data, data.variants[-1], state))


def together(
    unit: Any, point: _core.Point, data: Any, state: tuple[Any, ...], heard: list[dict[str, Any]]
) -> Any:
    """A miss that all ranks take part in: they compile with what all of them have seen, and each
    learns if another one fails or makes something else."""
    for word in heard:
        unit.compiler.learn_from_rank(unit, data, word["sizes"], word["numbers"])
    others = {f"rank {rank}: {word['why']}" for rank, word in enumerate(heard) if word["why"]}
    data.elsewhere = "; ".join(sorted(others))
    known = len(data.variants)
    try:
        function = _in_turn(unit, point, data, state)
    except BaseException as error:
        with contextlib.suppress(errors.RanksDiffer):  # for the others: here the cause is known
            compiled(point, f"{type(error).__name__}: {error}")
        raise
    made = data.variants[-1] if len(data.variants) > known else None
    compiled(point, "nothing" if made is None else f"{made.ops} operations, then {made.exit}")
    return function


def _in_turn(unit: Any, point: _core.Point, data: Any, state: tuple[Any, ...]) -> Any:
    """What runs here; with a cache rank 0 is the first to look for it."""
    agreement = _current[0]
    if agreement is None or not config.cache_dir:
        return unit.answer(point, data, state)
    turn = {"at": point.name, "does": TURN}
    if agreement.rank:
        agreement.exchange(turn)
        return unit.answer(point, data, state)
    try:
        return unit.answer(point, data, state)
    finally:
        agreement.exchange(turn)


def compiled(point: _core.Point, made: str) -> None:
    """All ranks have compiled: what each made must be the same."""
    agreement = _current[0]
    if agreement is None:
        return
    agreement.exchange({"at": point.name, "does": MADE, "why": made})


def _differ(words: list[dict[str, Any]]) -> str:
    """What is wrong with the words of a step, or nothing."""
    if len({(word["at"], word["does"] == MADE) for word in words}) > 1:
        lines = [f"  rank {rank} is{_at(word)}" for rank, word in enumerate(words)]
        return "\n".join(["ranks are not at the same point:", *lines])
    if words[0]["does"] == MADE and len({word["why"] for word in words}) > 1:
        lines = [f"  rank {rank}: {word['why']}" for rank, word in enumerate(words)]
        return "\n".join([f"ranks compiled differently at {words[0]['at']}:", *lines])
    return ""


def _packed(texts: list[str], world: int) -> dict[str, Any]:
    """The words of all ranks, each text once; `by` says which is whose, where they are not one."""
    numbers: dict[str, int] = {}
    by = [numbers.setdefault(text, len(numbers)) for text in texts]
    return {
        "words": [json.loads(text) for text in numbers],
        "by": by if len(numbers) > 1 else world,
    }


def _unpacked(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The words by rank; ranks that said the same share one, which nobody changes."""
    words, by = answer["words"], answer["by"]
    return words * by if type(by) is int else [words[number] for number in by]


def _at(word: dict[str, Any]) -> str:
    why = f" ({word['why']})" if word.get("why") else ""
    return f" at {word['at']}{why}"


def _ranks(which: list[int]) -> str:
    return f"rank {which[0]}" if len(which) == 1 else f"ranks {', '.join(map(str, which))}"


def messages() -> int:
    """How many messages this process has sent or read to agree."""
    return _current[0].messages if _current[0] is not None else 0
