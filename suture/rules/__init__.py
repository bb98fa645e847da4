"""What the tracer does with a callable: inline it, make it a node, have Python run it, fold it.

`lookup` answers for an object or a dotted name, `explain` shows the chain of rules that were
asked, `listing` goes over a module. The marks are what users say about functions.
"""

from suture.rules.errors import (
    ConflictingMarks,
    ConflictingRules,
    RuleError,
    SignatureMismatch,
    UnknownName,
)
from suture.rules.lookup import clear_cache, explain, listing, lookup, lookup_frame, mark_of
from suture.rules.mark_table import (
    described_marks,
    forget_package,
    inline_package,
    run_package,
    unmark,
)
from suture.rules.marks import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disallow_in_graph,
    dont_skip_tracing,
    forbid_in_graph,
    graph_break,
    ignore_logging_functions,
    nonstrict_trace,
    skip_frame,
    substitute_in_graph,
)
from suture.rules.strictness import breaks_are_errors, error_on_graph_break
from suture.rules.substitutes import substitute_of
from suture.rules.torch_marks import disables_all_below
from suture.rules.verdict import (
    CONSTANT,
    IN_GRAPH,
    INLINE,
    RUN,
    SPECIAL,
    Kind,
    Origin,
    Step,
    Verdict,
)

__all__ = [
    "CONSTANT",
    "INLINE",
    "IN_GRAPH",
    "RUN",
    "SPECIAL",
    "ConflictingMarks",
    "ConflictingRules",
    "Kind",
    "Origin",
    "RuleError",
    "SignatureMismatch",
    "Step",
    "UnknownName",
    "Verdict",
    "allow_in_graph",
    "assume_constant_result",
    "breaks_are_errors",
    "clear_cache",
    "described_marks",
    "disable",
    "disables_all_below",
    "disallow_in_graph",
    "dont_skip_tracing",
    "error_on_graph_break",
    "explain",
    "forbid_in_graph",
    "forget_package",
    "graph_break",
    "ignore_logging_functions",
    "inline_package",
    "listing",
    "lookup",
    "lookup_frame",
    "mark_of",
    "nonstrict_trace",
    "run_package",
    "skip_frame",
    "substitute_in_graph",
    "substitute_of",
    "unmark",
]
