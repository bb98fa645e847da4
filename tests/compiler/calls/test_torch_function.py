"""`__torch_function__` of subclasses and of other objects is traced."""

from __future__ import annotations

import copyreg

import torch
from torch.overrides import (
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    wrap_torch_function,
)

import suture
from tests.harness import check


class Tagging(torch.Tensor):
    """Takes sin over, and hands a tag from the first argument to results."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.sin:
            return torch.cos(args[0].as_subclass(torch.Tensor)).as_subclass(cls)
        ret = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(ret, torch.Tensor):
            ret.tag = getattr(args[0], "tag", 0) if isinstance(args[0], torch.Tensor) else None
        return ret


class Asking(torch.Tensor):
    """Looks at the function it is asked with."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func == torch.Tensor.shape.__get__:
            return "a shape"
        if torch.overrides.is_tensor_method_or_property(func):
            if torch.overrides.resolve_name(func) == "torch.Tensor.cos":
                return 7
        if func in {torch.Tensor.tanh, torch.tanh}:
            return 8
        return super().__torch_function__(func, types, args, kwargs)


class Plain(torch.Tensor):
    """Gives back plain tensors."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class Derived(Tagging):
    pass


class Carried(torch.Tensor):
    pass


def tensor(kind, *shape):
    return torch.randn(*(shape or (4,))).as_subclass(kind)


def test_an_operation_that_the_class_takes_over():
    check(lambda x: x.sin() + 1, tensor(Tagging))


def test_operators_methods_functions_and_fields_ask_the_class():
    def fn(x, y):
        made = (x + y, y + x, 2 - x, x / 2, x**2, -x, x[0], x == y, x < 1, 1 < x, x @ y)
        more = torch.stack([x, y]), torch.nn.functional.relu(x), x.split(2), x.norm(), x.T
        return made, more, x.shape, len(x), x.device, [row * 2 for row in x]

    check(fn, tensor(Tagging, 4, 4), torch.randn(4, 4))


def test_the_class_sees_which_function_it_is_asked_with():
    check(lambda x: (x.shape, x.cos(), x.tanh(), torch.tanh(x), x.sin()), tensor(Asking))


class Overriding(torch.Tensor):
    @property
    def shape(self):
        return (7, *super().shape)

    @property
    def itemsize(self):
        return 70

    def sizes(self):
        return super().shape, torch.Tensor.shape.__get__(self)

    def to(self, *args):
        return super().to(*args) * 2


def test_fields_that_the_class_overrides():
    def fn(x):
        same = torch.Tensor.shape.__get__ == torch.Tensor.shape.__get__
        one = torch.Tensor.shape.__get__ is torch.Tensor.shape.__get__
        doubled = x.to(torch.float64).as_subclass(torch.Tensor)
        return doubled, x.shape, x.sizes(), x.itemsize, same, one

    made = torch.randn(4)
    check(fn, make=lambda: (made.as_subclass(Overriding),), grads=False)


def test_every_question_is_asked_once_and_in_order():
    asked = []

    class Listening(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    def fn(x):
        return x.sin() + x.shape[0]

    x = tensor(Listening)
    fn(x)
    wanted = list(asked)
    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        asked.clear()
        compiled(x)
        assert asked == wanted


def test_changes_in_place_give_the_same_object():
    check(lambda x: (x.add_(1) is x, x.mul_(2)), tensor(Tagging))


def test_a_plain_tensor_changed_in_place_by_one_of_the_class():
    check(lambda x, y: x.add_(y), torch.randn(4), tensor(Tagging))


def test_gradients_flow_through_the_class():
    check(lambda x: (x.sin() * 2).sum(), tensor(Tagging).requires_grad_())


def test_keyword_arguments_and_out():
    def fn(x, y):
        return torch.add(input=x, other=y, alpha=2), torch.add(x, y, out=torch.empty(4))

    check(fn, tensor(Tagging), torch.randn(4))


def test_two_classes_are_asked_in_the_order_of_torch():
    def fn(x, y):
        return x + y, y + x

    check(fn, tensor(Tagging), tensor(Derived))
    check(fn, tensor(Tagging), tensor(Plain))
    check(fn, tensor(Carried), tensor(Plain))


def test_two_classes_that_both_decline_are_left_to_python():
    check(
        lambda x, y: x + y,
        tensor(Carried),
        tensor(Asking),
        graphs=0,
        breaks=("GB2021",),
        recompiles=None,
    )


def test_a_block_in_which_nobody_is_asked():
    def fn(x):
        with torch._C.DisableTorchFunctionSubclass():
            y = x.sin()
        return y, x.sin()

    check(fn, tensor(Tagging))


def test_a_break_in_a_block_in_which_nobody_is_asked():
    def fn(x):
        with torch._C.DisableTorchFunctionSubclass():
            y = x.sin()
            suture.graph_break()
            z = x.sin() + y
        return y, z, x.sin()

    check(fn, tensor(Tagging), graphs=2, breaks=("GB0025",))


def test_whether_anybody_is_asked_is_guarded():
    def fn(x):
        return x.sin()

    compiled = suture.compile(fn, backend="eager")
    x = tensor(Tagging)
    assert torch.equal(compiled(x), fn(x))
    with torch._C.DisableTorchFunctionSubclass():
        assert torch.equal(compiled(x), fn(x))
        assert type(compiled(x)) is torch.Tensor


class Aliased(torch.Tensor):
    @staticmethod
    def __new__(cls, x, tag):
        return super().__new__(cls, x)

    def __init__(self, x, tag):
        self.tag = tag


class Detached(torch.Tensor):
    @staticmethod
    def __new__(cls, x, tag=1):
        return torch.Tensor._make_subclass(cls, x)

    def __init__(self, x, tag=1):
        self.tag = tag

    def plus(self):
        return self + self.tag


def test_tensors_of_the_class_are_made_inside():
    def fn(x):
        a, b, c = Aliased(x, 5), Detached(x, 6), Carried(x)
        return a, a.tag, a + 1, b, b.tag, b.plus(), c * 2

    check(fn, torch.randn(3, requires_grad=True), grads=False)


class Operators(torch.Tensor):
    scale = 2.0

    def __add__(self, other):
        return super().__add__(other) * 10

    def __len__(self):
        return 7

    def __getitem__(self, i):
        return super().__getitem__(i) + 1

    def __bool__(self):
        return True

    def __iter__(self):
        yield self.scale


def test_special_methods_of_the_class_are_followed():
    def fn(x, y):
        return x + 1, 1 + x, y + x, x + y, len(x), x[0], 3 if x else 4, list(x)

    check(fn, tensor(Operators), torch.randn(4))


def test_an_attribute_of_the_tensor_hides_that_of_the_class():
    def fn(x):
        return x * x.scale

    compiled = suture.compile(fn, backend="eager")
    x = tensor(Carried)
    for scale in (2.0, 3.0):
        x.scale = scale
        assert torch.equal(compiled(x), fn(x))
    y = tensor(Operators)
    assert torch.equal(suture.compile(fn, backend="eager")(y), fn(y))


def test_attributes_are_set_on_tensors_of_the_class():
    def fn(x):
        x.scale = 5.0
        x.note = "new"
        return x * x.scale

    check(fn, tensor(Operators))


# ---- objects that are no tensors

TABLE = {}


def implements(function):
    def register(fn):
        TABLE[function] = fn
        return fn

    return register


class Annotated:
    def __init__(self, data, note=None):
        self.data = data
        self.note = note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in TABLE or not all(issubclass(t, (torch.Tensor, Annotated)) for t in types):
            return NotImplemented
        return TABLE[func](*args, **(kwargs or {}))


@implements(torch.mean)
def _mean(x):
    return x.data.mean() + 1


@implements(torch.add)
def _add(a, b):
    a, b = (v.data if isinstance(v, Annotated) else v for v in (a, b))
    return Annotated(a + b, "sum")


@implements(torch.nn.functional.relu)
def _relu(x, inplace=False):
    return x.data.clamp(min=0)


def test_an_object_answers_for_torch_functions():
    def fn(x):
        a = Annotated(x, "a")
        total = torch.add(a, x)
        return torch.mean(a), total.data, total.note, torch.nn.functional.relu(a)

    check(fn, torch.randn(3))


def test_a_function_that_the_object_does_not_know_is_left_to_python():
    def fn(a):
        return torch.sum(a)

    check(fn, Annotated(torch.randn(3)), graphs=0, breaks=("GB2021",))


def scaled(x, scale=2):
    if has_torch_function((x,)):
        return handle_torch_function(scaled, (x,), x, scale=scale)
    return x * scale


@implements(scaled)
def _scaled(x, scale=3):
    return x.data * scale + 100


@wrap_torch_function(lambda x: (x,))
def increased(x):
    return x + 1


@implements(increased)
def _increased(x):
    return x.data - 5


def test_functions_of_the_program_ask_too():
    def fn(x, a):
        return scaled(x), scaled(a), increased(x), increased(a), is_tensor_like(a)

    check(fn, torch.randn(3), Annotated(torch.randn(3)))


# ---- parameters


class Doubled(torch.nn.Parameter):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            if func is torch.nn.functional.linear:
                return func(args[0], args[1] * 2, *args[2:])
            return func(*args, **(kwargs or {}))


class Marked(torch.nn.Parameter):
    mark = 3


def test_what_copying_leaves_in_a_class_is_no_method():
    class Kept(torch.nn.Parameter):
        pass

    copyreg._slotnames(Kept)  # as copy and pickle do
    layer = torch.nn.Linear(3, 3)
    layer.weight = Kept(torch.ones(3, 3))
    check(layer, torch.ones(2, 3))


def test_parameters_of_a_class_of_their_own():
    for kind in (Doubled, Marked):
        layer = torch.nn.Linear(3, 4)
        layer.weight = kind(torch.randn(4, 3))
        check(layer, torch.randn(2, 3, requires_grad=True))


def test_a_changed_parameter_of_such_a_class_is_seen():
    layer = torch.nn.Linear(3, 4)
    layer.weight = Doubled(torch.randn(4, 3))
    compiled = suture.compile(layer, backend="eager")
    x = torch.randn(2, 3)
    assert torch.equal(compiled(x), layer(x))
    layer.weight.data = torch.randn(4, 3)
    assert torch.equal(compiled(x), layer(x))


def test_a_lazy_module_becomes_what_it_is_on_the_first_call():
    layers = [torch.nn.LazyLinear(4) for _ in range(2)]
    results = []
    for layer, run in zip(layers, (layers[0], suture.compile(layers[1], backend="eager"))):
        torch.manual_seed(0)
        results.append(run(torch.ones(2, 3)))
        assert type(layer) is torch.nn.Linear
    assert torch.equal(*results)


def test_a_lazy_module_can_be_trained_after_its_first_call():
    layer = torch.nn.LazyConv1d(5, 3)
    compiled = suture.compile(layer, backend="eager")
    compiled(torch.randn(2, 4, 8)).sum().backward()
    assert layer.weight.grad.shape == (5, 4, 3)


class Answering:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "asked", func.__name__


class Reflected(Answering):
    def __rmul__(self, other):
        return "never reached"


def test_operators_methods_and_lists_ask_an_object_too():
    def fn(x, other, reflected):
        made = x + other, other + x if False else None, x.add(other), x * reflected
        return made, torch.stack([x, other]), torch.nn.functional.linear(x, other)

    check(fn, torch.randn(3), Answering(), Reflected(), graphs=0)


class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x


def test_the_class_goes_through_functions_that_are_graphs_of_their_own():
    def fn(x):
        made = torch.utils.checkpoint.checkpoint(lambda y: y.sin() * 2, x, use_reentrant=False)
        return Cubed.apply(x), made

    check(fn, tensor(Carried).requires_grad_())


def test_a_class_that_changes_is_seen():
    def fn(x):
        return x.sin(), len(x), x + 1, x.ndim

    class Changing(torch.Tensor):
        pass

    compiled = suture.compile(fn, backend="eager")
    x = tensor(Changing)

    def same():
        got, wanted = compiled(x), fn(x)
        assert [type(v) for v in got] == [type(v) for v in wanted]
        assert got[1:2] + got[3:] == wanted[1:2] + wanted[3:]

    same()
    Changing.__len__ = lambda self: 9
    same()
    Changing.__add__ = lambda self, other: "sum"
    same()
    Changing.ndim = property(lambda self: "many")
    same()
    Changing.__torch_function__ = torch._C._disabled_torch_function_impl
    same()
    Changing.__torch_function__ = Plain.__torch_function__
    same()
