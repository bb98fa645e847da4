"""What crosses between a DTensor and its local part, or moves it over its mesh, as a node."""

from __future__ import annotations

from typing import Any


class Crossing:
    """Calls a function of DTensor with all but the tensor known."""

    def __init__(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        self.fn = fn
        self.args = args
        self.kwargs = kwargs
        self.__name__ = self.__qualname__ = f"dtensor_{fn.__name__}"
        self.__module__ = __name__

    def __call__(self, tensor: Any) -> Any:
        return self.fn(tensor, *self.args, **self.kwargs)

    def parts(self) -> tuple[Any, ...]:
        """What it is made of, from which `remade` makes it in another process."""
        return self.fn, self.args, self.kwargs

    @classmethod
    def remade(cls, *parts: Any) -> Crossing:
        """The same from its parts."""
        return cls(*parts)
