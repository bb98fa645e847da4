"""The table of backends: names, callables, tags.

A backend is a callable `(GraphModule, example_inputs) -> callable`. What it gives back takes the
graph's inputs as positional arguments and returns the graph's outputs as a tuple or list. Names
that are not in this table are looked up in torch's registry, which also knows the entry points of
other packages; that imports torch._dynamo, so it happens only when it is needed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from suture.errors import InvalidBackend
from suture.torch_private import compilers

CompilerFn = Callable[..., Callable[..., Any]]
_F = TypeVar("_F", bound=CompilerFn)


@dataclass(frozen=True)
class _Entry:
    compiler: CompilerFn
    tags: tuple[str, ...]


_entries: dict[str, _Entry] = {}


@overload
def register_backend(compiler_fn: _F, name: str | None = None, tags: Sequence[str] = ()) -> _F: ...
@overload
def register_backend(
    compiler_fn: str | None = None, name: str | None = None, tags: Sequence[str] = ()
) -> Callable[[_F], _F]: ...
def register_backend(
    compiler_fn: Any = None, name: str | None = None, tags: Sequence[str] = ()
) -> Any:
    """Add a backend, so that `suture.compile(backend="name")` finds it.

    Works as a decorator, bare or with a name, and as a function:

        @register_backend                       @register_backend("mine", tags=("debug",))
        def mine(gm, example_inputs): ...       register_backend(compiler, "mine")

    The name is `compiler_fn.__name__` unless given. Gives the callable back unchanged. A name
    belongs to one backend: ValueError if another one has it (defining the same function again, as
    in a notebook, replaces it).
    """
    if compiler_fn is None or isinstance(compiler_fn, str):
        wanted = compiler_fn if name is None else name

        def decorate(function: _F) -> _F:
            return register_backend(function, wanted, tags)

        return decorate
    if not callable(compiler_fn):
        raise TypeError(f"a backend is a callable, not {type(compiler_fn).__name__}")
    own = name if name is not None else getattr(compiler_fn, "__name__", None)
    if not isinstance(own, str) or not own:
        raise ValueError(f"{compiler_fn!r} has no __name__: give the backend a name")
    taken = _entries.get(own)
    if taken is not None and not _same_definition(taken.compiler, compiler_fn):
        raise ValueError(f"there is a backend named {own!r} already: {taken.compiler!r}")
    _entries[own] = _Entry(compiler_fn, tuple(tags))
    return compiler_fn


def _same_definition(one: Any, other: Any) -> bool:
    """Whether both come from the same line of a program, perhaps run twice."""

    def origin(function: Any) -> tuple[Any, Any]:
        module = getattr(function, "__module__", None)
        return module, getattr(function, "__qualname__", id(function))

    return one is other or origin(one) == origin(other)


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names `compile` takes, sorted, without those that have one of these tags."""
    unwanted = set(exclude_tags or ())
    ours = {name for name, entry in _entries.items() if not unwanted.intersection(entry.tags)}
    theirs = set(compilers.dynamo_backends(tuple(unwanted))) - set(_entries)
    return sorted(ours | theirs)


def lookup(backend: str | CompilerFn) -> CompilerFn:
    """The callable of a backend given by name, or the callable itself.

    InvalidBackend for an unknown name (with the nearest names and all known ones), for a backend
    of another package that cannot be loaded, and for anything that is no callable.
    """
    if not isinstance(backend, str):
        if not callable(backend):
            raise InvalidBackend(
                f"a backend is a name or a callable, not {type(backend).__name__}: {backend!r}"
            )
        return backend
    entry = _entries.get(backend)
    if entry is not None:
        return entry.compiler
    try:
        found = compilers.dynamo_backend(backend)
    except Exception as error:
        raise InvalidBackend(
            f"the backend {backend!r} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    if found is None:
        raise InvalidBackend(_unknown(backend))
    return found


def _unknown(name: str) -> str:
    known = list_backends(exclude_tags=())
    near = difflib.get_close_matches(name, known, n=3)
    guess = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"there is no backend {name!r}{guess}\nknown backends: {', '.join(known)}"
