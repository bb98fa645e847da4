"""Classes of tensors as libraries write them: images and boxes, quantized parameters."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch._C import DisableTorchFunctionSubclass

import suture
from tests.harness import Graphs, check

KEEP_THE_CLASS = {torch.Tensor.clone, torch.Tensor.to, torch.Tensor.detach}


class Annotation(torch.Tensor):
    """Operations give plain tensors, but for a few that keep the class."""

    @classmethod
    def _wrapped(cls, output):
        if isinstance(output, torch.Tensor) and not isinstance(output, cls):
            output = output.as_subclass(cls)
        if isinstance(output, (tuple, list)):
            output = type(output)(cls._wrapped(part) for part in output)
        return output

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            output = func(*args, **kwargs or {})
        if func in KEEP_THE_CLASS and isinstance(args[0], cls):
            return cls._wrapped(output)
        return output.as_subclass(torch.Tensor) if isinstance(output, cls) else output

    @property
    def shape(self):
        with DisableTorchFunctionSubclass():
            return super().shape

    @property
    def dtype(self):
        with DisableTorchFunctionSubclass():
            return super().dtype


class Image(Annotation):
    def __new__(cls, data, *, dtype=None):
        tensor = torch.as_tensor(data, dtype=dtype).requires_grad_(False)
        if tensor.ndim < 2:
            raise ValueError(f"{tensor.ndim} dimensions")
        return tensor.as_subclass(cls)


class Boxes(Annotation):
    form: str

    def __new__(cls, data, *, form):
        made = torch.as_tensor(data).as_subclass(cls)
        made.form = form
        return made


def like(plain, model):
    if isinstance(model, Boxes):
        return Boxes(plain, form=model.form)
    return plain.as_subclass(type(model))


def test_images_and_boxes():
    def fn(image, boxes):
        small = F.interpolate(image[None], size=(2, 2), mode="bilinear").squeeze(0)
        moved = like(boxes + 1, boxes)
        kept = image.clone(), image.to(torch.float64), image.shape, image.dtype
        return like(small, image), moved, moved.form, kept, image * 2

    def make():
        return Image(torch.randn(3, 4, 4)), Boxes(torch.randn(2, 4), form="corners")

    check(fn, make=make)


def test_images_made_inside():
    def fn(x):
        image = Image(x)
        return image * 2, image.clone(), like(x * 2, image)

    check(fn, torch.randn(3, 4, 4))


class Packed(torch.nn.Parameter):
    """A parameter of packed numbers that knows how they are packed; so do all its parts."""

    def __new__(cls, data, requires_grad=False, packing=None):
        made = torch.Tensor._make_subclass(cls, data, requires_grad)
        made.packing = packing
        return made

    def as_tensor(self):
        return torch.Tensor._make_subclass(torch.Tensor, self, self.requires_grad)

    @staticmethod
    def _packing(args):
        for arg in args:
            if isinstance(arg, (list, tuple)) and isinstance(arg[0], Packed):
                return arg[0].packing
            if isinstance(arg, Packed):
                return arg.packing
        return None

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        packing = cls._packing(args)
        if isinstance(result, torch.Tensor):
            return cls(result, packing=packing)
        if type(result) in (list, tuple) and isinstance(result[0], torch.Tensor):
            return type(result)([cls(part, packing=packing) for part in result])
        return result


class PackedLinear(torch.nn.Linear):
    def forward(self, x):
        scale = 2.0 if self.weight.packing == "double" else 1.0
        weight = self.weight.as_tensor().to(x.dtype) * scale
        return F.linear(x, weight, self.bias)


def test_a_layer_with_a_packed_weight():
    layer = PackedLinear(3, 4)
    layer.weight = Packed(torch.randint(0, 5, (4, 3), dtype=torch.uint8), packing="double")
    graphs = Graphs()
    compiled = suture.compile(layer, backend=graphs)
    x = torch.randn(2, 3)
    assert torch.equal(compiled(x), layer(x)) and len(graphs) == 1
    layer.weight.packing = "single"
    assert torch.equal(compiled(x), layer(x))


def test_parts_of_a_packed_weight_know_their_packing():
    def fn(p):
        first, _ = p.chunk(2)
        return p + 1, p.view(-1).packing, torch.cat([p, p]).packing, first.packing

    check(fn, make=lambda: (Packed(torch.randn(4, 3), packing="double"),))
