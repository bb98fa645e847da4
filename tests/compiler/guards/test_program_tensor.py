"""TensorSpec: what it tells apart, on which path, and what it says."""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.overrides import TorchFunctionMode

from suture import _core

_core.configure_tensors((torch.Tensor, nn.Parameter), torch._C.TensorBase)
TensorSpec = _core.TensorSpec


class Sub(torch.Tensor):
    pass


def inference_tensor():
    with torch.inference_mode():
        return torch.zeros(3, 2)


def sliced():
    return torch.zeros(5, 4)[:3, :2]


def was_required():
    return torch.zeros(3, 2).requires_grad_().requires_grad_(False)


def fake():
    return FakeTensorMode().from_tensor(torch.zeros(3, 2))


def quantized():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.zeros(3, 2), 0.1, 0, torch.qint8)


def zeros(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.zeros(3, 2, dtype=dtype)


KINDS = {
    "plain": lambda: torch.zeros(3, 2),
    "required": lambda: torch.zeros(3, 2).requires_grad_(),
    "parameter": lambda: nn.Parameter(torch.zeros(3, 2)),
    "frozen parameter": lambda: nn.Parameter(torch.zeros(3, 2), requires_grad=False),
    "subclass": lambda: torch.zeros(3, 2).as_subclass(Sub),
    "sizes": lambda: torch.zeros(3, 3),
    "swapped": lambda: torch.zeros(2, 3),
    "one dim": lambda: torch.zeros(3),
    "no dim": lambda: torch.zeros(()),
    "empty": lambda: torch.zeros(0, 2),
    "strides": sliced,
    "transposed": lambda: torch.zeros(2, 3).t(),
    "five dims": lambda: torch.zeros(1, 2, 1, 2, 1),
    "six dims": lambda: torch.zeros(1, 2, 1, 2, 1, 2),
    "other six": lambda: torch.zeros(1, 2, 1, 2, 2, 1),
    "nine dims": lambda: torch.zeros([1] * 9),
    "meta": lambda: torch.zeros(3, 2, device="meta"),
    "inference": inference_tensor,
    "conj": lambda: torch.zeros(3, 2, dtype=torch.complex64).conj(),
    "neg": lambda: torch.zeros(3, 2, dtype=torch.complex64).conj().imag,
    "neg lookalike": lambda: torch.zeros(3, 2, dtype=torch.complex64).imag,
    "sparse": lambda: torch.zeros(3, 2).to_sparse(),
    "csr": lambda: torch.zeros(3, 2).to_sparse_csr(),
    "fake": fake,
    "quantized": quantized,
}
for name in """float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool complex64 complex128
        uint16 uint32 uint64 float8_e4m3fn float8_e5m2""".split():
    KINDS[name] = lambda name=name: zeros(getattr(torch, name))
for name in ("int4", "uint4"):
    KINDS[name] = lambda name=name: torch.empty(3, 2, dtype=getattr(torch, name))


def program(spec):
    return _core.GuardProgram((("slot", 0, (("tensor", spec, 4),), ()),))


def unwarned(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def test_the_layout_of_tensors_was_found():
    """With this torch; where it is not found the slower paths below are taken."""
    layout = _core.tensor_layout()
    assert layout["known"]
    assert layout["grad_known"]


def test_each_kind_is_told_from_each_other():
    made = {name: unwarned(make) for name, make in KINDS.items()}
    again = {name: unwarned(make) for name, make in KINDS.items()}
    specs = {name: unwarned(TensorSpec, value) for name, value in made.items()}
    for a, b in itertools.product(KINDS, repeat=2):
        spec, value = specs[a], again[b]
        assert spec.holds(value) == (a == b), (a, b)
        assert (spec.mismatch(value) is None) == (a == b), (a, b)
        assert program(spec).check(value) == (a == b)


def test_each_kind_is_told_apart_without_reading_memory():
    """All facts but one asked for one by one: the paths by DLPack and by Python agree."""
    facts = ["type", "dtype", "device", "layout", "sizes", "strides", "requires_grad", "conj",
             "neg", "inference", "keys"]  # fmt: skip
    made = {name: unwarned(make) for name, make in KINDS.items()}
    again = {name: unwarned(make) for name, make in KINDS.items()}
    for a, value in made.items():
        specs = [unwarned(lambda v, f: TensorSpec(v, check=(f,)), value, fact) for fact in facts]
        for b, other in again.items():
            assert all(spec.holds(other) for spec in specs) == (a == b), (a, b)
            for spec in specs:
                assert spec.holds(other) == (spec.mismatch(other) is None), (a, b, spec)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.zeros(7, 2), "size(0) was 3, is 7"),
        (torch.zeros(2, 3).t(), "stride(0) was 2, is 1"),
        (torch.zeros(3, 2, dtype=torch.float64), "dtype was torch.float32, is torch.float64"),
        (torch.zeros(3, 2, device="meta"), "device was cpu, is meta"),
        (torch.zeros(3), "dim() was 2, is 1"),
        (torch.zeros(3, 2).requires_grad_(), "requires_grad was False, is True"),
        (torch.zeros(3, 2).to_sparse(), "layout was torch.strided, is torch.sparse_coo"),
        (inference_tensor(), "is_inference() was False, is True"),
        (nn.Parameter(torch.zeros(3, 2)), "type was Tensor, is Parameter"),
        (3, "type was Tensor, is int"),
    ],
)
def test_the_mismatch_is_said_in_the_users_terms(value, text):
    spec = TensorSpec(torch.zeros(3, 2))
    assert spec.mismatch(value) == text
    assert program(spec).explain(value) == (4, text)


def test_flags_that_are_not_guarded_do_not_matter():
    spec = TensorSpec(torch.zeros(3, 2))
    base = torch.zeros(9, 2)
    for value in (
        torch.zeros(3, 2).detach(),
        torch.zeros(3, 2).data,
        base[3:6],
        torch.zeros(2, 3, 2)[1],
        torch.zeros(3, 2) + 1,
        torch.zeros(6).view(3, 2),
        was_required(),
        torch.zeros(3, 2, 1)[:, :, 0],
        torch.as_tensor([[0.0, 0.0]] * 3),
    ):
        assert spec.holds(value)
        assert spec.holds(value)
        assert spec.mismatch(value) is None


def test_requires_grad_is_seen_wherever_it_comes_from():
    leaf = torch.zeros(3, 2, requires_grad=True)
    made = leaf * 1
    view = torch.zeros(3, 2)[:]
    frozen = was_required()
    in_place = torch.zeros(3, 2)
    spec = TensorSpec(torch.zeros(3, 2))
    required = TensorSpec(leaf)
    base = torch.zeros(3, 2)
    view_of_base = base[:]
    for value in (view, frozen, in_place, base, view_of_base):
        assert spec.holds(value)
        assert not required.holds(value)
    in_place.mul_(leaf)
    base.mul_(leaf)
    for value in (leaf, made, in_place, base, view_of_base, made[:], leaf.t().t()):
        assert value.requires_grad
        assert required.holds(value)
        assert not spec.holds(value)
        assert not spec.holds(value)
    made = made.detach()
    assert spec.holds(made)
    leaf.requires_grad_(False)
    assert spec.holds(leaf)


def test_changes_in_place_are_seen():
    value = torch.zeros(3, 2)
    spec = TensorSpec(value)
    for change in (
        lambda t: t.t_(),
        lambda t: t.resize_(4, 2),
        lambda t: t.unsqueeze_(0),
        lambda t: t.requires_grad_(),
        lambda t: setattr(t, "data", torch.zeros(3, 2, dtype=torch.float64)),
        lambda t: torch.utils.swap_tensors(t, torch.zeros(3, 3)),
        lambda t: t.set_(torch.zeros(8)),
        lambda t: setattr(t, "__class__", nn.Parameter),
        lambda t: setattr(t, "__class__", Sub),
    ):
        value = torch.zeros(3, 2)
        assert spec.holds(value)
        change(value)
        assert not spec.holds(value)
        assert spec.mismatch(value)


def test_dynamic_dimensions_are_left_to_expressions():
    spec = TensorSpec(torch.zeros(3, 2), dynamic_sizes=(0,), dynamic_strides=(0,))
    assert spec.holds(torch.zeros(9, 2))
    assert not spec.holds(torch.zeros(9, 3))
    assert not spec.holds(torch.zeros(9, 4)[:, ::2])
    assert spec.holds(torch.zeros(9, 4)[:, :2])
    ops = _core.EXPR_OPS
    guards = _core.GuardProgram(
        (
            ("slot", 0, (("tensor", spec, 0),), (), 0),
            ("slot", 1, (("tensor", spec, 1),), (), 1),
            ("slot", 2, (("int", None, 2),), (), 2),
        ),
        exprs=(
            (3, ((0, "size", 0), (1, "size", 0)), (1, 0, 1, 1, ops["eq"])),
            (4, ((0, "stride", 0), (2, "int", None)), (1, 0, 1, 1, ops["lt"])),
            (5, ((0, "storage_offset", None),), (1, 0, 0, 0, ops["eq"])),
            (6, ((0, "size", 0), (2, "int", None)), lambda size, n: size < n),
        ),
    )
    x, y = torch.zeros(5, 2), torch.ones(5, 2)
    assert guards.check(x, y, 6)
    assert guards.failing(x, torch.zeros(6, 2), 6) == 3
    assert guards.failing(torch.zeros(5, 9)[:, :2], y, 6) == 4
    assert guards.failing(torch.zeros(6, 2)[1:], y, 6) == 5
    assert guards.explain(x, y, 4) == (6, "does not hold for (5, 4)")
    assert guards.failing(torch.zeros(5, 2, 1), y, 6) == 0


def test_symbols_beyond_five_dimensions_and_of_other_tensors():
    ops = _core.EXPR_OPS
    for value in (torch.zeros(1, 2, 3, 4, 5, 6, 7), torch.zeros(1, 9, device="meta"), fake()):
        for dim in range(value.dim()):
            for kind, number in (("size", value.size(dim)), ("stride", value.stride(dim))):
                guards = _core.GuardProgram(
                    (("slot", 0, (), (), 0),),
                    exprs=((0, ((0, kind, dim),), (1, 0, 0, number, ops["eq"])),),
                )
                assert guards.check(value)
                assert not guards.check(torch.zeros(()))
                assert not guards.check("text")


def test_its_dimensions_and_its_text():
    spec = TensorSpec(torch.zeros(3, 2), dynamic_sizes=(1,), dynamic_strides=(0,))
    assert spec.sizes == (3, None)
    assert spec.strides == (None, 1)
    assert str(spec) == "Tensor float32[3, *] cpu, stride [*, 1]"
    leaf = TensorSpec(torch.zeros((), requires_grad=True))
    assert leaf.sizes == leaf.strides == ()
    assert str(leaf) == "Tensor float32[] cpu, stride [], requires_grad"


def test_repr_and_wrong_arguments():
    spec = TensorSpec(nn.Parameter(torch.zeros(3, 2)), dynamic_sizes=(1,))
    assert repr(spec) == (
        "TensorSpec(Parameter, torch.float32, cpu, size [3, *], stride [2, 1], requires_grad)"
    )
    with pytest.raises(TypeError, match="takes a tensor, not int"):
        TensorSpec(3)
    with pytest.raises(ValueError, match="no dimension 2"):
        TensorSpec(torch.zeros(3, 2), dynamic_sizes=(2,))
    with pytest.raises(ValueError, match="unknown fact"):
        TensorSpec(torch.zeros(3, 2), check=("colour",))
    with pytest.raises(TypeError, match="no tensor type"):
        _core.configure_tensors((int,), torch._C.TensorBase)


def test_copy_on_write_tensors_stay_lazy():
    value = torch.zeros(3, 2)
    copy = torch._lazy_clone(value)
    spec = TensorSpec(copy)
    assert torch._C._is_cow_tensor(copy)
    assert spec.holds(copy)
    assert spec.mismatch(copy) is None
    assert torch._C._is_cow_tensor(copy)


def test_no_mode_and_no_subclass_sees_the_check():
    seen = []

    class Watching(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    loud = torch.zeros(3, 2).as_subclass(Loud)
    values = [torch.zeros(3, 2), torch.zeros(4, 3)[:, :2], torch.zeros(3, 2)[:], loud]
    with Watching():
        specs = [TensorSpec(value) for value in values]
        specs += [TensorSpec(value, check=("requires_grad", "sizes")) for value in values]
        seen.clear()
        for spec in specs:
            for value in values:
                spec.holds(value)
                spec.mismatch(value)
    assert not seen


def test_sizes_and_devices_are_constants():
    def equals(value):
        return _core.GuardProgram((("slot", 0, (("equals", value, 0),), ()),))

    assert equals(torch.device("cpu")).check(torch.device("cpu"))
    assert not equals(torch.device("cpu")).check(torch.device("cpu", 0))
    assert equals(torch.Size([1, 2])).check(torch.Size([1, 2]))
    assert not equals(torch.Size([1, 2])).check((1, 2))
    assert not equals(torch.Size([1, 2])).check(torch.Size([1, 3]))
    assert equals(torch.float32).check(torch.float32)
    assert not equals(torch.float32).check(torch.float64)


def test_global_state_of_torch():
    guards = _core.GuardProgram(
        (),
        torch_state=(
            (torch.is_grad_enabled, True, 0),
            (torch.get_default_dtype, torch.float32, 1),
            (torch._C._len_torch_function_stack, 0, 2),
            (torch.is_inference_mode_enabled, False, 3),
            (torch._C._is_any_autocast_enabled, False, 4),
        ),
    )
    assert guards.check()
    with torch.no_grad():
        assert guards.explain() == (0, "is_grad_enabled() was True, is False")
    torch.set_default_dtype(torch.float64)
    try:
        assert guards.failing() == 1
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("meta"):
        assert guards.failing() == 2
    with torch.autocast("cpu"):
        assert guards.failing() == 4
    with torch.inference_mode():
        assert guards.failing() == 0
    assert guards.check()


class Own(torch.Tensor):
    """A class of which the core does not know how its tensors lie in memory."""


def tensors_of_memory():
    """Tensors by name, and whether each has memory of its own."""
    whole = torch.zeros(6, 4)
    return {
        "own": (torch.zeros(3), True),
        "parameter": (torch.nn.Parameter(torch.zeros(3)), True),
        "class": (torch.zeros(3).as_subclass(Own), True),
        "whole": (whole, True),
        "view": (whole[1:], False),
        "detached": (whole.detach(), False),
        "data": (whole.data, False),
        "transposed": (whole.t(), False),
        "parameter of it": (torch.nn.Parameter(whole), False),
        "class of it": (whole.as_subclass(Own), False),
        "no numbers": (whole[:0], False),
    }


def apart(*values):
    nodes = tuple(("slot", i, (), (), i) for i in range(len(values)))
    return _core.GuardProgram(nodes, distinct=((tuple(range(len(values))), 5, True),))


def test_the_memory_of_tensors_was_found():
    assert _core.tensor_layout()["memory"] > 0


def test_tensors_on_one_memory_are_told_from_others():
    made = tensors_of_memory()
    whole = made["whole"][0]
    for name, (value, own) in made.items():
        if value is not whole:
            program = apart(whole, value)
            assert program.check(whole, value) is own, name
            assert program.check(whole, torch.zeros(2)), name  # and again, with others
            assert program.check(value, whole) is own, name
    assert apart(1, 2).failing(torch.zeros(2), 3) == 5  # what has no memory


def test_memory_that_becomes_one_is_noticed():
    values = [torch.zeros(3) for _ in range(80)]
    program = apart(*values)
    assert program.check(*values)
    assert program.check(*values)
    values[70].data = values[3].data
    assert not program.check(*values)
    failed = program.explain(*values)
    assert failed == (5, "had memory of their own, two share it")
    values[70].data = torch.ones(3)
    assert program.check(*values)
