"""Breaks where control flow depends on something that a graph does not know."""

from __future__ import annotations

from suture.breaks.registry import Kind, Leaves, captured, define, user_error

TENSOR_BRANCH = define(
    "GB0170",
    "Data-dependent branching",
    message="branch on the value of {tensor}",
    explanation=(
        "Which side of the branch runs depends on the numbers in `{tensor}`, and those exist only "
        "when the graph before it has run. The graph ends here, the branch is taken on the real "
        "value, and each side is compiled on its own."
    ),
    hints=(
        "torch.where, if both sides are cheap and have no side effects",
        "torch.cond, if only one side may run",
        "Branch on something that does not depend on data: a shape, a dtype, a Python flag.",
    ),
    kind=Kind.FUNDAMENTAL,
)

TENSOR_ASSERT = define(
    "GB0034",
    "Data-dependent assertion failed (cannot compile partial graph)",
    title="assert on a tensor's values",
    message="assert on the value of {tensor}",
    explanation=(
        "Whether the assertion holds is known only when `{tensor}` has been computed. The graph "
        "writes to large inputs, so that the region cannot be run again, or the assertion failed "
        "before: Python checks the assertion at this line."
    ),
    hints=(
        "Write less in place to what the function was given: the graph then holds the check.",
        "Assert on shapes and dtypes instead: those are checked while compiling, at no cost.",
    ),
    kind=Kind.FUNDAMENTAL,
)

UNKNOWN_ITERATOR = define(
    "GB0160",
    "Unsupported next() call",
    title="next() of an iterator that suture cannot look into",
    message="next item of {iterator}",
    explanation=(
        "`{iterator}` was made outside the compiled code or by a type that suture has no model of, "
        "so its next item is known only after asking it. Python takes the item; the body of a loop "
        "over it is compiled once and used in every iteration."
    ),
    hints=(
        "Pass a list or a tuple instead of an iterator if it is short.",
        "Make the iterator inside the compiled function.",
        "Leave a loop over a data loader outside, and compile the step that its body makes.",
    ),
    kind=Kind.FUNDAMENTAL,
)

UNKNOWN_TRUTH = define(
    "GB0035",
    "Data-dependent branching with non-constant __bool__",
    title="Truth of an object with a __bool__ of its own",
    message="truth of {value}",
    explanation=(
        "The truth of `{value}` is decided by its own `__bool__` or `__len__`, and what that gives "
        "depends on data or on code that cannot be captured."
    ),
    hints=(
        "Compare with what is meant: `value is not None`, `value.flag`.",
        "Let `__bool__` return a plain attribute.",
    ),
    kind=Kind.FUNDAMENTAL,
)

GENERATOR_YIELD = define(
    "GB0003",
    "Attempt to trace generator",
    title="Generator that hands values to its consumer",
    message="{function} yields to its consumer",
    explanation=(
        "`{function}` is a generator that code outside the graph consumes: at each `yield` the "
        "value is handed out and the function waits, so the graph ends there and the next begins "
        "after it. A generator that is consumed within the compiled function is captured whole."
    ),
    hints=(
        "Consume the generator in the function that is compiled.",
        "Return a list if all items are needed anyway.",
    ),
    kind=Kind.FUNDAMENTAL,
    leaves=Leaves.YIELD,
)

UNBACKED_DECISION = define(
    "GB2010",
    "Decision on a data-dependent number",
    message="{expression} depends on data: {origin}",
    explanation=(
        "A number that is known only when the graph has run (from `item()`, `nonzero()`, a mask, "
        "a random draw) stayed symbolic; here Python has to know it: `{expression}`. The graph "
        "ends so that the real number can be looked at."
    ),
    hints=(
        "torch._check(condition) states what is always true of the number.",
        "Use torch.where or torch.cond instead of a Python branch.",
    ),
    kind=Kind.FUNDAMENTAL,
)

INDEX_OF_TENSOR = define(
    "GB0218",
    "unsupported index(Tensor)",
    title="Tensor as an index of a Python container",
    message="{tensor} is used as an index by Python",
    explanation=(
        "Python itself needs the number in `{tensor}`: as an index of a list, the end of a range, "
        "a repeat count. The number exists only when the graph before it has run."
    ),
    hints=(
        "Index tensors with tensors: torch.index_select, x[i], torch.gather stay in the graph.",
        "Pass the number as a Python int from outside.",
    ),
    kind=Kind.FUNDAMENTAL,
)

TENSOR_SLICE = define(
    "GB0038",
    "Dynamic slicing with Tensor arguments",
    title="Slice with tensors as bounds",
    message="slice with the bounds {bounds}",
    explanation=(
        "The ends of the slice are numbers inside tensors, and how long the slice is decides the "
        "shapes after it. The graph ends so that the numbers can be read."
    ),
    hints=(
        "Mask instead of cutting: torch.where(torch.arange(n) < end, x, 0) has a fixed shape.",
        "Pass the bounds as Python ints.",
    ),
    kind=Kind.FUNDAMENTAL,
)

SHAPE_ASSERT = user_error(
    "GB0002",
    "Assertion failed on symbolic shapes",
    title="assert about shapes that does not hold",
    explanation=(
        "The assertion is about shapes, so its outcome is known while compiling, and it does not "
        "hold for this call. The AssertionError is raised where eager raises it."
    ),
    hints=(
        "Check the shapes of the arguments against the assertion.",
        "Assertions on shapes that hold cost nothing at run time: keep them.",
    ),
)

ASSERT_MESSAGE = captured(
    "GB0171",
    "assert with non-string message",
    title="assert with a message that is not a string",
    explanation=(
        "The message of a failing `assert` may be any object, as in eager: it becomes the argument "
        "of the AssertionError."
    ),
    hints=("Nothing to change. A string reads best in a traceback.",),
)

THROW_INTO_GENERATOR = captured(
    "GB0024",
    "CLEANUP_THROW with StopIteration",
    title="throw() and close() through yield from",
    explanation=(
        "throw() and close() on a generator that delegates with `yield from` reach the inner "
        "generator, and a StopIteration out of it ends the delegation as Python defines it."
    ),
    hints=(
        "Nothing to change: generators that the compiled function makes and consumes are captured.",
    ),
)

SEND_TO_ITERATOR = captured(
    "GB0094",
    "SEND with bad type",
    title="yield from over something that is not a generator",
    explanation=(
        "`yield from` works over generators, lists, tuples, ranges and objects with `__iter__` "
        "alike; each is followed into the graph."
    ),
    hints=(
        "Nothing to change.",
        "For an iterator made outside the compiled function, see GB0160.",
    ),
)
