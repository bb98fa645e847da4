"""What of torch has a handler in the calls room: the handler's name, and why."""

from __future__ import annotations

from suture.rules.rows import special

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
    "suture.rules.marks.error_on_graph_break",
    "error_on_graph_break",
    because="from here on a break is an error, or is one no longer",
)
special(
    "torch._dynamo.error_on_graph_break",
    "error_on_graph_break",
    because="from here on a break is an error, or is one no longer",
    absent="torch < 2.9",
)
special(
    "torch.compiler.is_compiling torch.compiler.is_dynamo_compiling torch._utils.is_compiling",
    "is_compiling",
    because="true while tracing",
)
special(
    "torch._dynamo.external_utils.is_compiling",
    "is_compiling",
    because="true while tracing",
    absent="torch's compiler",
)
special("torch.compiler.is_exporting", "is_exporting", because="false: suture does not export")
special(
    "torch._dynamo.eval_frame._is_in_optimized_module",
    "is_compiling",
    because="true while tracing",
    absent="torch < 2.10",
)
special(
    "torch.nn.modules.activation._is_make_fx_tracing",
    "is_compiling",
    because="true while tracing: it keeps fused paths, which hide operations, out of the graph",
)
special(
    "torch.jit.is_scripting torch.jit.is_tracing torch._C._is_tracing torch.onnx.is_in_onnx_export"
    " torch.fx._symbolic_trace.is_fx_tracing",
    "is_other_tracing",
    because="false: another tracer, which is not the one at work",
)
special(
    "torch.fx._symbolic_trace.is_fx_symbolic_tracing",
    "is_other_tracing",
    because="false: another tracer, which is not the one at work",
    absent="torch < 2.9",
)
special("torch._C._get_tracing_state", "no_tracing_state", because="None: no jit tracer is at work")

# Modes: read from and written to the state of the tracer.

special("torch.is_grad_enabled", "is_grad_enabled", because="a mode the tracer follows")
special(
    "torch.is_inference_mode_enabled",
    "is_inference_mode_enabled",
    because="a mode the tracer follows",
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
)
special(
    "torch.autograd.grad_mode._enter_inference_mode torch.autograd.grad_mode._exit_inference_mode",
    "inference_mode",
    because="a mode the tracer follows",
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
)
special(
    "torch._C._skip_one_hop_torch_function",
    "torch_function_stack",
    because="a mode the tracer follows",
    absent="torch < 2.12",
)
special(
    "torch.profiler.record_function torch.autograd.profiler.record_function"
    " torch.profiler.profile torch.autograd.profiler.profile",
    "profiler",
    because="measures; it changes no value, so it is entered at run time or left out",
)
special("torch.random.fork_rng", "fork_rng", because="saves and restores the generators' state")

# Questions about tensors, answered by what the tracer knows.

special(
    "torch.is_tensor torch.overrides.is_tensor_like",
    "is_tensor",
    because="answered from the type of the argument",
)
special("torch.is_storage", "is_storage", because="answered from the type of the argument")
special("torch.numel torch.Tensor.numel", "numel", because="answered from the shape")
special(
    "torch.Tensor.register_hook torch.Tensor.register_post_accumulate_grad_hook",
    "register_hook",
    because="the hook is a function of the user, kept beside the graph",
)
special(
    "torch._C._has_torch_function torch._C._has_torch_function_unary"
    " torch._C._has_torch_function_variadic",
    "has_torch_function",
    because="answered from the types of the arguments",
)
special(
    "torch._C._dispatch_keys torch._C._dispatch_tls_local_include_set"
    " torch._C._dispatch_tls_local_exclude_set",
    "dispatch_keys",
    because="answered from the tensor and the modes",
)
special(
    "torch._C._group_tensors_by_device_and_dtype",
    "group_tensors",
    because="groups by facts that the tracer knows",
)

# Values the tracer makes itself.

special(
    "torch.nn.Parameter torch.nn.Buffer",
    "parameter",
    because="a parameter made while tracing is an input or an attribute of the graph",
)
special("torch.Size", "size", because="a tuple of sizes, symbolic or not")
special(
    "torch.tensor torch.as_tensor torch.asarray torch.scalar_tensor",
    "make_tensor",
    because="a constant tensor, or one made of traced numbers",
)
special("torch.from_numpy", "from_numpy", because="a tensor over the memory of an array")
special("torch.Tensor", "tensor_class", because="makes a tensor, or a subclass of it")
special(
    "torch.Generator torch._C.Generator", "generator", because="an object with state of its own"
)
special(
    "torch.Stream torch.Event torch.cuda.Stream torch.cuda.Event",
    "stream",
    because="an object of the device",
)
special("torch.utils.hooks.BackwardHook", "backward_hook", because="hooks around a module's call")

# Checks.

special(
    "torch._assert torch._check torch._check_with torch._check_index torch._check_value"
    " torch._check_type torch._check_not_implemented torch._check_tensor_all"
    " torch._check_tensor_all_with",
    "check",
    because="a condition that holds while tracing, or becomes a check in the graph",
)
special(
    "torch.fx.experimental.symbolic_shapes.guard_size_oblivious"
    " torch.fx.experimental.symbolic_shapes.guard_or_true"
    " torch.fx.experimental.symbolic_shapes.guard_or_false"
    " torch.fx.experimental.symbolic_shapes.statically_known_true"
    " torch.fx.experimental.symbolic_shapes.sym_and torch.fx.experimental.symbolic_shapes.sym_or"
    " torch.fx.experimental.symbolic_shapes.guard_scalar"
    " torch.fx.experimental.symbolic_shapes.has_static_value",
    "symbolic_shape",
    because="a question about a symbolic size",
    absent="differs by release",
)
special(
    "torch.fx.experimental.symbolic_shapes.statically_known_false"
    " torch.fx.experimental.symbolic_shapes.guarding_hint_or_throw"
    " torch.fx.experimental.symbolic_shapes.optimization_hint"
    " torch.fx.experimental.symbolic_shapes.has_free_unbacked_symbols"
    " torch._dynamo.decorators.override_optimization_hint",
    "symbolic_shape",
    because="a question about a symbolic size",
    absent="torch < 2.13",
)
special(
    "torch._dynamo.mark_dynamic torch._dynamo.maybe_mark_dynamic torch._dynamo.decorators.mark_unbacked"
    " torch._dynamo.mark_static_address",
    "mark_tensor",
    because="a mark on a tensor, kept for the next call",
    absent="torch's compiler",
)

# Autograd, transforms, kernels.

special("torch.autograd.grad", "autograd_grad", because="differentiates a part of the graph")
special("torch.jit.annotate", "annotate", because="its second argument, unchanged")
special(
    "torch._functorch.vmap.vmap_impl torch._functorch.eager_transforms.grad_impl"
    " torch._functorch.eager_transforms.jacrev torch._functorch.eager_transforms.jacfwd"
    " torch._functorch.eager_transforms.vjp torch._functorch.eager_transforms.jvp"
    " torch._functorch.eager_transforms.hessian torch._functorch.eager_transforms.linearize",
    "func_transform",
    because="a transform of a function of the user",
)
special(
    "torch._functorch.functional_call.functional_call",
    "functional_call",
    because="calls a module with other parameters",
)
special(
    "torch.nn.utils.stateless._reparametrize_module",
    "reparametrize",
    because="exchanges a module's parameters for a while",
)
special(
    "torch._C._functorch.peek_interpreter_stack torch._functorch.pyfunctorch.coerce_cinterpreter",
    "func_interpreter",
    because="an object of the torch.func machinery, real while tracing",
)
special("torch.library.wrap_triton", "wrap_triton", because="a triton kernel as an operator")
special(
    "torch._library.capture_triton",
    "wrap_triton",
    because="a triton kernel as an operator",
    absent="the old name of wrap_triton",
)
special(
    "torch._C._autograd._unsafe_set_version_counter",
    "version_counter",
    because="written behind the graph",
)
special(
    "torch.distributed.tensor._api.DTensor.from_local",
    "dtensor",
    because="a sharded tensor",
    absent="builds without distributed",
)
special("torch.compile", "compile", because="the function it was given, traced with the rest")
special(
    "torch.utils._pytree.tree_is_leaf torch.utils._pytree._get_node_type",
    "pytree",
    because="a question about the type of a container",
)
