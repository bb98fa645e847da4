"""The tracer is made of parts: no two of them may use one name for different things."""

from __future__ import annotations

import types
from collections import defaultdict

from suture.calls import PARTS
from suture.tracer.tracer import Tracer


def test_no_name_is_defined_by_two_parts():
    owners = defaultdict(list)
    for part in (*PARTS, Tracer):
        for name, value in vars(part).items():
            if isinstance(value, (types.FunctionType, property)) and not name.startswith("__"):
                owners[name].append(part.__name__)
    assert {name: who for name, who in owners.items() if len(who) > 1} == {}
