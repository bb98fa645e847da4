"""Operations and values of torch that have a handler in the calls room, and why."""

from __future__ import annotations

from suture.rules.rows import special
from suture.rules.verdict import CONSTANT, IN_GRAPH, INLINE

# Questions about tensors, answered by what the tracer knows.

special(
    "torch.is_tensor",
    "is_tensor",
    because="answered from the type of the argument",
    otherwise=INLINE,
)
special(
    "torch.overrides.is_tensor_like",
    "is_tensor_like",
    because="answered from the type of the argument",
    otherwise=INLINE,
)
special(
    "torch.is_storage",
    "is_storage",
    because="answered from the type of the argument",
    otherwise=INLINE,
)
special(
    "torch.as_strided torch.as_strided_copy torch.as_strided_scatter",
    "as_strided",
    because="counts from the beginning of the memory, which is guarded",
    otherwise=IN_GRAPH,
)
special(
    "torch.bincount torch.Tensor.bincount",
    "bincount",
    because="how many counts there are is known of places that torch has found",
    otherwise=IN_GRAPH,
)
special("torch.numel torch.Tensor.numel", "numel", because="answered from the shape")
special(
    "torch.Tensor.register_hook torch.Tensor.register_post_accumulate_grad_hook",
    "register_hook",
    because="the hook is a function of the user, kept outside the graph",
)
special(
    "torch._C._has_torch_function torch._C._has_torch_function_unary"
    " torch._C._has_torch_function_variadic",
    "has_torch_function",
    because="answered from the types of the arguments",
    otherwise=CONSTANT,
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
    otherwise=IN_GRAPH,
)
special(
    "torch.from_numpy",
    "from_numpy",
    because="a tensor over the memory of an array",
    otherwise=IN_GRAPH,
)
special("torch.Tensor", "tensor_class", because="makes a tensor, or a subclass of it")
special(
    "torch.FloatTensor torch.DoubleTensor torch.HalfTensor torch.BFloat16Tensor torch.LongTensor"
    " torch.IntTensor torch.ShortTensor torch.CharTensor torch.ByteTensor torch.BoolTensor",
    "tensor_class",
    because="an old name for making a tensor of one dtype",
)
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
    otherwise=INLINE,
)
special(
    "torch.fx.experimental.symbolic_shapes.expect_true",
    "expect_true",
    because="a condition that holds while tracing, or becomes a check in the graph",
)
special(
    "torch.fx.experimental.symbolic_shapes.guard_size_oblivious"
    " torch.fx.experimental.symbolic_shapes.guard_or_true"
    " torch.fx.experimental.symbolic_shapes.guard_or_false"
    " torch.fx.experimental.symbolic_shapes.statically_known_true"
    " torch.fx.experimental.symbolic_shapes.sym_and torch.fx.experimental.symbolic_shapes.sym_or"
    " torch.fx.experimental.symbolic_shapes.guard_scalar"
    " torch.fx.experimental.symbolic_shapes.has_static_value"
    " torch.fx.experimental.symbolic_shapes.sym_eq",
    "symbolic_shape",
    because="a question about a symbolic size",
    absent="differs by release",
    otherwise=INLINE,
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
    otherwise=INLINE,
)
special(
    "torch._dynamo.mark_dynamic torch._dynamo.maybe_mark_dynamic torch._dynamo.mark_static_address"
    " torch._dynamo.decorators.mark_unbacked",
    "mark_tensor",
    because="a mark on a tensor, kept for the next call",
    absent="torch's compiler",
)
special(
    "torch._dynamo.decorators.DynamoConfigPatchProxy.__enter__"
    " torch._dynamo.decorators.DynamoConfigPatchProxy.__exit__",
    "foreign_setting",
    because="a setting of torch's compiler; it means nothing here",
    absent="torch's compiler, differs between releases",
)
special(
    "torch._dynamo.override_cudagraphs"
    " torch._dynamo.decorators.CudagraphOverrideContextManager.__enter__"
    " torch._dynamo.decorators.CudagraphOverrideContextManager.__exit__",
    "override_cudagraphs",
    because="a setting of torch's compiler; it means nothing here and is named",
    absent="torch's compiler, differs between releases",
)
special(
    "torch.nn.modules.lazy.LazyModuleMixin._infer_parameters",
    "initialise_lazy_module",
    because="makes a module what it will be, once: classes and memory of its parameters change",
)

special(
    "torch.optim.lr_scheduler.LRScheduler.step torch.optim.lr_scheduler.ChainedScheduler.step"
    " torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.step",
    "schedule",
    because="a schedule is traced into, unless it decides anew at each step",
    otherwise=INLINE,
)

# Autograd, transforms, kernels.

special("torch.autograd.grad", "autograd_grad", because="differentiates a part of the graph")
special(
    "torch.autograd.backward",
    "autograd_backward",
    because="runs the autograd engine, which writes .grad: a part of the graph",
)
special(
    "torch.jit.annotate",
    "annotate",
    because="its second argument, unchanged",
    otherwise=INLINE,
)
special(
    "torch._functorch.vmap.vmap_impl torch._functorch.eager_transforms.grad_impl"
    " torch._functorch.eager_transforms.jacrev torch._functorch.eager_transforms.jacfwd"
    " torch._functorch.eager_transforms.vjp torch._functorch.eager_transforms.jvp"
    " torch._functorch.eager_transforms.hessian torch._functorch.eager_transforms.linearize",
    "func_transform",
    because="a transform of a function of the user",
    otherwise=INLINE,
)
special(
    "torch._functorch.functional_call.functional_call",
    "functional_call",
    because="calls a module with other parameters",
    otherwise=INLINE,
)
special(
    "torch.nn.utils.stateless._reparametrize_module",
    "reparametrize",
    because="exchanges a module's parameters for a while",
    otherwise=INLINE,
)
special(
    "torch._C._functorch.peek_interpreter_stack torch._functorch.pyfunctorch.coerce_cinterpreter",
    "func_interpreter",
    because="an object of the torch.func machinery, real while tracing",
    otherwise=CONSTANT,
)
special(
    "torch._dynamo.nonstrict_trace",
    "mark_nonstrict",
    because="sets a mark on a function",
    absent="torch's compiler",
    otherwise=INLINE,
)
special(
    "torch._higher_order_ops.invoke_subgraph.invoke_subgraph_placeholder",
    "compile_region",
    because="calls a function that was marked as a region of its own",
    absent="differs by release",
    otherwise=INLINE,
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
    because="written after the graph",
    otherwise=IN_GRAPH,
)
special(
    "torch.distributed.tensor._api.DTensor.from_local"
    " torch.distributed.tensor._api.DTensor.to_local"
    " torch.distributed.tensor._api.DTensor.redistribute"
    " torch.distributed.tensor._api.DTensor.full_tensor"
    " torch.distributed.tensor._api.distribute_tensor",
    "dtensor",
    because="one node, with the mesh and the placements in it",
    absent="builds without distributed",
)
special(
    "torch.distributed.is_initialized torch.distributed.get_rank torch.distributed.get_world_size"
    " torch.distributed.get_group_rank torch.distributed.get_global_rank"
    " torch.distributed.distributed_c10d._get_group_size_by_name"
    " torch.distributed.distributed_c10d._resolve_group_name_by_ranks_and_tag"
    " torch.distributed.distributed_c10d._get_group_tag"
    " torch.distributed.distributed_c10d.get_process_group_ranks",
    "group_fact",
    because="fixed for the life of the process groups, which are guarded",
    absent="builds without distributed",
)
special(
    "torch.distributed.tensor.placement_types.Shard"
    " torch.distributed.tensor.placement_types.Replicate"
    " torch.distributed.tensor.placement_types.Partial",
    "placement",
    because="a placement never changes",
    absent="builds without distributed",
)
special(
    "torch.compile suture.api.compile",
    "compile",
    because="the function it was given, traced with the rest",
)
special(
    "torch.utils._pytree.tree_is_leaf torch.utils._pytree._get_node_type",
    "pytree",
    because="a question about the type of a container",
    otherwise=INLINE,
)
special(
    "torch._C._functorch._grad_increment_nesting torch._C._functorch._grad_decrement_nesting"
    " torch._C._functorch.set_inplace_requires_grad_allowed",
    "func_nesting",
    because="a level of a torch.func transform that the tracer follows",
    otherwise=IN_GRAPH,
)
special(
    "torch._C._functorch._vmap_increment_nesting torch._C._functorch._vmap_decrement_nesting"
    " torch._C._functorch._jvp_increment_nesting torch._C._functorch._jvp_decrement_nesting"
    " torch._C._functorch._func_increment_nesting torch._C._functorch._func_decrement_nesting",
    "func_nesting",
    because="a level of a torch.func transform, which must not stay behind when tracing ends",
)
special(
    "torch._functorch.predispatch._vmap_increment_nesting"
    " torch._functorch.predispatch._vmap_decrement_nesting",
    "func_nesting",
    because="a level of a torch.func transform, which must not stay behind when tracing ends",
    absent="torch < 2.9",
)
special(
    "torch._functorch.predispatch._jvp_increment_nesting"
    " torch._functorch.predispatch._jvp_decrement_nesting"
    " torch._functorch.predispatch._enter_dual_level"
    " torch._functorch.predispatch._exit_dual_level",
    "func_nesting",
    because="a level of a torch.func transform, which must not stay behind when tracing ends",
    absent="torch < 2.13",
)
special(
    "torch.autograd.Function.apply",
    "autograd_function",
    because="forward and backward are functions of the user; both are traced",
)
special(
    "torch.utils.checkpoint.checkpoint",
    "checkpoint",
    because="a part of the graph that is computed again in the backward",
    otherwise=INLINE,
)
