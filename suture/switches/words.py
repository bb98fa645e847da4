"""Words of torch's compiler that programs say and that mean nothing to suture: each is named once,
with what suture does instead."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger("suture.switches")
_told: set[str] = set()

WORDS = {
    "torch._dynamo.override_cudagraphs": (
        "the backend's mode and options decide, for all graphs of a function"
    ),
    "torch._dynamo.set_recursion_limit": "calls are followed as deep as Python allows",
    "torch._dynamo.allow_c_slot": "Python compares and hashes such objects, with a break",
    "torch._dynamo.bytecode_debugger.debug": "no bytecode is made that it could step through",
    "torch.compiler.nested_compile_region(options=...)": (
        "regions are compiled by the function's own backend, with its own decompositions"
    ),
    "torch.compiler.nested_compile_region(reuse_hash_fn=...)": (
        "regions that compute the same are found by their operations"
    ),
    "torch.compiler.nested_compile_region(max_reuse_entries=...)": (
        "regions that compute the same are compiled once, however many there are"
    ),
    "torch._dynamo.replay": "it replays records of TorchDynamo; `suture minify` takes suture's",
}


def name_word(word: str) -> None:
    """Say once that `word`, one of these, is not done."""
    if word not in _told:
        _told.add(word)
        _log.warning("%s is not done by suture; instead: %s", word, WORDS[word])


def named(word: str) -> Callable[[Any], Any]:
    """What makes a function of torch do as ever, and be named."""

    def make(original: Any) -> Any:
        @functools.wraps(original)
        def telling(*args: Any, **kwargs: Any) -> Any:
            name_word(word)
            return original(*args, **kwargs)

        return telling

    return make


def named_options(original: Any) -> Any:
    """torch.compiler.nested_compile_region, whose options are named."""

    @functools.wraps(original)
    def nested_compile_region(fn: Any = None, **options: Any) -> Any:
        for option in options:
            word = f"torch.compiler.nested_compile_region({option}=...)"
            if word in WORDS:
                name_word(word)
        return original(fn, **options)

    return nested_compile_region
