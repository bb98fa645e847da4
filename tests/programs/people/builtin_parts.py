"""Classes that derive from builtin containers and numbers, with methods of their own."""

from __future__ import annotations

import collections
import functools

import torch

from tests.programs.people.registry import line, program


class Recent(collections.OrderedDict):
    """The entries that were used last; others are made when they are asked for."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.hits = self.misses = 0

    def __missing__(self, key):
        self.misses += 1
        value = self[key] = torch.full((2,), float(key))
        return value

    def __getitem__(self, key):
        value = super().__getitem__(key)
        if key in self:
            self.move_to_end(key)
        self.hits += 1
        return value

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        while len(self) > self.size:
            self.popitem(last=False)


@program
def entries_used_last():
    recent = Recent(2)

    def fn(x, keys):
        for key in keys:
            x = x + recent[key]
        return x, list(recent), recent.hits, recent.misses, next(reversed(recent))

    asked = ((1, 2), (1, 3), (2,), (3, 2, 1, 1))
    return fn, [(torch.zeros(2), keys) for keys in asked]


class Window(collections.deque):
    """A deque whose methods write down that the program called them."""

    log: list = []  # noqa: RUF012

    def extend(self, items):
        self.log.append("extend")
        super().extend(items)

    def clear(self):
        self.log.append("clear")
        super().clear()

    def __setitem__(self, at, item):
        self.log.append(f"set {at}")
        super().__setitem__(at, item)

    def __getitem__(self, at):
        self.log.append(f"get {at}")
        return super().__getitem__(at)

    def __len__(self):
        self.log.append("len")
        return super().__len__()


@program
def window_with_methods_of_its_own():
    Window.log = []
    window = Window([1, 2, 3], maxlen=4)
    window.tag = 0

    def fn(x, n):
        window.append(x)
        window.tag += 1
        window.rotate(1)
        if n > 1:
            window[0] = n
        made = Window([1], 2)
        made.extend([x, n, 5])
        return x + n, made, made.maxlen, window[1], list(Window.log), window.tag

    return fn, [(line(), 1), (line(), 2), (line(), 2), (line(), 1)]


class Real(float):
    pass


class Whole(int):
    pass


class Pair(complex):
    pass


class Groups(collections.defaultdict):
    def reset(self, factory):
        self.default_factory = factory


class Last(collections.deque):
    def __init__(self, items=(), size=2):
        super().__init__(items, size)
        self.size = size


@program
def fields_of_builtin_parts():
    kept = Groups(list)
    outside = Groups(int)
    last = Last([1, 2, 3])
    again = Last([1], 3)

    def fn(x, n):
        real, whole, pair = Real(n + 0.5), Whole(n), Pair(n, 2)
        made = Groups(list, a=1)
        made["q"].append(n)
        made.reset(dict)
        made["r"]["z"] = 1
        kept[f"k{n}"].append(x)
        outside.reset(set if n == 2 else None)
        try:
            outside["new"]
        except KeyError as error:
            missing = error.args
        else:
            missing = None
        few = Last(range(n))
        few.append(x)
        last.append(n)
        again.__init__([x, n], n)
        try:
            few.maxlen = 4
        except AttributeError as error:
            refused = str(error)
        numbers = real.real, real.imag, type(real.real), whole.numerator, whole.real, pair.imag
        groups = made.default_factory, made, kept, outside, missing
        return x, numbers, groups, few, few.maxlen, last, refused, again, again.maxlen, again.size

    return fn, [(line(), 1), (line(), 2), (line(), 2), (line(), 3)]


@program
def keywords_of_partials():
    scale = functools.partial(lambda x, k=1, **counts: x * k, k=2)

    def fn(x):
        table = scale.keywords
        table["calls"] = table.get("calls", 0) + 1
        made = functools.partial(torch.add, x, alpha=2)
        first, own = made(x), made.keywords
        own["alpha"] = 3
        same = scale.keywords is table, made.keywords is own
        return (
            scale(x),
            table,
            first,
            made(x),
            own,
            functools.partial(made, out=None).keywords,
            same,
        )

    return fn, [(line(),), (line() * 2,), (line(),)]


class Tagged(str):
    """A text that is equal to others with its tag."""

    def __new__(cls, text, tag=0):
        made = super().__new__(cls, text)
        made.tag = tag
        return made

    def __eq__(self, other):
        return str.__eq__(self, other) and getattr(other, "tag", 0) == self.tag

    __hash__ = str.__hash__


class Unordered(tuple):
    def __eq__(self, other):
        return sorted(self) == sorted(other)

    def __hash__(self):
        return hash(sum(self))


@program
def keys_that_compare_themselves():
    seen = {"ab": 0}
    kept = Tagged("ab", 2)

    def fn(x, text, tag):
        made = Tagged(text, tag)
        plain = {text: 1}
        found = (
            made in plain,
            text in {made: 1},
            kept in plain,
            plain.get(made),
            {made: 1}.get(text),
        )
        members = len({made, text}), made in {text}, text in {made}, made in plain.keys()
        pairs = {Unordered((1, 2)): "one"}
        turned = pairs.get(Unordered((2, 1))), pairs.get(Unordered((3, 0))), (3,) in pairs
        seen[made] = seen.get(made, 0) + 1
        return x * len(seen), found, members, turned, [str(k) for k in seen], list(seen.values())

    return fn, [(line(), "ab", 1), (line(), "ab", 0), (line(), "cd", 2), (line(), "ab", 1)]
