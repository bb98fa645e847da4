"""What an operation in place cannot write to its tensor, it refuses: in every backend."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Outcome, compare

FLOATS = torch.tensor([1.5, 2.5, 3.5])
WRITES = {
    "a product": lambda i, f: i.mul_(f),
    "a product by the operator": lambda i, f: i.__imul__(f),
    "a product with a number": lambda i, f: i.multiply_(1.5),
    "products": lambda i, f: i.addcmul_(f, f),
    "quotients": lambda i, f: i.addcdiv_(f, f),
    "a part": lambda i, f: i[1:].mul_(f[1:]),
    "a function of one": lambda i, f: i.logit_(),
    "a complex number": lambda i, f: f.add_(2j),
    "complex numbers": lambda i, f: f.mul_(f + 1j),
    "what can be cast": lambda i, f: i.mul_(i).add_(True).copy_(f).ge_(f),
    "what is rounded": lambda i, f: (i.fill_(1.5), f.mul_(f.double())),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", WRITES)
def test_a_result_that_cannot_be_cast_is_refused(name, backend):
    def fn(i, f):
        try:
            WRITES[name](i, f)
        except RuntimeError as error:
            return str(error), i, f
        return i * 2, f

    compiled = suture.compile(fn, backend=backend)
    for _ in range(2):
        plain, ours = (Outcome(g, (torch.arange(3), FLOATS.clone()), {}) for g in (fn, compiled))
        compare(plain, ours, grads=False)
