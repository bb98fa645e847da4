"""State of torch that guards read and programs switch: modes, stacks of modes, settings."""

from __future__ import annotations

from typing import Any

from suture.torch_private.table import Topic

NAMES = Topic(
    __name__,
    "modes and settings of torch",
    "2.11-2.15",
    {
        "InferenceMode": "torch._C._InferenceMode",
        # which dispatch keys a thread includes and excludes, and an object that sets both
        "DispatchKeySet": "torch._C.DispatchKeySet",
        "ForceDispatchKeyGuard": "torch._C._ForceDispatchKeyGuard",
        "excluded_keys": "torch._C._dispatch_tls_local_exclude_set",
        "included_keys": "torch._C._dispatch_tls_local_include_set",
        "set_grad_enabled": "torch._C._set_grad_enabled",
        "is_fwd_grad_enabled": "torch._C._is_fwd_grad_enabled",
        "set_fwd_grad_enabled": "torch._C._set_fwd_grad_enabled",
        "DisableAutocast": "torch._C._DisableAutocast",
        "is_any_autocast_enabled": "torch._C._is_any_autocast_enabled",
        # stacks of modes
        "dispatch_stack_at": "torch._C._get_dispatch_stack_at",
        "dispatch_stack_length": "torch._C._len_torch_dispatch_stack",
        "function_stack_at": "torch._C._get_function_stack_at",
        "function_stack_length": "torch._C._len_torch_function_stack",
        "function_stack_pop": "torch._C._pop_torch_function_stack",
        "function_stack_push": "torch._C._push_on_torch_function_stack",
        "is_torch_function_all_disabled": "torch._C._is_torch_function_all_disabled",
        "is_torch_function_enabled": "torch._C._is_torch_function_enabled",
        "functorch_level": "torch._C._functorch.maybe_current_level",
        # algorithms
        "get_deterministic_algorithms": "torch._C._get_deterministic_algorithms",
        "set_deterministic_algorithms": "torch._C._set_deterministic_algorithms",
        "get_mkldnn_enabled": "torch._C._get_mkldnn_enabled",
        "set_mkldnn_enabled": "torch._C._set_mkldnn_enabled",
        "get_fp32_precision": "torch._C._get_fp32_precision_getter",
        "set_fp32_precision": "torch._C._set_fp32_precision_setter",
        # hooks on the tensors that autograd saves
        "saved_hooks_disable": "torch._C._autograd._saved_tensors_hooks_disable",
        "saved_hooks_disabled_message": (
            "torch._C._autograd._saved_tensors_hooks_get_disabled_error_message"
        ),
        "saved_hooks_enable": "torch._C._autograd._saved_tensors_hooks_enable",
        "saved_hooks_pop": "torch._C._autograd._pop_saved_tensors_default_hooks",
        "saved_hooks_push": "torch._C._autograd._push_saved_tensors_default_hooks",
        "saved_hooks_top": "torch._C._autograd._top_saved_tensors_default_hooks",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)
