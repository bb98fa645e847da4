"""Situations that only TorchDynamo's own machinery has, kept because people search for them."""

from __future__ import annotations

from suture.breaks.registry import captured, not_applicable

UNBACKED_INPUT = not_applicable(
    "GB0018",
    "Attempted to wrap unbacked SymInt",
    explanation=(
        "A symbolic number that depends on data was passed into a compiled function. In suture "
        "such a number lives inside one graph; what crosses a break is the real int."
    ),
    hints=("Nothing to change.",),
    note="inputs of a graph are real ints or sizes of real tensors",
)

UNCONVERTED_ARGUMENT = not_applicable(
    "GB0047",
    "Encountered unconverted argument when attempting to inline",
    explanation=(
        "A consistency check of TorchDynamo: an argument of a followed call was not one of its "
        "tracked values."
    ),
    hints=("Nothing to change: calls with any arguments are followed.",),
    note="every value is an abstract value from the moment it is read",
)

REAL_VALUE = not_applicable(
    "GB0048",
    "Error getting associated real value",
    explanation=(
        "TorchDynamo looked for the real tensor behind a fake one to answer id(), and failed. "
        "suture answers id() for arguments from the argument itself."
    ),
    hints=("See GB0191 for id() of arguments, and GB0141 for id() of results.",),
    note="fake tensors carry no real ones",
)

NO_REAL_VALUE = captured(
    "GB0176",
    "call_id() without associated real value",
    title="id() of a value made in the graph",
    explanation=(
        "id() of a value made in the graph stands for that value: it may be compared with other "
        "ids, be a key of a dict or in a set, and be returned."
    ),
    hints=("Nothing to change. Arithmetic with the number itself is a break, GB0141.",),
)

NESTED_BREAK = not_applicable(
    "GB0065",
    "Graph break in inlined function",
    explanation=(
        "A break inside a function that the compiled one calls. suture continues inside that "
        "function, after the line that broke, and reports the number of the break itself."
    ),
    hints=("Look at the break that is reported for the inner line.",),
    note="a break in an inner call is an ordinary break",
)

INLINE_BOUND = not_applicable(
    "GB0071",
    "Inline attempt with __self__",
    explanation=(
        "A consistency check of TorchDynamo: a bound method reached a place where only plain "
        "functions are expected."
    ),
    hints=("Nothing to change: bound methods are called as Python calls them.",),
    note="a bound method is a value like others, and is never taken for its function",
)

MISSING_FAKE = not_applicable(
    "GB0080",
    "Missing FakeTensor example value",
    explanation=(
        "A consistency check of TorchDynamo: a node of its graph had no fake tensor attached."
    ),
    hints=("Nothing to change.",),
    note="a node and its fake result are made in one step",
)

NOT_A_CONSTANT = not_applicable(
    "GB0086",
    "Not a Python constant",
    explanation=(
        "TorchDynamo needed a plain Python value at a place where it held something else, and says "
        "no more. suture names the place: a tensor as an index is GB0218, a branch GB0170."
    ),
    hints=("Look for the number that suture reports at that line.",),
    note="each place that needs a Python value has a number of its own",
)

SOURCE_REBUILD = not_applicable(
    "GB0093",
    "Reconstruction failure: source.reconstruct not implemented",
    explanation=(
        "TorchDynamo writes bytecode that fetches a value from where it came, and had none for "
        "this origin. suture writes no bytecode."
    ),
    hints=("Nothing to change: a value from outside is handed on as the object it is.",),
    note="values from outside are passed along, not fetched again by generated code",
)

SOURCELESS = not_applicable(
    "GB0116",
    "Unexpected type in sourceless builder",
    explanation=(
        "TorchDynamo met a constant of a type that it cannot represent when it does not come from "
        "a variable of the program."
    ),
    hints=(
        "Nothing to change: objects of unknown types are carried along.",
        "Where such an object has to be inspected, the break is GB2033.",
    ),
    note="an object needs no origin to be carried along",
)

ABSTRACT_NEXT = not_applicable(
    "GB0118",
    "Unimplemented next() call",
    explanation="A class inside TorchDynamo that stands for an iterator lacks its own next().",
    hints=(
        "Nothing to change.",
        "For iterators that cannot be followed, see GB0160.",
    ),
    note="an error inside TorchDynamo's classes",
)

SUBGENERATOR = not_applicable(
    "GB0120",
    "Unreachable sub-generator code",
    explanation="A marker in TorchDynamo's sources for a place that is never reached.",
    hints=("Nothing to change: delegation with `yield from` is captured.",),
    note="no program reaches it",
)

MUTATION_KIND = not_applicable(
    "GB0122",
    "Unsupported SourceType",
    explanation="A consistency check of TorchDynamo on how it tracks changes of an object.",
    hints=(
        "Nothing to change.",
        "Changes that cannot be described are GB2034.",
    ),
    note="an error inside TorchDynamo's classes",
)

DELAYED_BREAK = not_applicable(
    "GB0148",
    "Unsupported function call (delayed)",
    explanation=(
        "TorchDynamo decides early that a function cannot be called and reports it when the call "
        "comes. suture decides at the call."
    ),
    hints=("Look for the number that suture reports at the call, such as GB0147 or GB0177.",),
    note="nothing is decided before the call",
)

CALL_FLAGS = not_applicable(
    "GB0168",
    "Variadic function call with bad flags",
    explanation=(
        "A consistency check of TorchDynamo on the instruction for `f(*args, **kwargs)`. CPython's "
        "compiler never makes such code."
    ),
    hints=("Nothing to change.",),
    note="no program compiles to it",
)

BACKWARD_STATE = not_applicable(
    "GB0173",
    "backward_state does not support export",
    explanation=(
        "TorchDynamo's way to pass Python state to compiled hooks does not work under torch.export."
    ),
    hints=("Nothing to change.",),
    note="suture has neither this state nor export",
)

NO_SOURCE = not_applicable(
    "GB0188",
    "getattr with no source",
    explanation=(
        "TorchDynamo cannot read attributes of a module that did not come from a variable of the "
        "program. In suture a module is the object it is, wherever it came from."
    ),
    hints=(
        "Nothing to change.",
        "Making a module inside the compiled function is GB0162.",
    ),
    note="attributes are read from the object, not from its origin",
)
