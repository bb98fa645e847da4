"""torch's modes at the exit of a variant."""

from __future__ import annotations

from typing import Any

from suture.compiler.capture import Capture
from suture.compiler.emit.writer import Writer
from suture.inference_mode import set_inference
from suture.rules.strictness import switch
from suture.torch_private import thread_state


def modes_at_exit(writer: Writer, capture: Capture) -> list[str]:
    """Lines that bring torch's modes to their state at the exit; grad mode, which others
    switch along, comes last."""
    last: dict[Any, Any] = {}
    for setter, args in capture.modes:
        last[(setter, args[:-1])] = args
    out = []
    along = False  # whether grad mode was switched along
    for key, args in sorted(
        last.items(), key=lambda one: one[0][0] is thread_state.set_grad_enabled
    ):
        if args[-1] == capture.graph.resets[key][-1] and not along:
            continue  # as it was before, and the graph leaves it so
        along = along or key[0] is set_inference
        name = writer.constant(key[0], key[0].__name__)
        out.append(f"    {name}({', '.join(_literal(writer, a) for a in args)})")
    strictness = capture.strictness
    if strictness is not None and strictness.now is not strictness.before:
        name = writer.constant(switch, "switch_strictness")
        out.append(f"    {name}({strictness.now})")
    return out + _function_modes(writer, capture)


def _function_modes(writer: Writer, capture: Capture) -> list[str]:
    """Lines that bring the stack of modes of torch functions to its state at the exit."""
    before, now = capture.functions
    same = 0
    while same < min(len(before), len(now)) and before[same] is now[same]:
        same += 1
    pop = writer.constant(thread_state.function_stack_pop, "pop_mode")
    push = writer.constant(thread_state.function_stack_push, "push_mode")
    return [f"    {pop}()"] * (len(before) - same) + [
        f"    {push}({writer.value(mode)})" for mode in now[same:]
    ]


def _literal(writer: Writer, value: object) -> str:
    plain = type(value) in (bool, int, str, type(None))
    return repr(value) if plain else writer.constant(value, "state")
