"""Rules for whole modules and packages: which are inlined, which Python runs.

The longest matching name inside one table decides nothing: inlining is asked before running,
so a package that is run except for one module is written as two rows, and one that is inlined
except for a module names it in `but_not`.
"""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import dataclass

from suture.rules.verdict import INLINE, RUN, Kind, Origin, Verdict, location


@dataclass(frozen=True, slots=True)
class PackageRule:
    """All that is defined in the module `name` or below it."""

    kind: Kind
    name: str
    reason: str
    where: str
    but_not: tuple[str, ...] = ()
    origin: Origin = Origin.PACKAGE

    def covers(self, module: str) -> bool:
        return _under(module, self.name) and not any(_under(module, out) for out in self.but_not)

    def verdict(self) -> Verdict:
        rule = f"package {self.name}"
        return Verdict(self.kind, self.reason, rule, self.where, origin=self.origin)


def _under(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


class PackageTable:
    """Package rules by name; `find` walks up the dotted name of a module."""

    def __init__(self) -> None:
        self.rules: dict[str, PackageRule] = {}

    def find(self, module: str) -> PackageRule | None:
        """The rule with the longest name that covers `module`."""
        name = module
        while name:
            rule = self.rules.get(name)
            if rule is not None and rule.covers(module):
                return rule
            name = name.rpartition(".")[0]
        return None


to_inline = PackageTable()
to_run = PackageTable()


def _inline(names: str, *, because: str, but_not: tuple[str, ...] = ()) -> None:
    where = location()
    for name in names.split():
        to_inline.rules[name] = PackageRule(INLINE, name, because, where, but_not)


def _run(names: str, *, because: str, origin: Origin = Origin.PACKAGE) -> None:
    where = location()
    for name in names.split():
        to_run.rules[name] = PackageRule(RUN, name, because, where, origin=origin)


# Python's own library: what computes on its arguments only, in Python.

_inline(
    "contextlib dataclasses functools collections _collections_abc enum typing types abc operator"
    " copy copyreg heapq bisect statistics numbers fractions string keyword reprlib weakref"
    " graphlib colorsys textwrap inspect _weakrefset typing_extensions unittest.case unittest.util"
    " warnings _py_warnings",
    because="plain Python around values that are traced; touches nothing outside the process",
)

_inline("suture.rules.polyfills", because="written to be traced in place of C functions")
_inline("suture.rules.strictness", because="a manager around one switch that the tracer knows")
_inline("suture.rules.unchanged", because="a manager that changes nothing")

# torch: Python code of torch that tracing goes into. What is not named here is run.

_inline(
    "torch.nn",
    because="modules, hooks, initialisation: Python around operations, to be traced",
    but_not=("torch.nn.cpp",),
)
_inline(
    "torch.optim",
    because="optimizer steps are Python around operations, to be traced",
)
_inline(
    "torch.distributions torch.sparse torch.testing torch.random torch.return_types",
    because="Python around operations, to be traced",
)
_inline(
    "torch.autograd.grad_mode torch.amp.autocast_mode torch.amp.grad_scaler torch.utils._contextlib"
    " torch.cpu.amp.autocast_mode torch.cuda.amp.autocast_mode",
    because="context managers in Python around the C switches of a mode",
)
_inline(
    "torch._tensor torch.nested._internal.nested_tensor torch.overrides torch._ops torch._decomp"
    " torch._refs torch._prims torch._prims_common torch.functional",
    because="Tensor methods and operators that torch itself writes in Python",
)
_inline(
    "torch._functorch.apis torch._functorch.deprecated torch._functorch.eager_transforms"
    " torch._functorch.functional_call torch._functorch.pyfunctorch torch._functorch.vmap"
    " torch._functorch.autograd_function torch._functorch._aot_autograd.subclass_parametrization"
    " torch.func",
    because="torch.func transforms are Python between their C entry and exit points",
)
_inline(
    "torch._higher_order_ops torch._awaits",
    because="Python in front of an operator that takes functions",
    but_not=(
        "torch._higher_order_ops.effects",
        "torch._higher_order_ops.torchbind",
        "torch._higher_order_ops.wrap",
    ),
)
_inline(
    "torch.utils._pytree torch.utils._cxx_pytree torch.utils.hooks torch.utils._contextlib"
    " torch.utils._device torch.utils._foreach_utils torch.utils._ordered_set"
    " torch.utils._python_dispatch torch.utils._content_store torch.utils._typing_utils"
    " torch.fx._pytree torch.fx.traceback torch.fx._symbolic_trace torch.fx.graph_module"
    " torch.fx.experimental.proxy_tensor torch.fx.passes.shape_prop",
    because="helpers that are between a program and its operations",
)
_inline(
    "torch.amp.autocast_mode torch.cuda.amp.autocast_mode torch.autograd.function"
    " torch.backends.cuda",
    because="context managers and autograd functions, entered and left while tracing",
)
_inline(
    "torch._library.autograd torch._library.custom_ops torch._library.fake_class_registry",
    because="Python in front of a custom operator",
)
_inline(
    "torch.ao.nn torch.ao.quantization.stubs torch.ao.quantization.fx._decomposed",
    because="quantized modules are modules",
    # Python quantises their weights: a graph up to there would save statistics that are written
    # behind it, before the derivative needs them.
    but_not=("torch.ao.nn.qat", "torch.ao.nn.intrinsic.qat"),
)
_inline(
    "torch.export._tree_utils torch.export._unlift torch.export._wrapper_utils"
    " torch.export._patches torch.export.unflatten torch._export.wrappers"
    " torch._export.db.examples torch._export.non_strict_utils",
    because="exported programs are modules",
)
_inline(
    "torch.distributed",
    because="collectives and sharded tensors are Python around operations",
)
_inline(
    "torch._dynamo.external_utils torch._dynamo.polyfills torch._dynamo.test_case"
    " torch._dynamo._trace_wrapped_higher_order_op torch._dynamo.comptime"
    " torch._dynamo.compiled_autograd torch._inductor.test_operators",
    because="parts of torch's own compiler that programs call",
)

_inline(
    "suture.compiler.torch.traced_hook",
    because="compiled autograd traces the hooks that graphs have set",
)

# Third-party packages: work on data that no graph holds.

_run(
    "numpy",
    because="works on arrays outside of torch; what has a model on tensors is captured",
    origin=Origin.NUMPY,
)
_run(
    "pandas polars pyarrow scipy sklearn xgboost lightgbm xarray numba dask h5py",
    because="works on arrays and tables outside of torch",
)
_run("PIL cv2 imageio skimage matplotlib plotly seaborn", because="reads, draws or writes images")
_run(
    "tensorflow jax jaxlib onnx onnxruntime onnx_tf tensorrt torch2trt fx2trt_oss tvm",
    because="another framework, with its own tensors",
)
_run(
    "tqdm wandb tensorboard tensorboardX mlflow rich tabulate loguru structlog absl",
    because="prints or records something for a person",
)
_run(
    "networkx tree hypothesis pytest _pytest pluggy sympy pydantic requests urllib3 yaml"
    " setuptools triton.backends triton.compiler triton.runtime",
    because="holds no tensor operation worth tracing",
)
_run(
    "suture",
    because="suture does not trace itself",
)


def standard_library(module: str, file: str = "") -> PackageRule | None:
    """The rule on Python's own library as a whole, if `module` is part of it.

    `file`, if known, is where the code is: a module of the user may have a name that the
    library has too.
    """
    top = module.partition(".")[0]
    if top not in sys.stdlib_module_names:
        return None
    if file and not file.startswith(("<frozen", _library_folder())):
        return None
    reason = "Python's own library: it may touch what a graph cannot hold"
    return PackageRule(RUN, top, reason, _STDLIB_AT)


@functools.cache
def _library_folder() -> str:
    return os.path.dirname(os.__file__) + os.sep


_STDLIB_AT = location(0)
