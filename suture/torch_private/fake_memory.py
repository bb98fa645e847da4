"""What a fake tensor mode remembers of the tensors that it has made fake ones of: which fake tensor
stands for which, and which of them share memory."""

from __future__ import annotations

from typing import Any

_SEEN = "2.11-2.15"  # of FakeTensorMode.fake_tensor_converter and what is read of it here


def is_unknown(mode: Any, tensor: Any) -> bool:
    """Whether the mode has met neither the tensor nor another one with its memory. False where this
    torch remembers it in another way."""
    try:
        describer = mode.fake_tensor_converter.meta_converter.describer
        return not (
            tensor in describer.lookup_tensor
            or tensor.untyped_storage() in describer.lookup_storage
        )
    except AttributeError:
        return False


def remember(mode: Any, tensor: Any, fake: Any) -> None:
    """Let the mode take `fake` for what it made of `tensor`. For what `is_unknown`."""
    converter = mode.fake_tensor_converter.meta_converter
    describer, memory = converter.describer, tensor.untyped_storage()
    # their numbers, as `get_tensor_id` and `get_storage_id` give them to what they have not met
    describer.lookup_tensor[tensor] = at = describer.next_tensor_id
    describer.lookup_storage[memory] = place = describer.next_storage_id
    describer.next_tensor_id, describer.next_storage_id = at + 1, place + 1
    converter.tensor_memo[at] = fake
    converter.storage_memo[place] = fake.untyped_storage()


def forget(mode: Any) -> None:
    """Drop what the mode knows real tensors by: weak references, with which torch exchanges the
    contents of no tensor (`torch.utils.swap_tensors`, which `Module.to` uses)."""
    converter = getattr(getattr(mode, "fake_tensor_converter", None), "meta_converter", None)
    describer = getattr(converter, "describer", None)
    for name in ("lookup_tensor", "lookup_storage"):
        known = getattr(describer, name, None)
        if known is not None:
            known.clear()


def can_remember(mode: Any) -> bool:
    """Whether this torch has what `remember` writes to."""
    converter = getattr(getattr(mode, "fake_tensor_converter", None), "meta_converter", None)
    describer = getattr(converter, "describer", None)
    names = ("next_tensor_id", "next_storage_id", "lookup_tensor", "lookup_storage")
    return all(hasattr(describer, name) for name in names) and all(
        hasattr(converter, name) for name in ("tensor_memo", "storage_memo")
    )
