"""Inductor tries no more instruction sets than it takes to find the one that it uses."""

from __future__ import annotations

import functools
import platform

import pytest
import torch._inductor.config
from torch._inductor import cpu_vec_isa

from suture.torch_private import vector_isa

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="elsewhere there is no list to try"
)


class Isa:
    """An instruction set of the machine that the tests have; `tried` are those that were asked."""

    tried: list[str] = []

    def __init__(self, name, works, width):
        self.name, self.works, self.width = name, works, width

    def __str__(self):
        return self.name

    def __bool__(self):
        self.tried.append(self.name)
        return self.works

    def bit_width(self):
        return self.width


@pytest.fixture
def machine(monkeypatch):
    """Makes the list of candidates, each as (name, whether it works); the processor has all but
    "amx_tile"."""
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    monkeypatch.setattr(cpu_vec_isa, "x86_isa_checker", lambda: ["avx2", "avx512", "avx512_vnni"])
    fresh = functools.cache(cpu_vec_isa.valid_vec_isa_list.__wrapped__)
    monkeypatch.setattr(cpu_vec_isa, "valid_vec_isa_list", fresh)
    monkeypatch.setattr(vector_isa, "_found", [])
    monkeypatch.setattr(Isa, "tried", [])

    def make(*told):
        widths = {"avx2": 256}
        isas = [Isa(name, works, widths.get(name, 512)) for name, works in told]
        monkeypatch.setattr(cpu_vec_isa, "supported_vec_isa_list", isas)
        return isas

    return make


ALL = (("avx512 avx512_vnni amx_tile", True), ("avx512 avx512_vnni", True), ("avx2", True))


def test_the_first_that_works_is_tried_alone(machine):
    isas = machine(*ALL)
    with vector_isa.first_alone():
        assert cpu_vec_isa.pick_vec_isa() is isas[1]
        assert cpu_vec_isa.pick_vec_isa() is isas[1]
    assert Isa.tried == ["avx512 avx512_vnni"]
    assert cpu_vec_isa.supported_vec_isa_list is isas


def test_those_that_do_not_work_are_passed_over(machine):
    isas = machine(("avx512 avx512_vnni", False), ("avx512", False), ("avx2", True))
    with vector_isa.first_alone():
        assert cpu_vec_isa.pick_vec_isa() is isas[2]


def test_none_works(machine):
    machine(("avx512", False), ("avx2", False))
    with vector_isa.first_alone():
        assert cpu_vec_isa.pick_vec_isa() is cpu_vec_isa.invalid_vec_isa


def test_torch_tries_all_behind_the_block(machine):
    isas = machine(*ALL)
    before = cpu_vec_isa.valid_vec_isa_list
    with vector_isa.first_alone():
        with vector_isa.first_alone():
            cpu_vec_isa.pick_vec_isa()
        assert cpu_vec_isa.valid_vec_isa_list is not before
    assert cpu_vec_isa.valid_vec_isa_list is before
    assert cpu_vec_isa.valid_vec_isa_list() == isas[1:]


def test_a_width_that_is_asked_for_is_looked_for_among_all(machine):
    isas = machine(*ALL)
    with vector_isa.first_alone(), torch._inductor.config.patch({"cpp.simdlen": 256}):
        assert cpu_vec_isa.pick_vec_isa() is isas[2]


def test_a_capability_that_is_asked_for_is_looked_for_among_all(machine, monkeypatch):
    isas = machine(*ALL)
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    with vector_isa.first_alone():
        assert cpu_vec_isa.pick_vec_isa() is isas[2]


def test_a_torch_that_finds_them_in_another_way_is_left_alone(machine, monkeypatch):
    machine(*ALL)
    other = functools.cache(lambda: ["another"])
    monkeypatch.setattr(cpu_vec_isa, "valid_vec_isa_list", other)
    with vector_isa.first_alone():
        assert cpu_vec_isa.valid_vec_isa_list is other


def test_an_error_of_a_try_is_torchs(machine):
    isas = machine(*ALL)

    def fail():
        raise RuntimeError("no room on the disk")

    isas[1].__class__ = type("Failing", (Isa,), {"__bool__": lambda self: fail()})
    with vector_isa.first_alone(), pytest.raises(RuntimeError, match="no room"):
        cpu_vec_isa.pick_vec_isa()
    assert cpu_vec_isa.supported_vec_isa_list is isas


# ---- one try


@pytest.fixture
def tries(monkeypatch):
    """The programs that torch compiled itself, all of which fail; a kernel can be compiled."""
    found: list[str] = []
    base = cpu_vec_isa.VecISA
    monkeypatch.setattr(base, "check_build", lambda self, code: bool(found.append(code)))
    monkeypatch.setattr(base, "_probe_load", lambda self, path: path == "library", raising=False)
    monkeypatch.setattr(vector_isa, "_compiled", lambda isa, code: "library")
    return found


VNNI = cpu_vec_isa.VecAVX512VNNI
HEADERS = cpu_vec_isa.VecISA._avx_code


def test_programs_that_work_as_kernels_are_not_compiled_again(tries):
    isa = VNNI()
    with vector_isa._tried_as_kernels(cpu_vec_isa):
        assert isa.check_build(HEADERS)
        assert isa.check_build(isa._avx512_vnni_code)
        assert tries == []
        assert not isa.check_build(isa._avx512_bf16_code)
    assert tries == [isa._avx512_bf16_code]
    assert not isa.check_build(HEADERS)


@pytest.mark.parametrize("how", ["does not compile", "does not load"])
def test_torch_tries_what_does_not_work_as_a_kernel(tries, monkeypatch, how):
    def compiled(isa, code):
        if how == "does not load":
            return "another library"
        raise RuntimeError("no such option")

    monkeypatch.setattr(vector_isa, "_compiled", compiled)
    isa = VNNI()
    with vector_isa._tried_as_kernels(cpu_vec_isa):
        assert not isa.check_build(HEADERS)
        assert not isa.check_build(isa._avx512_vnni_code)
    assert tries == [HEADERS, isa._avx512_vnni_code]


def test_torch_tries_instruction_sets_whose_options_are_not_known_yet(tries):
    with vector_isa._tried_as_kernels(cpu_vec_isa):
        assert not cpu_vec_isa.VecAVX512().check_build(HEADERS)
        assert not cpu_vec_isa.VecAMX().check_build(HEADERS)
    assert tries == [HEADERS, HEADERS]


def test_torch_tries_where_headers_are_not_compiled_beforehand(tries):
    with (
        torch._inductor.config.patch(cpp_cache_precompile_headers=False),
        vector_isa._tried_as_kernels(cpu_vec_isa),
    ):
        assert not VNNI().check_build(HEADERS)


@pytest.mark.skipif(
    not hasattr(cpu_vec_isa.VecISA, "_probe_load"), reason="this torch imports itself in each try"
)
def test_the_instruction_set_of_this_processor_works_as_a_kernel():
    isa = cpu_vec_isa.pick_vec_isa()
    works = vector_isa._work_as_kernels(cpu_vec_isa, isa)
    assert bool(works) == (str(isa) in vector_isa._FIXED)
