"""The releases of torch that suture was tried on, and what is done only on those."""

from __future__ import annotations

import warnings

import torch

from suture import config

OLDEST = (2, 11)
NEWEST = (2, 15)


def release() -> tuple[int, int]:
    """The release of this torch: (2, 13)."""
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def nearest() -> tuple[int, int]:
    """The tried release that is nearest to this one: its names are those that are expected."""
    return min(max(release(), OLDEST), NEWEST)


def was_tried() -> bool:
    """Whether suture was tried on this release."""
    return OLDEST <= release() <= NEWEST


def tried() -> str:
    """The releases that suture was tried on, as text."""
    return f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"


def reads_memory() -> bool:
    """Whether the core may read tensors and torch's state where they lie in memory.

    No release promises where that is. It is found out with probes, which would not notice a word
    that means something new: so only on releases that were tried.
    """
    return config.native_layout and was_tried()


def forgets_factors() -> bool:
    """Whether Inductor makes `x.add(a @ b, alpha=k)` a sum without the factor, as it did before
    2.15."""
    return release() < (2, 15)


def asks_for_groups() -> bool:
    """Whether an optimizer asks for the dtype of each group of tensors, which torch leaves out
    while compiling: Adafactor did before 2.13."""
    return release() < (2, 13)


def guards_end_with_threads() -> bool:
    """Whether the guard of a device that the machine lacks goes with the thread that made it."""
    return release() < (2, 12)


def warn_if_untried() -> None:
    """One warning where this torch is none that suture was tried on."""
    if not was_tried():
        warnings.warn(
            f"suture was tried on torch {tried()}, not on {torch.__version__}: the memory of"
            " tensors is not read directly, and features whose private names are gone are off"
            " (`suture doctor` lists them)",
            RuntimeWarning,
            stacklevel=2,
        )
