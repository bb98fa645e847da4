"""Functions that a program has put in the place of torch's."""

from __future__ import annotations

import functools
import os
import sysconfig
from types import FunctionType
from typing import Any

import torch

_OWN = os.path.dirname(os.path.dirname(__file__))


def is_replaced(found: Any) -> bool:
    """Whether a function that stands where torch has one is another's. Its code is in no file of
    torch, of suture or of Python's library, of which wrappers of torch's functions are made."""
    return type(found) is FunctionType and _is_foreign(found.__code__.co_filename)


def is_modules_own(found: Any, name: str) -> bool:
    """Whether a function is the method that nn.Module itself has under `name`."""
    if type(found) is not FunctionType:
        return False
    code = found.__code__
    return code.co_name == name and code.co_filename == torch.nn.modules.module.__file__


@functools.cache
def _is_foreign(file: str) -> bool:
    if file.startswith("<"):  # code that was made of text: nobody knows whose
        return False
    library = sysconfig.get_path("stdlib")
    if _lies_in(file, library) and not _lies_in(file, sysconfig.get_path("purelib")):
        return "-packages" in os.path.relpath(file, library).partition(os.sep)[0]
    return not (
        _lies_in(file, os.path.dirname(torch.__file__))
        or _lies_in(file, _OWN)
        or os.path.basename(file) == "typing_extensions.py"  # its `deprecated`
    )


def _lies_in(file: str, folder: str) -> bool:
    return file.startswith((folder + os.sep, os.path.realpath(folder) + os.sep))
