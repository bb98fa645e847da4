"""What an expression evidently is: a tensor, a number taken out of one, or unknown.

Only what the text shows counts. A parameter is a tensor if it is annotated as one, or if the
function hands it to torch or to a layer, or calls a method that only tensors have.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from suture.compiler.library import draws
from suture.tools.check.scope import File, Function

TENSOR, NUMBER = "tensor", "number"

_NUMBERS = {"item"}
DRAWN = frozenset(f"random.{function.__name__}" for function in draws.FUNCTIONS)
# What gives as many elements as the data has of something, and what keeps their number.
_FINDING = {"nonzero", "unique", "unique_consecutive", "masked_select", "argwhere"}
_KEEPING = {"tolist", "cpu", "flatten", "squeeze", "long", "int", "sort", "t"}
_GOING_OVER = {"enumerate", "zip", "reversed", "list", "tuple", "sorted", "range", "len"}
_NOT_TENSORS = {
    "size", "dim", "ndimension", "numel", "nelement", "stride", "storage_offset", "element_size",
    "tolist", "numpy", "data_ptr", "is_contiguous", "is_floating_point", "is_complex", "get_device",
    "backward", "register_hook", "type", "untyped_storage", "storage", "split", "chunk", "unbind",
    "equal", "allclose",
}  # fmt: skip
_TRUTHS = {"any", "all"}  # methods that only tensors and arrays have
_NOT = {"np.any", "np.all", "numpy.any", "numpy.all"}  # functions of those names
_ATTRIBUTES = {"T", "mT", "H", "mH", "real", "imag", "grad", "data"}
_ONLY_TENSORS = {
    "sin", "cos", "tanh", "relu", "sigmoid", "softmax", "log_softmax", "matmul", "mm", "bmm",
    "view", "unsqueeze", "permute", "detach", "backward", "requires_grad_", "contiguous", "expand",
    "masked_fill", "scatter", "gather", "numel", "item", "isnan", "isfinite", "nonzero", "norm",
}  # fmt: skip
_TORCH_PLAIN = {
    "torch.is_tensor", "torch.is_grad_enabled", "torch.numel", "torch.equal", "torch.allclose",
    "torch.device", "torch.Size", "torch.no_grad", "torch.enable_grad", "torch.Generator",
    "torch.is_floating_point", "torch.is_complex", "torch.get_default_dtype", "torch.save",
    "torch.split", "torch.chunk", "torch.unbind", "torch.finfo", "torch.iinfo", "torch.load",
    "torch.broadcast_shapes", "torch.result_type", "torch.can_cast", "torch.typename",
}  # fmt: skip


class Types:
    """The types of one function's names, filled as its statements are walked over."""

    def __init__(self, file: File, function: Function, owner: str) -> None:
        self.file = file
        self.layers = file.layers.get(owner, set())
        self.names: dict[str, str | None] = {}
        self.sized: set[str] = set()  # names of what has as many elements as the data says
        evident = set(self._evident(function))
        arguments = function.args
        for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if arg.annotation is not None:
                self.names[arg.arg] = TENSOR if self._is_tensor_annotation(arg.annotation) else None
            elif arg.arg in evident and arg.arg != "self":
                self.names[arg.arg] = TENSOR

    def _is_tensor_annotation(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value in ("torch.Tensor", "Tensor")
        return self.file.dotted(node) in ("torch.Tensor", "torch.nn.Parameter")

    def _evident(self, function: Function) -> Iterator[str]:
        """Names that the function uses as only tensors are used."""
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            called = self.file.dotted(node.func)
            if self._makes_tensor(called) or self._is_layer(called):
                yield from (arg.id for arg in node.args[:1] if isinstance(arg, ast.Name))
            match node.func:
                case ast.Attribute(value=ast.Name(id=name), attr=method):
                    if method in _ONLY_TENSORS:
                        yield name

    def _is_layer(self, called: str) -> bool:
        return called.startswith("self.") and called[5:] in self.layers

    def _makes_tensor(self, called: str) -> bool:
        if called in _TORCH_PLAIN:
            return False
        if called.startswith("torch.nn.functional."):
            return True
        rest = called.removeprefix("torch.")
        return rest != called and rest.isidentifier() and rest[:1].islower() and "is_" not in rest

    # ---- expressions

    def of(self, node: ast.expr) -> str | None:
        """What an expression is."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Call():
                return self._call(node)
            case ast.BinOp(left=left, right=right):
                return self._join(left, right)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert(), operand=operand):
                return self.of(operand)
            case ast.Compare(left=left, ops=ops, comparators=others):
                if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in ops):
                    return None
                return self._join(left, *others)
            case ast.Subscript(value=value):
                return TENSOR if self.of(value) == TENSOR else None
            case ast.Attribute(value=value, attr=attr):
                return TENSOR if attr in _ATTRIBUTES and self.of(value) == TENSOR else None
            case ast.IfExp(body=body, orelse=orelse):
                return self._join(body, orelse)
            case ast.NamedExpr(value=value):
                return self.of(value)
        return None

    def _join(self, *nodes: ast.expr) -> str | None:
        kinds = {self.of(node) for node in nodes}
        return TENSOR if TENSOR in kinds else NUMBER if NUMBER in kinds else None

    def _call(self, node: ast.Call) -> str | None:
        called = self.file.dotted(node.func)
        if self._makes_tensor(called) or self._is_layer(called):
            return TENSOR
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in _TRUTHS
            and called not in _NOT
        ):
            return TENSOR
        if called in DRAWN:
            return NUMBER
        if called in ("float", "int") and node.args and self.of(node.args[0]):
            return NUMBER
        if isinstance(node.func, ast.Attribute) and self.of(node.func.value) == TENSOR:
            name = node.func.attr
            if name in _NUMBERS:
                return NUMBER
            return None if name in _NOT_TENSORS else TENSOR
        return None

    def has_size_of_data(self, node: ast.expr) -> bool:
        """Whether how many elements an expression has depends on the numbers in a tensor."""
        match node:
            case ast.Name(id=name):
                return name in self.sized
            case ast.Call(func=ast.Name(id=name)) if name in _GOING_OVER:
                return any(self.has_size_of_data(arg) for arg in node.args)
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                if self.file.dotted(node.func) == "torch.where":
                    return len(node.args) == 1
                if name in _FINDING and self.of(node) == TENSOR:
                    return True
                return name in _KEEPING and self.has_size_of_data(value)
            case ast.Subscript(value=value, slice=ast.Constant()):
                return self._finds_tuple(value)
        return False

    def _finds_tuple(self, node: ast.expr) -> bool:
        """Whether the elements of a tuple have the size of data: what `torch.where(mask)` gives."""
        given = isinstance(node, ast.Call) and any(k.arg == "as_tuple" for k in node.keywords)
        where = isinstance(node, ast.Call) and self.file.dotted(node.func) == "torch.where"
        return (given or where) and self.has_size_of_data(node)

    def assign(self, target: ast.expr, value: ast.expr | None) -> None:
        """Note what a name is from here on."""
        if isinstance(target, ast.Name):
            self.sized.discard(target.id)
            if value is not None and self.has_size_of_data(value):
                self.sized.add(target.id)
            self.names[target.id] = self.of(value) if value is not None else None
        elif isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else None
            for i, one in enumerate(target.elts):
                fits = values is not None and len(values) == len(target.elts)
                self.assign(one, values[i] if fits and values is not None else None)
