"""The options of suture: one declaration each, with its type, its default and what it means.

Read an option as an attribute, `suture.config.recompile_limit`; set it the same way, or for the
length of a block or of a function with `patch`:

    with suture.config.patch(recompile_limit=2, strict=True):
        ...

Each option can also be given by the environment when suture is imported: `SUTURE_` and its name
in capitals. A value always has the declared type and lies in the declared range; a name that is
not an option raises AttributeError with the nearest ones. Options hold for the whole process, all
threads included.

Reading is as cheap as reading any module attribute: the values are the module's own attributes.
"""

import difflib
import os
import sys
import types
import typing
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

_PREFIX = "SUTURE_"


@dataclass(frozen=True)
class Option:
    """What is said about an option besides its type and default.

    `minimum` bounds an int from below; `also` names one more environment variable, `torch` those
    of torch that mean the same: as in torch, such a one is set by "1" alone. `fixed` is set for an
    option that is only read at import, and says what to use afterwards instead. `choices` are the
    texts that it takes.
    """

    doc: str
    minimum: int | None = None
    also: str | None = None
    torch: tuple[str, ...] = ()
    fixed: str | None = None
    choices: tuple[str, ...] = ()


# Recompilation.

recompile_limit: Annotated[
    int, Option("How many variants one point may have before its frame is interpreted.", minimum=0)
] = 8
accumulated_recompile_limit: Annotated[
    int, Option("How many variants all points of one code object may have together.", minimum=0)
] = 256
fail_on_recompile_limit: Annotated[
    bool, Option("Raise RecompileLimitExceeded at a limit, instead of interpreting the frame.")
] = False
error_on_recompile: Annotated[
    bool, Option("Raise RecompileError where a point would get a second variant.")
] = False

# Ranks of a process group.

agree_across_ranks: Annotated[
    bool,
    Option(
        "Ranks decide together whether a call compiles and which sizes are symbols, and name a "
        "rank that differs. Costs two messages per rank at each region of each call."
    ),
] = False
agree_timeout: Annotated[
    int, Option("Seconds after which a rank that does not answer is named.", minimum=1)
] = 60

# Whether anything is compiled.

disable: Annotated[
    bool,
    Option(
        "Compile nothing: compiled functions run as if they were not.",
        torch=("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"),
    ),
] = False

# Decisions about data.

speculate_after: Annotated[
    int,
    Option(
        "In how many calls a branch on data must have gone the same way before a graph is compiled"
        " that expects it to; 0: never.",
        minimum=0,
    ),
] = 5

# What is kept between processes.

cache_dir: Annotated[
    str,
    Option(
        "Folder in which compiled code is kept for later processes; empty: none is kept.",
        also="SUTURE_CACHE",
    ),
] = ""
cache_size: Annotated[
    int, Option("How many MB the cache may take; the least recently used go first.", minimum=1)
] = 1024

# Shapes and numbers.

automatic_dynamic: Annotated[
    bool, Option("When a size or a number differs on a later call, compile it as a symbol.")
] = True
assume_static: Annotated[
    bool, Option("Take sizes as constants on the first call (unless `dynamic` says otherwise).")
] = True
dynamic_sources: Annotated[
    str, Option("Sources, as guards name them, that are symbols from the first call on: a,b.")
] = ""
static_sources: Annotated[
    str,
    Option("Sources, as guards name them, that stay constants, whatever changes: a,b."),
] = ""
duck_sizes: Annotated[
    bool, Option("Sizes that are equal when first seen are one symbol, and guarded to stay equal.")
] = True
specialize_int: Annotated[bool, Option("Take Python ints as constants always.")] = False
specialize_float: Annotated[bool, Option("Take Python floats as constants always.")] = False
capture_scalar_outputs: Annotated[
    bool, Option("Put `.item()` and the like into the graph; otherwise they break it.")
] = True
capture_dynamic_output_shape_ops: Annotated[
    bool, Option("Put operators such as `nonzero` into the graph; otherwise they break it.")
] = True

# How far tracing goes.

inline_limit: Annotated[
    int, Option("How deep calls are inlined; a deeper call is run by Python.", minimum=0)
] = 200
unroll_limit: Annotated[
    int, Option("How many iterations of one loop are unrolled into one graph.", minimum=1)
] = 100_000
trace_limit: Annotated[
    int,
    Option(
        "How many instructions of Python, beyond those that its operations account for, are"
        " traced for one graph before it ends.",
        minimum=1,
    ),
] = 200_000
trace_tensor_free: Annotated[
    bool,
    Option("Trace functions that can meet no tensor too; otherwise Python runs them as they are."),
] = False
tensor_free_limit: Annotated[
    int,
    Option(
        "How many instructions of code that cannot reach a tensor are traced; then Python runs it.",
        minimum=1,
    ),
] = 2_000
small_graph_seconds: Annotated[
    float,
    Option(
        "How long a backend may take for the small graphs after breaks of one compiled function;"
        " those that follow run their operations one by one.",
        minimum=0.0,
    ),
] = 20.0
empty_region_limit: Annotated[
    int,
    Option(
        "After how many regions without a tensor operation code that gets no tensor is left to"
        " Python.",
        minimum=0,
    ),
] = 64
retry_limit: Annotated[
    int,
    Option(
        "How often one region may be traced again because an assumption does not hold; then it"
        " runs in the interpreter.",
        minimum=0,
    ),
] = 64

repeated_layers: Annotated[
    str,
    Option(
        'Whether calls that compute the same are compiled once by Inductor ("auto"), or only those'
        ' that the program has marked with torch.compiler.nested_compile_region ("off").',
        choices=("auto", "off"),
    ),
] = "auto"

background_compile: Annotated[
    bool,
    Option(
        "Let Inductor compile in a thread of its own; until it is done, graphs run their operations"
        " one by one."
    ),
] = False

# Errors.

raise_backend_errors: Annotated[
    bool,
    Option("Raise when a backend fails; otherwise its graph runs uncompiled, with a warning."),
] = False
strict: Annotated[
    bool, Option("Raise on an error of suture itself, so that a debugger stops there.")
] = False
verify: Annotated[
    bool, Option("Also run eager on the first calls of each new variant, and compare the results.")
] = False
repro_dir: Annotated[
    str, Option("Folder for a runnable script of each graph that failed; empty: none is written.")
] = ""

# How torch is read.

native_layout: Annotated[
    bool,
    Option(
        "Read tensors and torch's state directly from memory; otherwise through Python, which is"
        " slower. Only on releases of torch on which this was tested.",
        fixed="start the process with SUTURE_NATIVE_LAYOUT=0",
    ),
] = True

# Logs and progress.

logs: Annotated[
    str,
    Option(
        'What to log from the start, such as "breaks,+guards" (see suture.logs).',
        fixed="call suture.set_logs(...)",
    ),
] = ""
show_progress: Annotated[
    bool,
    Option("Say on a terminal what is being compiled, once that takes longer than three seconds."),
] = True
trace_dir: Annotated[
    str,
    Option(
        "Folder for the structured trace and the timeline; empty: none is written.",
        also="SUTURE_TRACE",
    ),
] = ""


@dataclass(frozen=True)
class Described:
    """One option as `describe` lists it."""

    name: str
    type: type
    default: bool | int | str
    value: bool | int | str
    doc: str
    environment: tuple[str, ...]


@dataclass(frozen=True)
class _Declared:
    """An option with the facts the module's own text gives: name, type and default."""

    name: str
    type: type
    default: Any
    option: Option

    @property
    def environment(self) -> tuple[str, ...]:
        own = _PREFIX + self.name.upper()
        also = (self.option.also,) if self.option.also else ()
        return (own, *also, *self.option.torch)


_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off", "")


def _checked(declared: _Declared, value: Any, label: str) -> Any:
    """`value` if it fits the option; TypeError or ValueError naming `label` if it does not."""
    kind = declared.type
    if type(value) is not kind:
        raise TypeError(f"{label} takes {kind.__name__}, not {type(value).__name__}: {value!r}")
    minimum = declared.option.minimum
    if minimum is not None and isinstance(value, int) and value < minimum:
        raise ValueError(f"{label} must be at least {minimum}, not {value}")
    choices = declared.option.choices
    if choices and value not in choices:
        raise ValueError(f"{label} is one of {', '.join(map(repr, choices))}, not {value!r}")
    return value


def _parsed(declared: _Declared, text: str, variable: str) -> Any:
    """The value that an environment variable gives; ValueError that names it if it gives none."""
    word = text.strip()
    value: Any = text
    if declared.type is bool:
        if word.lower() not in _TRUE + _FALSE:
            raise ValueError(f"{variable}={text!r} is no truth value: use 1 or 0")
        value = word.lower() in _TRUE
    elif declared.type is int:
        try:
            value = int(word)
        except ValueError:
            raise ValueError(f"{variable}={text!r} is no integer") from None
    return _checked(declared, value, variable)


def _nearest(name: str) -> str:
    """The end of an error message about an unknown option: the options that look like it."""
    near = difflib.get_close_matches(name, _DECLARED, n=3)
    if near:
        return "did you mean " + " or ".join(near) + "?"
    return "the options are " + ", ".join(_DECLARED)


def _declared_options() -> dict[str, _Declared]:
    """The options, in the order this file declares them."""
    module = sys.modules[__name__]
    found: dict[str, _Declared] = {}
    for name, hint in typing.get_type_hints(module, include_extras=True).items():
        if typing.get_origin(hint) is Annotated:
            kind, option = typing.get_args(hint)
            found[name] = _Declared(name, kind, getattr(module, name), option)
    return found


def _read_environment(environ: typing.Mapping[str, str]) -> dict[str, Any]:
    """The options that `environ` sets; warns about a variable that looks like a misspelt one."""
    values: dict[str, Any] = {}
    known: set[str] = set()
    for declared in _DECLARED.values():
        for variable in declared.environment:
            known.add(variable)
            if variable in declared.option.torch:
                if environ.get(variable) == "1":
                    values[declared.name] = True
            elif variable in environ:
                values[declared.name] = _parsed(declared, environ[variable], variable)
    for variable in environ:
        if variable.startswith(_PREFIX) and variable not in known:
            near = difflib.get_close_matches(variable, known, n=1, cutoff=0.85)
            if near:
                warnings.warn(
                    f"{variable} is no option of suture; did you mean {near[0]}?", stacklevel=2
                )
    return values


def describe() -> tuple[Described, ...]:
    """Every option with its type, default, present value, meaning and environment variables."""
    values = vars(sys.modules[__name__])
    return tuple(
        Described(d.name, d.type, d.default, values[d.name], d.option.doc, d.environment)
        for d in _DECLARED.values()
    )


def snapshot() -> dict[str, bool | int | str]:
    """The present value of every option, by name."""
    return {described.name: described.value for described in describe()}


@contextmanager
def patch(**values: bool | int | str) -> Iterator[None]:
    """Set options for the length of a `with` block, or of each call of a decorated function.

    All values are checked before any is set. On the way out each named option gets back the value
    it had on the way in, also when the block raises.
    """
    module = sys.modules[__name__]
    for name, value in values.items():
        _settable(name, value)
    before = {name: vars(module)[name] for name in values}
    try:
        vars(module).update(values)
        yield
    finally:
        vars(module).update(before)


def _settable(name: str, value: Any) -> None:
    """Raise unless `suture.config.<name> = value` is allowed."""
    declared = _DECLARED.get(name)
    if declared is None:
        raise AttributeError(f"suture.config has no option {name!r}: {_nearest(name)}")
    if declared.option.fixed:
        raise AttributeError(
            f"suture.config.{name} is read when suture is imported "
            f"({declared.environment[0]}); now {declared.option.fixed}"
        )
    _checked(declared, value, f"suture.config.{name}")


class _ConfigModule(types.ModuleType):
    """The module's class: setting is checked, and an unknown name is answered with near ones."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__"):
            _settable(name, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an option cannot be deleted: suture.config.{name}")

    def __getattr__(self, name: str) -> typing.NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"suture.config has no option {name!r}: {_nearest(name)}")


_DECLARED = _declared_options()
vars(sys.modules[__name__]).update(_read_environment(os.environ))
sys.modules[__name__].__class__ = _ConfigModule
