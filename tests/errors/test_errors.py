"""The exceptions: what catches them, what they say, that importing them is cheap."""

import copy
import pickle
import subprocess
import sys

import pytest
import torch

import suture.exc
from suture import errors

MADE = {
    "Unsupported": lambda: errors.Unsupported("no", number="GB0170", type="T", fields={"a": 1}),
    "BackendFailed": lambda: errors.BackendFailed("mine", KeyError("k"), lines=("a.py:1",)),
    "InvalidBackend": lambda: errors.InvalidBackend("no"),
    "RecompileError": lambda: errors.RecompileError("no"),
    "RecompileLimitExceeded": lambda: errors.RecompileLimitExceeded("no"),
    "RanksDiffer": lambda: errors.RanksDiffer("no"),
    "UserError": lambda: errors.UserError("no"),
    "ConstraintViolation": lambda: errors.ConstraintViolation("no"),
    "InternalError": lambda: errors.InternalError("no"),
    "UnsupportedVersion": lambda: errors.UnsupportedVersion("no"),
    "SutureError": lambda: errors.SutureError("no"),
}


def test_every_exception_is_covered_here_and_in_exc():
    assert set(MADE) == set(errors.__all__) == set(suture.exc.__all__)
    for name in MADE:
        assert getattr(suture.exc, name) is getattr(errors, name)


@pytest.mark.parametrize("name", MADE)
def test_caught_as_ours_as_torchs_and_as_runtime_error(name):
    theirs = torch._dynamo.exc
    made = MADE[name]()
    for base in (errors.SutureError, theirs.TorchDynamoException, RuntimeError):
        with pytest.raises(base):
            raise made


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("Unsupported", "Unsupported"),
        ("BackendFailed", "BackendCompilerFailed"),
        ("InvalidBackend", "InvalidBackend"),
        ("RecompileError", "RecompileError"),
        ("RecompileLimitExceeded", "FailOnRecompileLimitHit"),
        ("UserError", "UserError"),
        ("InternalError", "InternalTorchDynamoError"),
    ],
)
def test_caught_by_clauses_written_for_torch(ours, theirs):
    with pytest.raises(getattr(torch._dynamo.exc, theirs)):
        raise MADE[ours]()


def test_torch_is_joined_by_the_first_instance_even_if_dynamo_comes_later():
    program = """
import sys, torch
from suture.exc import Unsupported
assert "torch._dynamo" not in sys.modules
before = Unsupported
try:
    raise Unsupported("no")
except torch._dynamo.exc.Unsupported as caught:
    assert type(caught) is before
else:
    raise SystemExit("not caught")
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_works_where_dynamo_cannot_be_imported():
    program = """
import sys
sys.modules["torch._dynamo"] = None
from suture.exc import Unsupported
try:
    raise Unsupported("the message")
except RuntimeError as caught:
    assert str(caught) == "the message"
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize("name", MADE)
def test_pickled_and_copied_whole(name):
    made = MADE[name]()
    for other in (pickle.loads(pickle.dumps(made)), copy.copy(made)):
        assert type(other) is type(made)
        assert str(other) == str(made)
        assert set(other.__dict__) == set(made.__dict__)


def test_attribute_that_cannot_be_pickled_arrives_as_its_repr():
    made = errors.BackendFailed("mine", KeyError(lambda: 0))
    other = pickle.loads(pickle.dumps(made))
    assert "KeyError" in other.inner_exception


def test_dynamos_counters_are_left_alone():
    before = {key: dict(value) for key, value in torch._dynamo.utils.counters.items()}
    MADE["Unsupported"]()
    assert {key: dict(value) for key, value in torch._dynamo.utils.counters.items()} == before


def test_attributes_that_torchs_handlers_read():
    made = MADE["Unsupported"]()
    assert (made.gb_type, made.msg, made.skip_frame, made.number) == ("T", "no", False, "GB0170")
    assert MADE["UserError"]().message == "no"
    assert MADE["BackendFailed"]().remove_dynamo_frames() is not None
