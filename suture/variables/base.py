"""The root of all abstract values.

A variable stands for one Python object while its program is traced. What it knows is exact:
`python_type()` is the very type the object will have, `constant()` its very value. Operations
either give the exact abstract result, raise `Raised` (the program raises here), or raise
`Break` (Python must run this operation), and a `Break` is raised before anything changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suture.breaks import Break, objects

if TYPE_CHECKING:
    from suture.sources import Source
    from suture.variables.protocols import Emitter, Tracer


class Raised(Exception):
    """The traced program raises `exception` (a variable) here."""

    def __init__(self, exception: Any) -> None:
        super().__init__(exception)
        self.exception = exception


class Variable:
    """An abstract value. `source` says where the real one can be read again, if anywhere."""

    __slots__ = ("source",)

    def __init__(self, source: Source | None = None) -> None:
        self.source: Any = source

    # ---- what is known

    def python_type(self) -> type:
        raise Break(objects.UNKNOWN_OBJECT, operation="look at the type of", object=self.describe())

    def is_constant(self) -> bool:
        return False

    def constant(self) -> Any:
        """The value itself. Only of constants."""
        raise Break(objects.UNKNOWN_OBJECT, operation="take the value of", object=self.describe())

    def real(self) -> Any:
        """The real object if there is one already, else raises LookupError."""
        raise LookupError

    def describe(self) -> str:
        """The value in a message to the user."""
        if self.source is not None:
            return self.source.path()
        try:
            return f"a {self.python_type().__name__}"
        except Break:
            return "an object"

    def as_proxy(self) -> Any:
        """The value as an argument of a graph node."""
        raise Break(objects.UNKNOWN_OBJECT, operation="pass to the graph", object=self.describe())

    def hash_key(self, tx: Tracer) -> Any:
        """Something hashable that compares as the object does as a dict key."""
        return self.identity()

    def identity(self) -> Any:
        """Equal for two variables exactly if they are the same object."""
        return Identity(self)

    # ---- operations

    def getattr(self, tx: Tracer, name: str) -> Any:
        raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)

    def setattr(self, tx: Tracer, name: str, value: Variable) -> None:
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=self.describe())

    def delattr(self, tx: Tracer, name: str) -> None:
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"delete {name}", object=self.describe())

    def call(self, tx: Tracer, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call the object; may leave a frame. None: its class says what a call does."""
        return None

    def call_method(self, tx: Tracer, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call method `name`; may leave a frame. None: it is the `m_` method or the attribute of
        that name."""
        return None

    def truth(self, tx: Tracer) -> Any:
        """True, False, or None if only Python can tell."""
        return True

    # ---- making it real

    def rebuild(self, emit: Emitter) -> str:
        """An expression for the value, when it has no source."""
        raise Break(objects.UNKNOWN_OBJECT, operation="put back", object=self.describe())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.describe()}>"


class Identity:
    """A dict key that stands for the object of one variable."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.of is self.of

    def __hash__(self) -> int:
        return hash(id(self.of))


class Lazy:
    """A value inside a container that nothing has looked at yet, so nothing is guarded."""

    __slots__ = ("source", "value")

    def __init__(self, value: Any, source: Source | None) -> None:
        self.value = value
        self.source: Any = source


class Null(Variable):
    """CPython's NULL on the value stack, and an unbound local."""

    __slots__ = ()

    def rebuild(self, emit: Emitter) -> str:
        return "UNBOUND"

    def describe(self) -> str:
        return "nothing"


NULL = Null()


class Mutable(Variable):
    """An object whose contents the program can change.

    `changed` says that the contents differ from what the real object holds; such objects are
    written back when the region ends. An object made in the region has no source.
    """

    __slots__ = ("changed",)

    def __init__(self, source: Source | None = None) -> None:
        super().__init__(source)
        self.changed = False

    def touch(self, tx: Tracer) -> None:
        """Note that the contents change now. Called before the change."""
        tx.effects.touch(self)
        self.changed = True

    def write_back(self, emit: Emitter, name: str) -> None:
        """Emit the lines that bring the real object called `name` up to date."""
        raise Break(objects.MUTATION_OF_UNKNOWN, operation="change", object=self.describe())
