"""Sets of living objects that threads add to while others go through them."""

import gc

from suture.members import Members
from suture.runtime.branches import Branches


class Thing:
    """Equal to every other one: members are told apart by identity."""

    def __eq__(self, other):
        return True

    __hash__ = None


def test_what_is_added_during_a_loop_is_not_in_that_loop():
    members, first, second = Members(), Thing(), Thing()
    members.add(first)
    seen = []
    for member in members:
        members.add(second)
        seen.append(member)
    assert len(seen) == 1 and seen[0] is first
    assert len(members) == 2


def test_an_object_is_held_weakly_and_once():
    members, kept = Members(), Thing()
    members.add(kept)
    members.add(kept)
    members.add(Thing())
    gc.collect()
    assert [id(m) for m in members] == [id(kept)]


def test_an_object_that_dies_during_a_loop_is_still_seen_by_it():
    members, things = Members(), [Thing(), Thing()]
    for thing in things:
        members.add(thing)
    del thing
    going = iter(members)
    things.clear()
    assert len(list(going)) == 2
    gc.collect()
    assert len(members) == 0


def test_branches_that_are_seen_while_others_are_asked_for():
    branches = Branches()

    class Known:
        def begin(self, call):
            branches.saw(("fn", 1), True)  # what another thread does at this moment

        def is_steady(self):
            return False

    branches._seen["fn", 0] = Known()
    assert branches.expected() == {}
