"""Options: reading, setting, patching, the environment."""

import subprocess
import sys

import pytest

from suture import config


def imported_with(**environment):
    """What `import suture.config` prints and answers with these variables set."""
    program = "import suture.config as c; print(c.snapshot())"
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), **environment},
        capture_output=True,
        text=True,
    )


def test_every_option_is_described():
    described = config.describe()
    assert {one.name for one in described} >= {"recompile_limit", "strict", "trace_dir", "logs"}
    for one in described:
        assert one.doc.endswith("."), one.name
        assert one.environment[0] == "SUTURE_" + one.name.upper()
        assert type(one.default) is one.type
        assert getattr(config, one.name) == one.value


def test_patch_as_context_manager_puts_back_also_after_an_error():
    before = config.snapshot()
    with pytest.raises(KeyError), config.patch(recompile_limit=2, strict=True):
        assert (config.recompile_limit, config.strict) == (2, True)
        raise KeyError
    assert config.snapshot() == before


def test_patch_as_decorator_holds_for_each_call():
    @config.patch(recompile_limit=3)
    def limit(depth):
        return (config.recompile_limit, *(limit(depth - 1) if depth else ()))

    assert limit(2) == (3, 3, 3)
    assert limit(0) == (3,)
    assert config.recompile_limit == 8


def test_patch_sets_nothing_if_one_value_is_wrong():
    with pytest.raises(TypeError), config.patch(strict=True, recompile_limit="2"):
        pass
    assert config.strict is False


def test_setting_by_assignment(monkeypatch):
    monkeypatch.setattr(config, "recompile_limit", 4)
    assert config.recompile_limit == 4
    monkeypatch.undo()
    assert config.recompile_limit == 8


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("recompil_limit", 3, AttributeError, "did you mean recompile_limit"),
        ("zzz", 3, AttributeError, "the options are recompile_limit"),
        ("recompile_limit", True, TypeError, "takes int, not bool"),
        ("recompile_limit", -1, ValueError, "at least 0"),
        ("strict", 1, TypeError, "takes bool, not int"),
        ("logs", "breaks", AttributeError, "set_logs"),
    ],
)
def test_what_cannot_be_set(name, value, error, text):
    with pytest.raises(error, match=text):
        setattr(config, name, value)
    with pytest.raises(error, match=text), config.patch(**{name: value}):
        pass


def test_unknown_names_are_answered_with_near_ones():
    with pytest.raises(AttributeError, match="did you mean recompile_limit"):
        _ = config.recompil_limit
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del config.strict


def test_environment_sets_options():
    done = imported_with(SUTURE_STRICT="yes", SUTURE_RECOMPILE_LIMIT=" 3 ", SUTURE_TRACE="out")
    values = eval(done.stdout)
    assert (values["strict"], values["recompile_limit"], values["trace_dir"]) == (True, 3, "out")
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("SUTURE_STRICT", "maybe", "SUTURE_STRICT='maybe' is no truth value"),
        ("SUTURE_RECOMPILE_LIMIT", "many", "SUTURE_RECOMPILE_LIMIT='many' is no integer"),
        ("SUTURE_UNROLL_LIMIT", "0", "SUTURE_UNROLL_LIMIT must be at least 1"),
    ],
)
def test_environment_that_makes_no_sense_is_named(name, text, message):
    done = imported_with(**{name: text})
    assert done.returncode == 1
    assert message in done.stderr.splitlines()[-1]


def test_misspelt_variable_is_warned_about():
    done = imported_with(SUTURE_RECOMPILE_LIMT="3", SUTURE_SOMETHING_ELSE="1")
    assert "SUTURE_RECOMPILE_LIMT is no option" in done.stderr
    assert "did you mean SUTURE_RECOMPILE_LIMIT" in done.stderr
    assert "SOMETHING_ELSE" not in done.stderr
