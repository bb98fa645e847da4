"""The guard of a device that the machine lacks lives as long as the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]

# Small blocks of memory are used again, and hold other things then.
PROGRAM = """
import ctypes, sys, threading
import torch
import suture

def fn(x):
    return x.sin() + len(x)

def compiles(shape):
    suture.reset()
    x = torch.ones(shape)
    assert torch.equal(suture.compile(fn, backend="eager")(x), fn(x))

thread = threading.Thread(target=compiles, args=((2,),))
thread.start()
thread.join()
library = ctypes.CDLL(None)
library.malloc.restype = ctypes.c_void_p
library.malloc.argtypes = [ctypes.c_size_t]
for i in range(200_000):
    ctypes.memset(library.malloc(8 + i % 3 * 8), 0x41, 8)
compiles((3,))
print("compiled twice")
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="the device is here")
def test_the_first_thread_that_compiles_may_end():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT)
    assert "compiled twice" in done.stdout, (done.returncode, done.stderr[-2000:])
