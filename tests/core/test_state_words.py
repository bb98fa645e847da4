"""State words: settings of a library that guards read without Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import threading

import pytest
from core_under_test import core

SOURCE = """
#include <stdbool.h>
#include <stdint.h>
static int64_t number;
static uint64_t words[2];
_Thread_local uint64_t own[2];
void set(int64_t to) { number = to; words[1] = (uint64_t)to; own[1] = (uint64_t)to; }
bool told_bool(void) { return number != 0; }
int8_t told_int8(void) { return (int8_t)number; }
int64_t told_int64(void) { return number; }
const uint64_t *told_words(void) { return words; }
"""
KINDS = {
    "bool": "told_bool",
    "int8": "told_int8",
    "int64": "told_int64",
    "words at": "told_words",
    "words of thread": "own",
}

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="read on Linux alone; elsewhere Python is asked"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("SKIPPED LOUDLY: no C compiler")
    folder = tmp_path_factory.mktemp("state_words")
    (folder / "told.c").write_text(SOURCE)
    built = folder / "libtold.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", built, folder / "told.c"], check=True)
    return ctypes.CDLL(str(built)), str(built)


class Asked:
    """A function of no arguments that counts its calls."""

    def __init__(self, answer):
        self.answer = answer
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return self.answer


@pytest.mark.parametrize("kind", KINDS)
def test_python_is_asked_only_where_the_word_changed(library, kind):
    loaded, path = library
    loaded.set(ctypes.c_int64(1))
    asked = Asked("on")
    assert core.state_word(asked, path, KINDS[kind], kind)
    program = core.GuardProgram((), torch_state=((asked, "on", 3),))
    assert all(program.check() for _ in range(5))
    assert asked.calls == 1
    loaded.set(ctypes.c_int64(0))
    asked.answer = "off"
    assert program.failing() == 3
    assert not program.check()
    asked.answer = "on"  # the word changed, the answer did not: remembered from then on
    before = asked.calls
    assert all(program.check() for _ in range(5))
    assert asked.calls == before + 1


def test_each_thread_has_its_own_words(library):
    loaded, path = library
    loaded.set(ctypes.c_int64(1))
    asked = Asked("on")
    assert core.state_word(asked, path, "own", "words of thread")
    program = core.GuardProgram((), torch_state=((asked, "on", 0),))
    assert program.check()
    asked.answer = "off"
    assert program.check()  # this thread's words did not move
    seen = []
    thread = threading.Thread(target=lambda: seen.append(program.check()))
    thread.start()
    thread.join()
    assert seen == [False]  # that one's are others


def test_without_the_symbol_python_is_asked(library):
    _, path = library
    asked = Asked("on")
    assert not core.state_word(asked, path, "no_such_symbol", "bool")
    assert not core.state_word(asked, "no_such_library.so", "told_bool", "bool")
    program = core.GuardProgram((), torch_state=((asked, "on", 0),))
    assert [program.check() for _ in range(3)] == [True] * 3
    assert asked.calls == 3


def test_wrong_descriptions_are_refused(library):
    _, path = library
    with pytest.raises(ValueError, match="no kind of state word: 'float'"):
        core.state_word(int, path, "told_bool", "float")
    with pytest.raises(TypeError):
        core.state_word(int, path)
