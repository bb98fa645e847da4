"""Guards read torch's state where torch keeps it."""

from __future__ import annotations

import contextlib
import sys
import threading

import pytest
import torch

from suture import _core
from suture.runtime import state_words, torch_state


class Mode(torch.overrides.TorchFunctionMode):
    pass


@contextlib.contextmanager
def default_dtype():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def level():
    torch._C._functorch._vmap_increment_nesting(3, "error")
    try:
        yield
    finally:
        torch._C._functorch._vmap_decrement_nesting()


CHANGES = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu"),
    "autocast of another device": lambda: torch.autocast("cuda", dtype=torch.float16),
    "default dtype": default_dtype,
    "function mode": Mode,
    "dispatch mode": torch.utils._python_dispatch.TorchDispatchMode,
    "transform": level,
}
READERS = (*torch_state.READERS, torch._C._len_torch_function_stack)


def program():
    return _core.GuardProgram(
        (), torch_state=tuple((read, read(), i) for i, read in enumerate(READERS))
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Python is asked elsewhere")
def test_every_state_word_is_found():
    assert len(state_words.install()) == len(state_words._STATE_WORDS)


@pytest.mark.filterwarnings("ignore:User provided device_type of 'cuda'")
@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_noticed_and_its_end_too(change):
    made = program()
    assert made.check()
    for _ in range(2):
        if "another device" in change and not torch.cuda.is_available():
            entered = contextlib.nullcontext()
        else:
            entered = CHANGES[change]()
        with entered:
            expected = all(read() == now for read, now in zip(READERS, BEFORE))
            assert made.check() == expected
        assert made.check()


BEFORE = [read() for read in READERS]


def test_the_state_of_another_thread_does_not_count():
    made = program()
    seen = []

    def other():
        seen.append(made.check())
        with torch.no_grad():
            seen.append(made.check())

    with torch.no_grad():
        assert not made.check()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [True, False]
    assert made.check()
