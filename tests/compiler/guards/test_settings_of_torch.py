"""What a function asks of torch's settings is asked again in later calls, also inside of blocks
that switch others."""

from __future__ import annotations

import pytest
import torch

import suture

X = torch.ones(2)

# (what is asked, how the setting is changed and changed back)
SETTINGS = {
    "whether nondeterministic algorithms only warn": (
        lambda: 1.0 + torch.is_deterministic_algorithms_warn_only_enabled(),
        lambda: torch.use_deterministic_algorithms(True, warn_only=True),
        lambda: torch.use_deterministic_algorithms(True),
    ),
    "the mode of deterministic algorithms": (
        lambda: 1.0 + torch.get_deterministic_debug_mode(),
        lambda: torch.set_deterministic_debug_mode("warn"),
        lambda: torch.set_deterministic_debug_mode("error"),
    ),
    "whether warnings are given always": (
        lambda: 1.0 + torch.is_warn_always_enabled(),
        lambda: torch.set_warn_always(True),
        lambda: torch.set_warn_always(False),
    ),
    "the precision of products of matrices": (
        lambda: len(torch.get_float32_matmul_precision()),
        lambda: torch.set_float32_matmul_precision("high"),
        lambda: torch.set_float32_matmul_precision("highest"),
    ),
    "how modules are converted": (
        lambda: 1.0 + torch.__future__.get_overwrite_module_params_on_conversion(),
        lambda: torch.__future__.set_overwrite_module_params_on_conversion(True),
        lambda: torch.__future__.set_overwrite_module_params_on_conversion(False),
    ),
    "the dtype of autocast": (
        lambda: len(str(torch.get_autocast_dtype("cpu"))),
        lambda: torch.set_autocast_dtype("cpu", torch.float16),
        lambda: torch.set_autocast_dtype("cpu", torch.bfloat16),
    ),
    "the dtype of autocast, by the name of the argument": (
        lambda: len(str(torch.get_autocast_dtype(device_type="cpu"))),
        lambda: torch.set_autocast_dtype("cpu", torch.float16),
        lambda: torch.set_autocast_dtype("cpu", torch.bfloat16),
    ),
}


@pytest.fixture(autouse=True)
def settings():
    deterministic = torch.get_deterministic_debug_mode()
    yield
    torch.set_deterministic_debug_mode(deterministic)


def _plainly(ask):
    return lambda x: x * ask()


def _without_gradients(ask):
    def fn(x):
        with torch.no_grad():
            return x * ask()

    return fn


@pytest.mark.parametrize("around", [_plainly, _without_gradients])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_changes(name, around):
    suture.reset()
    ask, change, back = SETTINGS[name]
    fn = around(ask)
    compiled = suture.compile(fn, backend="eager")
    for step in (back, change, back, change):
        step()
        torch.testing.assert_close(compiled(X), fn(X))
    assert suture.stats().graphs == 2
    assert not suture.stats().breaks
    back()


def test_a_setting_that_is_kept_for_another_process(tmp_path):
    suture.reset()
    ask, change, back = SETTINGS["the dtype of autocast"]
    fn = _plainly(ask)
    with suture.config.patch(cache_dir=str(tmp_path)):
        for step in (back, change, back, change):
            step()
            suture.reset()
            torch.testing.assert_close(suture.compile(fn, backend="eager")(X), fn(X))
    assert len(list(tmp_path.glob("??/*/*.variant"))) == 2
    back()


def test_what_the_region_itself_switches_is_no_setting_from_outside():
    def fn(x):
        torch.use_deterministic_algorithms(True, warn_only=True)
        x = x * torch.get_deterministic_debug_mode()
        torch.use_deterministic_algorithms(False)
        with torch.autocast("cpu", dtype=torch.float16):
            return x * len(str(torch.get_autocast_dtype("cpu")))

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for _ in range(3):
        torch.testing.assert_close(compiled(X), fn(X))
    assert suture.stats().graphs == 1
    assert not suture.stats().breaks
