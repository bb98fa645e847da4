"""Situations at lists, dicts, sets, tuples and the iterators of itertools."""

from __future__ import annotations

from suture.breaks.registry import captured, user_error

LIST_UNPACK = captured(
    "GB0061",
    "Failed to unpack object for BUILD_LIST_UNPACK",
    title="[*a, *b] with any iterables",
    explanation="`[*a, *b]` takes any iterable: generators, dict views, objects with `__iter__`.",
    hints=("Nothing to change.",),
)

STARRED_TARGET = captured(
    "GB0062",
    "Failed to unpack object for UNPACK_EX",
    title="first, *rest = any iterable",
    explanation="`first, *rest = items` takes any iterable.",
    hints=("Nothing to change.",),
)

TUPLE_TARGET = captured(
    "GB0063",
    "Failed to unpack object for UNPACK_SEQUENCE",
    title="a, b = any iterable",
    explanation=(
        "`a, b = pair` takes any iterable, objects with `__iter__` included; a tensor is unpacked "
        "along its first dimension."
    ),
    hints=("Nothing to change.",),
)

UNPACK_LENGTH = user_error(
    "GB0077",
    "Length mismatch when unpacking object for UNPACK_SEQUENCE",
    title="Unpacking the wrong number of items",
    explanation=(
        "The number of names on the left does not match the number of items. Eager raises the same "
        "ValueError."
    ),
    hints=("Print the length; a starred name (`a, *rest`) takes what is left over.",),
)

DEQUE_MAXLEN = captured(
    "GB0097",
    "Side effect on existing deque with limited maxlen",
    title="append to a deque with maxlen",
    explanation=(
        "append and extend on a deque with a maxlen drop items at the other end; the deque that "
        "was passed in has the new content afterwards."
    ),
    hints=("Nothing to change.",),
)

SLICE_ASSIGNMENT = captured(
    "GB0143",
    "Unsupported conversion for slice assignment",
    title="items[i:j] = any iterable",
    explanation="`items[i:j] = values` takes any iterable on the right.",
    hints=("Nothing to change.",),
)

FROMKEYS = captured(
    "GB0183",
    "failed to call dict.fromkeys()",
    title="dict.fromkeys",
    explanation=(
        "dict.fromkeys takes any iterable of hashable keys, and works on subclasses such as "
        "OrderedDict."
    ),
    hints=("Nothing to change. A key that cannot be hashed raises TypeError, as in eager.",),
)

MISSING_KEY = captured(
    "GB0196",
    "key not found in dict",
    title="Key that a dict does not have",
    explanation=(
        "A missing key raises KeyError inside the captured code; an except clause, `get` or "
        "`setdefault` answers it there."
    ),
    hints=(
        "Nothing to change if the error is handled.",
        "If it is not handled, eager raises it too: use d.get(key, default).",
    ),
)

SELF_REFERENCE = captured(
    "GB0197",
    "list elements are pointing to the list itself",
    title="List that holds itself",
    explanation=(
        "A list may hold itself: objects are known by identity, and each is visited once."
    ),
    hints=("Nothing to change.",),
)

PROXY_OF_CHANGED_DICT = captured(
    "GB0198",
    "mapping proxy affected by dictionary mutation",
    title="MappingProxyType of a dict that changes",
    explanation=(
        "A types.MappingProxyType shows the dict behind it as it is at that moment, changes made "
        "in the compiled function included."
    ),
    hints=("Nothing to change.",),
)

PROXY_RETURNED = captured(
    "GB0199",
    "mapping proxy cannot be reconstructed",
    title="MappingProxyType that is returned",
    explanation=(
        "A types.MappingProxyType made in the compiled function can be returned and stored: it is "
        "made around the real dict."
    ),
    hints=("Nothing to change.",),
)

BUILD_SET = captured(
    "GB0200",
    "missing BUILD_SET handler",
    title="Set displays and comprehensions",
    explanation="Set displays `{{a, b}}`, set comprehensions and the methods of sets are captured.",
    hints=("Nothing to change.",),
)

NAMEDTUPLE = captured(
    "GB0201",
    "namedtuple construction",
    title="Named tuple that is made",
    explanation=(
        "Named tuples can be made from any values by position and by name, with defaults, and by "
        "`_make` and `_replace`."
    ),
    hints=("Nothing to change.",),
)

OBJECT_KEYS = captured(
    "GB0203",
    "non-const keys in dict_keys",
    title="Dict with objects as keys",
    explanation=(
        "Keys of a dict may be any hashable objects: modules, classes, tensors, tuples of them. "
        "They are known by identity or by value, as their own `__eq__` says."
    ),
    hints=("Nothing to change.",),
)

OBJECT_KEYS_OF_PROXY = captured(
    "GB0204",
    "non-const keys in mappingproxy",
    title="MappingProxyType with objects as keys",
    explanation="The dict behind a types.MappingProxyType may have any hashable objects as keys.",
    hints=("Nothing to change.",),
)

SORT_KEYS = captured(
    "GB0207",
    "sort with non-constant keys",
    title="sorted() with keys of any class",
    explanation=(
        "sorted() and list.sort() compare with the keys' own `__lt__`, which is followed. Keys "
        "that are tensors make each comparison a branch on data: see GB0170."
    ),
    hints=(
        "Nothing to change for Python keys.",
        "torch.sort and torch.argsort order tensors inside the graph.",
    ),
)

REBUILT = captured(
    "GB0092",
    "Reconstruction failure",
    title="Object made in the compiled function and returned",
    explanation=(
        "Objects that the compiled function makes (containers, iterators, partials, ranges, "
        "slices, instances of classes) are made again for real where they are returned or stored."
    ),
    hints=("Nothing to change.",),
)

ACCUMULATE = captured(
    "GB0114",
    "Unexpected failure during itertools.accumulate() iteration",
    title="Function of itertools.accumulate that raises or breaks",
    explanation=(
        "itertools.accumulate is followed into its function, whatever that does; if it raises, the "
        "program's own except clause handles it."
    ),
    hints=("Nothing to change. torch.cumsum and its kin do the same inside one operation.",),
)

ACCUMULATE_FUNCTION = captured(
    "GB0132",
    "Unsupported `func` in itertools.accumulate",
    title="Function of itertools.accumulate, by position or name",
    explanation=(
        "The function of itertools.accumulate may be given by position, by name, or as None for "
        "addition."
    ),
    hints=("Nothing to change.",),
)

ACCUMULATE_ARGUMENTS = user_error(
    "GB0133",
    "Unsupported arguments for itertools.accumulate",
    title="itertools.accumulate with wrong arguments",
    explanation=(
        "itertools.accumulate takes an iterable, a function and `initial`, and nothing else. Eager "
        "raises the same TypeError."
    ),
    hints=("accumulate(items, function, initial=start) is the full form.",),
)

ACCUMULATE_KEYWORDS = user_error(
    "GB0154",
    "Unsupported kwargs for itertools.accumulate",
    title="itertools.accumulate with an unknown keyword",
    explanation=(
        "itertools.accumulate knows the keywords `func` and `initial` only. Eager raises the same "
        "TypeError."
    ),
    hints=("accumulate(items, func=function, initial=start) is the full form.",),
)

GROUPBY = captured(
    "GB0115",
    "Unexpected failure during itertools.groupby() iteration",
    title="Key function of itertools.groupby",
    explanation="itertools.groupby is followed into its key function, whatever that does.",
    hints=("Nothing to change.",),
)

GROUPBY_KEYS = captured(
    "GB0152",
    "Unsupported key type for itertools.groupby",
    title="Keys of itertools.groupby",
    explanation=(
        "The keys of itertools.groupby may be any values that can be compared: tuples, enums, "
        "classes, dtypes."
    ),
    hints=(
        "Nothing to change. Keys that are tensors make each comparison a branch on data: see "
        "GB0170.",
    ),
)

GROUPBY_ARGUMENTS = user_error(
    "GB0134",
    "Unsupported arguments for itertools.groupby",
    title="itertools.groupby with wrong arguments",
    explanation=(
        "itertools.groupby takes an iterable and a key function, and nothing else. Eager raises "
        "the same TypeError."
    ),
    hints=("groupby(items, key=function) is the full form.",),
)

GROUPBY_KEYWORDS = user_error(
    "GB0155",
    "Unsupported kwargs for itertools.groupby",
    title="itertools.groupby with an unknown keyword",
    explanation="itertools.groupby knows the keyword `key` only. Eager raises the same TypeError.",
    hints=("groupby(items, key=function) is the full form.",),
)

CYCLE = captured(
    "GB0192",
    "input iterator to itertools.cycle has too many items",
    title="itertools.cycle over many items",
    explanation=(
        "itertools.cycle takes items from its iterable one at a time, so its length does not "
        "matter."
    ),
    hints=("Nothing to change.",),
)
