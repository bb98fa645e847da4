"""The compiler is loaded at the first miss, also where threads have their first ones at once."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading
import torch, suture

def fn(x):
    for i in range(3):
        x = x.sin() + i
    return x

compiled = suture.compile(fn, backend="eager")
x, together, errors = torch.randn(3), threading.Barrier(4), []

def job():
    together.wait()
    try:
        assert torch.equal(compiled(x), fn(x))
    except BaseException as error:
        errors.append(error)

assert "suture.compiler.pipeline" not in sys.modules
sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=job) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if errors:
    raise errors[0]
"""


def test_threads_that_miss_while_another_one_loads_the_compiler_wait_for_it():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
