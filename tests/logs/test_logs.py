"""What is logged, at which level, and where it goes."""

import logging
import subprocess
import sys

import pytest

from suture import logs


@pytest.fixture(autouse=True)
def _logs_off_afterwards():
    yield
    logs.set_logs()


def level(topic):
    return logging.getLogger(f"suture.{topic}").getEffectiveLevel()


def test_by_default_only_warnings():
    assert {level(topic) for topic in logs.TOPICS} == {logging.WARNING}


def test_a_program_that_shows_info_is_told_nothing_more():
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.DEBUG)
    try:
        assert {level(topic) for topic in logs.TOPICS} == {logging.WARNING}
    finally:
        root.setLevel(before)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", {}),
        ("breaks", {"breaks": logging.INFO}),
        (" breaks , +guards,", {"breaks": logging.INFO, "guards": logging.DEBUG}),
        ("-rules,trace:debug", {"rules": logging.ERROR, "trace": logging.DEBUG}),
        ("all,code:off", dict.fromkeys(logs.TOPICS, logging.INFO) | {"code": 60}),
    ],
)
def test_parse(text, levels):
    assert logs.parse(text) == levels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("brakes", "did you mean breaks"),
        ("zzz", "the topics are breaks"),
        ("breaks:loud", "'loud' is no log level"),
    ],
)
def test_what_makes_no_sense_is_named_and_changes_nothing(text, message):
    logs.set_logs("guards")
    with pytest.raises(ValueError, match=message):
        logs.set_logs(text)
    assert level("guards") == logging.INFO


def test_set_logs_by_keyword():
    logs.set_logs("code", breaks=True, guards="debug", rules=logging.ERROR, trace=False)
    assert [level(one) for one in ("code", "breaks", "guards", "rules", "trace")] == [
        logging.INFO,
        logging.INFO,
        logging.DEBUG,
        logging.ERROR,
        logging.WARNING,
    ]
    logs.set_logs(graphs=True)
    assert level("breaks") == logging.WARNING
    with pytest.raises(ValueError, match="brakes"):
        logs.set_logs(brakes=True)


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", "import logging, suture.logs\n" + program],
        env={"PYTHONPATH": ":".join(filter(None, sys.path)), **environment},
        capture_output=True,
        text=True,
    ).stderr


SAY = """
logging.getLogger("suture.breaks").info("one %s", 1)
logging.getLogger("suture.code").info("two")
logging.getLogger("suture.code").warning("three")
"""


def test_shown_on_standard_error_as_the_environment_asks():
    assert run(SAY) == "three\n"
    assert run(SAY, SUTURE_LOGS="breaks") == "[suture.breaks] one 1\n[suture.code] three\n"


def test_shown_once_where_the_program_has_its_own_handlers():
    program = "logging.basicConfig(format='%(message)s')\n" + SAY
    assert run(program, SUTURE_LOGS="breaks") == "one 1\nthree\n"


def test_a_wrong_word_in_the_environment_warns_and_the_rest_counts():
    told = run(SAY, SUTURE_LOGS="braeks,breaks")
    assert (
        "SUTURE_LOGS='braeks,breaks': suture logs no topic 'braeks': did you mean breaks?" in told
    )
    assert "[suture.breaks] one 1" in told
