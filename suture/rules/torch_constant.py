"""What of torch is folded while tracing: the result is a fact, guarded where it can change."""

from __future__ import annotations

from suture.rules.rows import constant, special
from suture.rules.verdict import CONSTANT

constant(
    "torch.is_complex torch.is_floating_point torch.is_signed torch.is_same_size torch.is_conj"
    " torch.is_neg torch.is_inference torch.promote_types torch.can_cast torch.result_type"
    " torch.nn._reduction.get_enum torch.broadcast_shapes",
    because="depends on the types and shapes of its arguments only",
)
constant(
    "torch.device torch.finfo torch.iinfo torch.dtype torch.layout torch.memory_format"
    " torch.qscheme",
    because="makes a constant out of constants",
)
special(
    "torch.get_default_dtype torch.get_autocast_dtype torch.get_autocast_gpu_dtype"
    " torch.get_autocast_cpu_dtype torch.is_autocast_enabled torch.is_autocast_cpu_enabled"
    " torch.is_autocast_cache_enabled torch._C._is_any_autocast_enabled"
    " torch.get_float32_matmul_precision torch.is_deterministic_algorithms_warn_only_enabled"
    " torch.get_deterministic_debug_mode torch.is_warn_always_enabled"
    " torch.is_anomaly_enabled torch.is_anomaly_check_nan_enabled"
    " torch.get_num_threads torch.get_num_interop_threads"
    " torch._C._get_cublas_allow_tf32 torch.__future__.get_overwrite_module_params_on_conversion",
    "setting",
    because="reads a setting of torch; the setting is guarded",
    otherwise=CONSTANT,
)
constant(
    "torch.cuda.is_available torch.cuda.get_device_properties torch.cuda.device_count"
    " torch.cuda.get_device_capability torch.cuda.get_device_name torch.cuda.is_bf16_supported"
    " torch.xpu.is_available torch.xpu.get_device_properties torch.accelerator.is_available"
    " torch.accelerator.device_count torch.distributed.is_available"
    " torch.backends.mps.is_available torch.backends.cudnn.is_available"
    " torch.backends.mkldnn.is_available torch.backends.mkl.is_available"
    " torch.backends.openmp.is_available torch.compiled_with_cxx11_abi"
    " torch.is_vulkan_available torch._C._get_privateuse1_backend_name",
    because="a fact about this machine and this build of torch",
)
constant(
    "torch.cuda.current_device torch.cuda.is_initialized torch.xpu.current_device"
    " torch.xpu.is_initialized torch.accelerator.current_device_index"
    " torch.accelerator.current_accelerator torch._C._functorch.get_dynamic_layer_stack_depth",
    because="state of the process that may change between calls: folded and guarded",
)
constant(
    "torch.overrides.resolve_name torch.overrides.is_tensor_method_or_property",
    because="a question about a function of torch",
)
constant(
    "torch._utils._get_device_index torch.autograd._is_checkpoint_valid",
    because="turns constants into constants",
)
constant(
    "torch._C._nn._parse_to",
    because="turns the arguments of Module.to into a device, a dtype and flags",
)
constant(
    "torch._functorch.predispatch.lazy_load_decompositions",
    because="fills a table of torch, once; nothing depends on when",
    absent="torch < 2.9",
)
