"""The orders a program gives to the tracer, and the modes it follows: handlers and reasons."""

from __future__ import annotations

from suture.rules.rows import special
from suture.rules.verdict import CONSTANT, IN_GRAPH, INLINE

# Marks that speak to the compiler. torch's own set the same as suture's.

special(
    "suture.rules.marks.graph_break", "graph_break", because="the program asks for a break here"
)
special(
    "suture.rules.marks.skip_frame",
    "skip_frame",
    because="the program asks that Python runs this frame",
)
special("torch._dynamo.graph_break", "graph_break", because="the program asks for a break here")
special(
    "torch._dynamo.comptime._Comptime.__call__",
    "comptime",
    because="runs a function of the program while the line is compiled",
)
special(
    "torch._dynamo.skip_frame torch._dynamo.decorators.skip_frame",
    "skip_frame",
    because="the program asks that Python runs this frame",
    absent="torch < 2.9",
)
special(
    "torch._dynamo.decorators.step_unsupported",
    "step_unsupported",
    because="the program asks for a break that cannot go on",
    absent="torch < 2.9",
)
special(
    "suture.rules.strictness.switch",
    "switch_strictness",
    because="from here on a break is an error, or is one no longer",
)
special(
    "torch._dynamo.error_on_graph_break",
    "error_on_graph_break",
    because="from here on a break is an error, or is one no longer",
    absent="torch < 2.9",
    otherwise=INLINE,
)
special(
    "torch._dynamo.patch_dynamo_config",
    "patch_dynamo_config",
    because="sets options for the code in a block",
    absent="torch < 2.9",
    otherwise=INLINE,
)
special(
    "torch.compiler.is_compiling torch.compiler.is_dynamo_compiling torch._utils.is_compiling",
    "is_compiling",
    because="true while tracing",
    otherwise=INLINE,
)
special(
    "suture.api.is_compiling",
    "is_compiling",
    because="true while tracing",
    otherwise=INLINE,
)
special(
    "torch._dynamo.external_utils.is_compiling",
    "is_compiling",
    because="true while tracing",
    absent="torch's compiler",
    otherwise=INLINE,
)
special(
    "torch.compiler.is_exporting",
    "is_exporting",
    because="false: suture does not export",
    otherwise=INLINE,
)
special(
    "torch._dynamo.eval_frame._is_in_optimized_module",
    "is_compiling",
    because="true while tracing",
    absent="torch < 2.10",
    otherwise=INLINE,
)
special(
    "torch.nn.modules.activation._is_make_fx_tracing",
    "is_compiling",
    because="true while tracing: it keeps fused paths, which hide operations, out of the graph",
    otherwise=INLINE,
)
special(
    "torch.jit.is_scripting torch.jit.is_tracing torch._C._is_tracing torch.onnx.is_in_onnx_export"
    " torch.fx._symbolic_trace.is_fx_tracing",
    "is_other_tracing",
    because="false: another tracer, which is not the one at work",
    otherwise=CONSTANT,
)
special(
    "torch.fx._symbolic_trace.is_fx_symbolic_tracing",
    "is_other_tracing",
    because="false: another tracer, which is not the one at work",
    absent="torch < 2.9",
    otherwise=CONSTANT,
)
special(
    "torch._C._get_tracing_state",
    "no_tracing_state",
    because="None: no jit tracer is at work",
    otherwise=CONSTANT,
)

# Modes: read from and written to the state of the tracer.

special(
    "torch.is_grad_enabled",
    "is_grad_enabled",
    because="a mode the tracer follows",
    otherwise=CONSTANT,
)
special(
    "torch.is_inference_mode_enabled",
    "is_inference_mode_enabled",
    because="a mode the tracer follows",
    otherwise=CONSTANT,
)
special(
    "torch.no_grad torch.enable_grad torch.set_grad_enabled torch.inference_mode"
    " torch.autograd.forward_ad._set_fwd_grad_enabled",
    "grad_mode",
    because="a mode the tracer follows",
)
special(
    "torch._C._set_grad_enabled",
    "set_grad_enabled",
    because="a mode the tracer follows",
    otherwise=IN_GRAPH,
)
special(
    "torch.autograd.grad_mode._enter_inference_mode torch.autograd.grad_mode._exit_inference_mode",
    "inference_mode",
    because="a mode the tracer follows",
    otherwise=IN_GRAPH,
)
special(
    "torch.autocast torch.cpu.amp.autocast torch.cuda.amp.autocast",
    "autocast",
    because="a mode the tracer follows",
)
special(
    "torch.autocast_increment_nesting torch.autocast_decrement_nesting torch.clear_autocast_cache"
    " torch.set_autocast_enabled torch.set_autocast_cache_enabled torch.set_autocast_dtype",
    "autocast_state",
    because="a mode the tracer follows",
    otherwise=IN_GRAPH,
)
special(
    "torch.use_deterministic_algorithms torch.are_deterministic_algorithms_enabled",
    "deterministic",
    because="a mode the tracer follows",
)
special(
    "torch.get_default_device torch.set_default_device",
    "default_device",
    because="a mode the tracer follows",
)
special(
    "torch._C.DisableTorchFunction torch._C.DisableTorchFunctionSubclass",
    "torch_function_mode",
    because="a mode the tracer follows",
)
special(
    "torch._C._is_torch_function_enabled torch._C._is_torch_function_all_disabled"
    " torch._C._is_torch_function_mode_enabled torch._C._len_torch_function_stack"
    " torch._C._get_function_stack_at torch._C._push_on_torch_function_stack"
    " torch._C._pop_torch_function_stack",
    "torch_function_stack",
    because="a mode the tracer follows",
    otherwise=CONSTANT,
)
special(
    "torch._C._skip_one_hop_torch_function",
    "torch_function_stack",
    because="a mode the tracer follows",
    absent="torch < 2.12",
    otherwise=CONSTANT,
)
special(
    "torch.profiler.record_function torch.autograd.profiler.record_function"
    " torch.profiler.profile torch.autograd.profiler.profile",
    "profiler",
    because="measures; it changes no value, so it is entered at run time or left out",
)
special("torch.random.fork_rng", "fork_rng", because="saves and restores the generators' state")
