"""The guard on what a wrapper tensor says of itself besides the tensors that it is made of."""

from __future__ import annotations

from typing import Any

from suture.torch_private import dtensor_parts


class SameContext:
    """A predicate for guards: the class says the same of the tensor besides its inner ones. Sizes
    that a DTensor repeats there are compared by the guard on the tensor, if they are constants."""

    __slots__ = ("__name__", "context", "names")

    def __init__(self, names: Any, context: Any) -> None:
        self.names = list(names)
        self.context = context
        self.__name__ = "same_context"

    def __call__(self, tensor: Any) -> bool:
        names, context = tensor.__tensor_flatten__()
        if list(names) != self.names:
            return False
        check = getattr(type(tensor), "__metadata_guard__", None)
        try:
            if check is not None:
                return bool(check(self.context, context))
            if dtensor_parts.is_plain(tensor):
                return dtensor_parts.says_the_same(self.context, context)
            return bool(self.context == context)
        except Exception:  # a context that does not compare, such as one with tensors
            return False
