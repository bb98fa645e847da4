"""Kernels for processors that one graph needs are compiled together, and are what they were."""

from __future__ import annotations

import pytest
import torch
from torch._inductor import async_compile
from torch._inductor.utils import fresh_cache

import suture
from suture.torch_private import kernel_libraries

pytestmark = pytest.mark.usefixtures("fresh")


@pytest.fixture
def fresh():
    """Caches of Inductor that are empty."""
    with fresh_cache():
        yield


@pytest.fixture
def threads(monkeypatch):
    """Sets how many kernels Inductor compiles at once."""
    return lambda count: monkeypatch.setattr(async_compile, "get_compile_threads", lambda: count)


@pytest.fixture
def built(monkeypatch):
    """How many kernels were in each library that was put together."""
    sizes: list[int] = []
    real = kernel_libraries.put_together

    def counted(texts):
        sizes.append(len(texts))
        return real(texts)

    monkeypatch.setattr(kernel_libraries, "put_together", counted)
    return sizes


def four_kernels(x, w):
    """Products of matrices keep them apart."""
    x = torch.relu(x + 1) @ w
    x = (x.exp() * 2) @ w
    x = (x - x.mean(-1, keepdim=True)) @ w
    return x.sin().sum(0)


def inputs():
    torch.manual_seed(0)
    return torch.randn(8, 16), torch.randn(16, 16) * 0.1


def run_and_compare(program=four_kernels):
    suture.reset()
    given = inputs()
    found = suture.compile(program)(*given)
    torch.testing.assert_close(found, program(*given))


def test_kernels_of_a_graph_are_in_as_many_libraries_as_are_compiled_at_once(threads, built):
    threads(2)
    run_and_compare()
    assert built == [2, 2]


def test_one_thread_compiles_one_library(threads, built):
    threads(1)
    run_and_compare()
    assert built == [4]


def test_kernels_that_are_compiled_at_once_anyway_are_libraries_of_their_own(threads, built):
    threads(8)
    run_and_compare()
    assert built == []


def test_forward_and_backward(threads, built):
    threads(1)
    x, w = inputs()
    x.requires_grad_()
    suture.reset()
    suture.compile(four_kernels)(x, w).sum().backward()
    found, x.grad = x.grad, None
    four_kernels(x, w).sum().backward()
    torch.testing.assert_close(found, x.grad)
    assert len(built) == 2


def test_a_library_that_fails_is_compiled_in_parts(threads, monkeypatch):
    threads(2)
    asked = []
    monkeypatch.setattr(kernel_libraries, "put_together", lambda t: asked.append(t) or "#error no")
    run_and_compare()
    assert len(asked) == 2


def test_one_kernel_stays_alone(threads, built):
    threads(1)
    run_and_compare(lambda x, w: x.sin() + 1)
    assert built == []


def test_a_kernel_with_other_headers_or_macros_stays_alone():
    header = "#include <torch/csrc/inductor/cpp_prefix.h>\n"
    plain = header + 'extern "C" void kernel() {\n    #pragma omp simd\n}'
    assert kernel_libraries._may_be_put_together(plain)
    assert not kernel_libraries._may_be_put_together("#include <vector>\n" + plain)
    assert not kernel_libraries._may_be_put_together("#define N 1\n" + plain)
    assert not kernel_libraries._may_be_put_together(plain + 'extern "C" void other() {}')


def test_a_library_has_no_more_kernels_than_the_limit():
    kernels = [kernel_libraries._Kernel("x" * i, ((), {})) for i in range(40)]
    groups = list(kernel_libraries._groups(kernels, 2))
    assert sum(map(len, groups)) == 40
    assert max(map(len, groups)) <= 16
    assert len(groups) == 3


@pytest.mark.skipif(
    torch.__version__ < (2, 13), reason="its kernels divide by zero, which ends the process"
)
def test_errors_of_kernels_are_raised(threads):
    threads(1)

    def divides(x, y, w):
        a = (x // y).float() @ w
        b = (a + 1) @ w
        return b.exp()

    given = torch.tensor([[1, 2]]), torch.tensor([[1, 1]]), torch.randn(2, 2)
    compiled = suture.compile(divides)
    torch.testing.assert_close(compiled(*given), divides(*given))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(given[0], torch.tensor([[1, 0]]), given[2])


def test_torchs_methods_are_back_behind_the_block():
    before = async_compile.AsyncCompile.cpp_pybinding, async_compile.AsyncCompile.wait
    with kernel_libraries.together():
        with kernel_libraries.together():
            pass
        assert async_compile.AsyncCompile.wait is not before[1]
    assert (async_compile.AsyncCompile.cpp_pybinding, async_compile.AsyncCompile.wait) == before


def test_a_torch_that_hands_kernels_over_in_another_way_is_left_alone(monkeypatch):
    def other(self, kernels):
        """Another signature."""

    monkeypatch.setattr(async_compile.AsyncCompile, "cpp_pybinding", other)
    with kernel_libraries.together():
        assert async_compile.AsyncCompile.cpp_pybinding is other
