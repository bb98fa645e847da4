"""Breaks at Python objects that suture cannot look into."""

from __future__ import annotations

from suture.breaks.registry import Kind, Leaves, captured, define, not_applicable

UNKNOWN_ATTRIBUTE = define(
    "GB2030",
    "Attribute of an opaque object",
    message="{object}.{attribute}",
    explanation=(
        "What `{attribute}` gives is decided by compiled code of `{object}`'s type, and asking for "
        "it may have effects. Python reads it, and capture continues with the value."
    ),
    hints=(
        "Read the attribute before the compiled function and pass the value in.",
        "Keep the value in a plain Python attribute.",
    ),
    note="a model in suture.compiler.objects for this type",
)

UNKNOWN_OPERATOR = define(
    "GB2031",
    "Operator on opaque objects",
    message="{operator} on {operands}",
    explanation=(
        "The operator is carried out by compiled code of the operands' types, of which suture has "
        "no model. Python carries it out, and capture continues with the result."
    ),
    hints=(
        "Do the computation before the compiled function and pass the result in.",
        "Use plain numbers, strings or tensors.",
    ),
    note="a model in suture.compiler.objects for these types",
)

UNKNOWN_SUBSCRIPT = define(
    "GB2032",
    "Subscript of an opaque object",
    message="{object}[{key}]",
    explanation=(
        "The item is looked up by compiled code of `{object}`'s type, of which suture has no "
        "model. Python looks it up, and capture continues with it."
    ),
    hints=(
        "Copy what is needed into a list or a dict before the compiled function.",
        "Pass the item itself as an argument.",
    ),
    note="a model in suture.compiler.objects for this type",
)

UNKNOWN_OBJECT = define(
    "GB2033",
    "Opaque object",
    message="{operation} needs to look into {object}",
    explanation=(
        "`{object}` is of a type that suture has no model of, or it grows in each iteration of a "
        "loop that breaks. It may be passed around freely, but this operation needs to know what "
        "is inside."
    ),
    hints=(
        "Take out what is needed before the compiled function.",
        "Put the operation into a function wrapped with suture.disable, if it must stay.",
    ),
    note="a model in suture.compiler.objects for this type",
)

MUTATION_OF_UNKNOWN = define(
    "GB2034",
    "Change of an opaque object",
    message="{operation} changes {object}",
    explanation=(
        "Changes of objects are collected while the graph is built and put back when it has run. "
        "`{object}` is of a type whose changes suture cannot describe, so Python makes this one at "
        "its place."
    ),
    hints=(
        "Return the new value, and store it outside the compiled function.",
        "Store it in a plain attribute, list or dict.",
    ),
    note="a description of this type's changes in suture.compiler.effects",
)

CLASS_DEFINITION = define(
    "GB0075",
    "LOAD_BUILD_CLASS bytecode not supported",
    title="Class defined in compiled code",
    message="class {name} is defined here",
    explanation=(
        "A `class` statement makes a new class each time it runs: metaclasses, decorators and "
        "`__init_subclass__` may do anything. Python runs the statement."
    ),
    hints=(
        "Define the class at module level, or outside the compiled function.",
        "For a record of a few values, a tuple or a dict is enough.",
    ),
    kind=Kind.FUNDAMENTAL,
)

CUSTOM_GETATTRIBUTE = define(
    "GB0031",
    "Custom __getattribute__ in nn.Module attribute access",
    title="Module with a __getattribute__ of its own",
    message="{type}.__getattribute__ answers for .{attribute}",
    explanation=(
        "`{type}` replaces the lookup of every attribute with a `__getattribute__` that cannot be "
        "captured here, so Python reads `{attribute}`."
    ),
    hints=(
        "Use __getattr__, which is asked only for attributes that do not exist.",
        "Use a property for the one attribute that needs code.",
    ),
    note="following __getattribute__ with its side effects where it is not plain Python",
)

FINALIZED = define(
    "GB2036",
    "Object with a finalizer",
    message="{type} has a __del__",
    explanation=(
        "{type}.__del__ runs when nothing refers to the object any more. An object that only the "
        "trace knows is never made, so its finalizer would never run: Python makes this one."
    ),
    hints=(
        "Use a context manager (`with`) for what has to be given back at a certain place.",
        "Make such objects outside of the compiled function.",
    ),
    kind=Kind.FUNDAMENTAL,
)

FINALIZED_HERE = define(
    "GB2037",
    "End of an object with a finalizer",
    message="{type} is dropped here, and freeing it has effects",
    explanation=(
        "The object of type {type} has a finalizer, is a generator with blocks to leave, or weak "
        "references watch it. Python frees it here, before the program continues: so the graph "
        "ends, and the next one begins with the next instruction."
    ),
    hints=(
        "Keep the object until the function returns, if nothing behind depends on its end.",
        "Use a context manager (`with`) for what has to be given back at a certain place.",
    ),
    kind=Kind.FUNDAMENTAL,
    leaves=Leaves.NOTHING,
)

WEAKREF = define(
    "GB2035",
    "Weak reference to a value of the graph",
    message="weak reference to {object}",
    explanation=(
        "The reference has a callback, to be called when `{object}` dies. That is about the life "
        "of a real object, so Python makes the reference. (Without a callback it is captured.)"
    ),
    hints=(
        "Make the weak reference outside the compiled function.",
        "Hold the object itself, or a key that stands for it.",
    ),
    kind=Kind.FUNDAMENTAL,
)

UNKNOWN_METHOD = define(
    "GB0156",
    "Unsupported method call",
    title="Method of an object that suture cannot look into",
    message="{object}.{method}()",
    explanation=(
        "`{method}` is compiled code of `{object}`'s type, and suture has no model of what it "
        "does. Python makes the call, and capture continues with the result."
    ),
    hints=(
        "Make the call before the compiled function and pass the result in.",
        "Use a type of plain Python, or one that suture has a model of.",
    ),
    note="a model in suture.compiler.objects for this type",
)

DELETE_THROUGH_SUPER = captured(
    "GB0004",
    "Attempted super().__delattr__() on an object without mutation tracking",
    title="del of an attribute through super()",
    explanation=(
        "super().__delattr__(name) removes an attribute; the removal is put back when the graph "
        "has run, whatever the object is."
    ),
    hints=("Nothing to change.",),
)

DELETE_COMPUTED_NAME = captured(
    "GB0084",
    "Non-constant attribute given to `super().__delattr__()`",
    title="super().__delattr__ with a computed name",
    explanation="The name of the attribute may be computed: strings are known while compiling.",
    hints=("Nothing to change.",),
)

SUPER_CALLABLE = captured(
    "GB0006",
    "Attempted to call a super() attribute that is not a function or method",
    title="Call of a super() attribute that is not a function",
    explanation=(
        "What super() finds may be any callable: an object with `__call__`, a partial, a class. It "
        "is called as Python calls it."
    ),
    hints=("Nothing to change.",),
)

SUPER_ATTRIBUTE = captured(
    "GB0113",
    "Unable to resolve super getattr",
    title="Attribute read through super()",
    explanation=(
        "Attributes read through super() are found along the class order, properties and other "
        "descriptors included."
    ),
    hints=("Nothing to change.",),
)

READ_DELETED = captured(
    "GB0010",
    "Attempted to read a deleted variable",
    title="Read of a variable that was deleted",
    explanation=(
        "Reading an attribute that was deleted before raises AttributeError inside the captured "
        "code, and getattr with a default or an except clause answers it there."
    ),
    hints=(
        "Nothing to change if the error is handled.",
        "If it is not handled, eager raises it too: keep the attribute and set it to None.",
    ),
)

SPECIAL_SETTERS = captured(
    "GB0131",
    "Unsupported __setitem__/__setattr__ inline attempt",
    title="Class with its own __setitem__ or __setattr__",
    explanation=(
        "A subclass of dict or list with its own `__setitem__`, and any class with its own "
        "`__setattr__`, is followed into that method."
    ),
    hints=("Nothing to change.",),
)

GETATTRIBUTE_KEY = not_applicable(
    "GB0032",
    "Custom __getattribute__ in nn.Module dict key check",
    explanation=(
        "A module with a custom `__getattribute__` was asked whether it has an attribute. suture "
        "makes one lookup for both questions, and reports GB0031 where it cannot be followed."
    ),
    hints=("See GB0031.",),
    note="suture has no separate check for keys of a module's dict",
)

PARTIAL_STORE = not_applicable(
    "GB0096",
    "Should not compile partial graph (STORE_ATTR)",
    explanation=(
        "TorchDynamo met an attribute assignment at a place where it could not resume the "
        "function. suture can continue after any instruction, so there is no such place."
    ),
    hints=(
        "Nothing to change: assignments to attributes are captured, and put back when the graph "
        "has run.",
    ),
    note="every instruction is a point where capture can continue",
)
