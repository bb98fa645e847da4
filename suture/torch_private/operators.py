"""Operators as objects: their classes, their registries, and operators without a public name."""

from __future__ import annotations

from typing import Any

from suture.torch_private.table import Topic

NAMES = Topic(
    __name__,
    "custom and higher-order operators, operators of private names",
    "2.11-2.15",
    {
        "FunctionSchema": "torch._C.FunctionSchema",
        "OpOverload": "torch._ops.OpOverload",
        "OpOverloadPacket": "torch._ops.OpOverloadPacket",
        "HigherOrderOperator": "torch._ops.HigherOrderOperator",
        "CustomOpDef": "torch._library.custom_ops.CustomOpDef",
        "fake_kernels": "torch._library.simple_registry.singleton",
        "has_kernel": "torch._C._dispatch_has_kernel_for_dispatch_key",
        "higher_order": "torch._higher_order_ops",
        "bindings": "torch._C",
        "functions_in_c": "torch._C._VariableFunctions",
        "functions_with_defaults": "torch._VF",
        "check": "torch._check",
        "check_tensor_all": "torch._check_tensor_all",
        "foreach_addcdiv": "torch._foreach_addcdiv_",
        "foreach_addcmul": "torch._foreach_addcmul_",
        "foreach_mul": "torch._foreach_mul_",
        "fused_adagrad": "torch._fused_adagrad_",
        "fused_adam": "torch._fused_adam_",
        "fused_adamw": "torch._fused_adamw_",
        "fused_sgd": "torch._fused_sgd_",
        "all_true": "torch._is_all_true",
        "device_of": "torch.ops.prim.device.default",
        "distribution_is_valid": (
            "torch.distributions.distribution._all_true_or_runtime_assert",
            "2.15",
        ),
        "infer_size": "torch._C._infer_size",
        "optimizer_groups": "torch.optim.optimizer.Optimizer._group_tensors_by_device_and_dtype",
        "optimizer_number": "torch.optim.optimizer._get_value",
        "tensor_groups": "torch.utils._foreach_utils._group_tensors_by_device_and_dtype",
        "local_scalar": "torch.ops.aten._local_scalar_dense.default",
        "lstm_decomposition": "torch._decomp.decompositions.lstm_impl",
        "shape_as_tensor": "torch._shape_as_tensor",
        "sym_sqrt": "torch._sym_sqrt",
        "sym_sin": "torch._sym_sin",
        "sym_cos": "torch._sym_cos",
        "sym_tan": "torch._sym_tan",
        "sym_asin": "torch._sym_asin",
        "sym_acos": "torch._sym_acos",
        "sym_atan": "torch._sym_atan",
        "sym_sinh": "torch._sym_sinh",
        "sym_cosh": "torch._sym_cosh",
        "sym_tanh": "torch._sym_tanh",
        "sym_log2": "torch._sym_log2",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def schema_of(target: Any) -> Any:
    """The schema of an operator of torch.ops; None of anything else."""
    return getattr(target, "_schema", None)


def overload_of(custom: Any) -> Any:
    """The OpOverload that a `torch.library.custom_op` object calls."""
    return custom._opoverload


def name_of(higher_order_operator: Any) -> str:
    """What a higher-order operator is called."""
    return str(higher_order_operator._name)
