"""The map: from a state at a point to an installed variant, one call per line."""

from __future__ import annotations

from typing import Any

import torch

from suture import backends, config, errors, guards
from suture.breaks import Break, internal
from suture.capture import Capture, Interpret, Run
from suture.dispatch import Unit, Variant
from suture.emit import emit
from suture.hook import slot_names, where
from suture.tracer import Restart, Tracer


def compile_point(unit: Unit, point: Any, data: Any, state: tuple[Any, ...]) -> Variant | None:
    """Trace, guard, emit, compile and install a variant for this state. None: interpret."""
    capture = trace(unit, data, state)
    emitted = emit(capture, data.chain, name_of(data.chain), unit.point)
    guard_state(capture)
    program = guards.finish(capture.guards)
    install_graph(unit, capture, emitted)
    variant = Variant(emitted.function, emitted.source, capture.guards, program, emitted.module, len(data.variants), capture.exit, capture.graph.ops)
    data.variants.append(variant)
    point.add(variant.function, program)
    return variant


def trace(unit: Unit, data: Any, state: tuple[Any, ...]) -> Capture:
    """Run the region symbolically; again from its start if it must stop earlier than it did."""
    forced = None
    while True:
        tracer = Tracer(data.chain, state, data.history, forced)
        try:
            return tracer.run()
        except Restart as restart:
            forced = (restart.step, restart.exit)
        finally:
            for restore in reversed(tracer.restores):
                restore()


def name_of(chain: Any) -> str:
    name, _, line = where(chain)
    plain = name.rpartition(".")[2].strip("<>")
    return plain if chain[0].index == 0 and len(chain) == 1 else f"{plain}_at_{line}"


def guard_state(capture: Capture) -> None:
    """Guard torch's global state, which every operation depends on."""
    for reader in (
        torch.is_grad_enabled,
        torch.is_inference_mode_enabled,
        torch._C._is_any_autocast_enabled,
        torch.get_default_dtype,
        torch._C._len_torch_function_stack,
        torch._C._len_torch_dispatch_stack,
        torch._C._get_deterministic_algorithms,
    ):
        capture.guards.add(None, "torch_state", (reader, reader(), reader.__name__))


def install_graph(unit: Unit, capture: Capture, emitted: Any) -> None:
    """Hand the graph to the backend."""
    if emitted.module is None:
        return
    inputs = [i.example for i in emitted.inputs]
    compiled = backends.compile_graph(
        unit.options.backend, emitted.module, inputs, fake_mode=capture.graph.fake,
    )
    emitted.namespace["graph"] = compiled


__all__ = ["Break", "Interpret", "Run", "compile_point", "config", "errors", "internal", "slot_names"]
