"""Breaks at Python's builtin functions and the small modules of the standard library."""

from __future__ import annotations

from suture.breaks.registry import Kind, captured, define

STR_IN_C = define(
    "GB0005",
    "Attempted to a str() method implemented in C/C++",
    title="str() of an object that is written in C",
    message="str() of {object}",
    explanation=(
        "The text of `{object}` is made by compiled code of its type (for a plain object it holds "
        "its address), so it is known only by asking."
    ),
    hints=(
        "Give the class a __str__ or __repr__ in Python.",
        "Make the text outside the compiled function.",
    ),
    kind=Kind.FUNDAMENTAL,
)

ID_OF_NEW = define(
    "GB0141",
    "Unsupported call_id() without source",
    title="id() of an object made in the graph",
    message="the number id() gives for {object}, which is made in the graph",
    explanation=(
        "id() may be compared, and used as a key, for any object. Here it is used as a number: the "
        "address of `{object}`, a result inside the graph, which has none until the graph has run."
    ),
    hints=(
        "Use a key of your own (a name, a counter) instead of id().",
        "`a is b` compares identity without an address.",
    ),
    kind=Kind.FUNDAMENTAL,
)

DEEPCOPY = captured(
    "GB0179",
    "copy.deepcopy()",
    title="copy.copy and copy.deepcopy",
    explanation=(
        "copy.copy and copy.deepcopy are followed through containers, objects and tensors. A part "
        "that is copied by compiled code is a break of that part's own number."
    ),
    hints=("Nothing to change. Copying once, outside, saves the work of doing it in each call.",),
)

CONSTANT_COMPARED = captured(
    "GB0023",
    "Builtin `operator.*` comparison with constant `self` failed",
    title="Comparison of a constant with an object",
    explanation=(
        "A constant may be compared with any object: the object's own `__eq__`, `__gt__` and so on "
        "are asked when the constant does not know the answer."
    ),
    hints=("Nothing to change.",),
)

ENUM = captured(
    "GB0054",
    "Failed to construct Enum variable",
    title="Member of an enum by its value",
    explanation=(
        "Color(value) looks up the member of an enum while compiling; a value that the enum does "
        "not have raises ValueError, as in eager."
    ),
    hints=("Nothing to change.",),
)

RANGE_ATTRIBUTE = captured(
    "GB0136",
    "Unsupported attribute for range() object",
    title="Attribute of a range",
    explanation=(
        "All attributes and methods of range objects are known: start, stop, step, index, count."
    ),
    hints=("Nothing to change.",),
)

SLICE_ATTRIBUTE = captured(
    "GB0137",
    "Unsupported attribute for slice() object",
    title="Attribute of a slice",
    explanation=(
        "All attributes and methods of slice objects are known: start, stop, step, indices."
    ),
    hints=("Nothing to change.",),
)

HASATTR = captured(
    "GB0150",
    "Unsupported hasattr call",
    title="hasattr() of any object",
    explanation=(
        "hasattr() is answered for every object whose lookup is plain Python, functions, classes "
        "and partials included; the answer is guarded."
    ),
    hints=("Nothing to change.",),
)

HASATTR_OF_DICT = captured(
    "GB0217",
    "unsupported hasattr operation",
    title="hasattr() of a dict",
    explanation=(
        "hasattr() on dicts, OrderedDicts, defaultdicts and their subclasses is answered from the "
        "class and the instance."
    ),
    hints=("Nothing to change. `key in d` looks for a key; hasattr for an attribute.",),
)

INSPECT = captured(
    "GB0151",
    "Unsupported inspect call",
    title="inspect.signature",
    explanation=(
        "inspect.signature and its parameters are answered while compiling: a function's signature "
        "does not change."
    ),
    hints=("Nothing to change.",),
)

CAST = captured(
    "GB0174",
    "bad args to builtin cast()",
    title="typing.cast",
    explanation=(
        "typing.cast returns its second argument, whether it is passed by position or by name."
    ),
    hints=("Nothing to change.",),
)

ISINSTANCE = captured(
    "GB0175",
    "builtin isinstance() cannot determine type of argument",
    title="isinstance() of any value",
    explanation=(
        "The type of every value is known while compiling, also of values that cannot be looked "
        "into, so isinstance() is always answered."
    ),
    hints=("Nothing to change.",),
)

ISINSTANCE_OF_EXTENSION = captured(
    "GB0194",
    "isinstance() called on user defined object with C extensions",
    title="isinstance() of an object of a class written in C",
    explanation=(
        "isinstance() needs the type of an object only; that the type is written in C makes no "
        "difference."
    ),
    hints=("Nothing to change.",),
)

ISSUBCLASS = captured(
    "GB0195",
    "issubclass() with non-constant arguments",
    title="issubclass() of a computed class",
    explanation=(
        "issubclass() is answered for every class, also for one that was computed with type(x) or "
        "read from an attribute."
    ),
    hints=("Nothing to change.",),
)

CONSTANT_FOLD = captured(
    "GB0178",
    "constant fold exception",
    title="Builtin that raises on constants",
    explanation=(
        "A builtin that raises on constants (int('x'), math.sqrt(-1)) raises inside the captured "
        "code, and the program's own except clause handles it there."
    ),
    hints=("Nothing to change if the error is handled; if not, eager raises it too.",),
)

DATACLASS_FIELDS = captured(
    "GB0180",
    "dataclass fields failure",
    title="dataclasses.fields and asdict",
    explanation=(
        "dataclasses.fields and asdict work on instances and on classes; the fields are part of "
        "the class and known while compiling."
    ),
    hints=("Nothing to change.",),
)

STR_OF_OBJECT = captured(
    "GB0184",
    "failed to call str() on user defined object",
    title="str() of an object",
    explanation="str() follows the `__str__` or the `__repr__` of the object's class.",
    hints=(
        "Nothing to change.",
        "For classes that leave the text to C code, see GB0005.",
    ),
)

GETATTR_NAME = captured(
    "GB0190",
    "getattr() with non-constant name argument",
    title="getattr() with a computed name",
    explanation="The name given to getattr() may be computed: strings are known while compiling.",
    hints=("Nothing to change.",),
)

ID_OF_OBJECT = captured(
    "GB0191",
    "id() with unsupported args",
    title="id() of an object from outside",
    explanation=(
        "id() of an object from outside (a list, a function, a module) is its address, guarded by "
        "identity."
    ),
    hints=(
        "Nothing to change. A graph is made for each object that comes, so a name is a better key.",
        "For values made in the graph, see GB0141.",
    ),
)
