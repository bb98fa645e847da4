"""What of torch is traced into although its module is not."""

from __future__ import annotations

from suture.rules.rows import inline

inline(
    "torch.nn.functional.triplet_margin_with_distance_loss",
    because="takes a function of the user, which is traced with it",
)
inline(
    "torch.cond torch.vmap torch.while_loop torch.sym_fresh_size",
    because="checks its arguments in Python, then calls what has a rule of its own",
)
inline(
    "torch.nested.nested_tensor_from_jagged torch._constrain_as_size torch._tensor._convert"
    " torch.jit._unwrap_optional torch.backends.mha.get_fastpath_enabled"
    " torch._utils_internal.justknobs_check"
    " torch.__future__.get_swap_module_params_on_conversion",
    because="plain Python that decides between operations",
)
inline(
    "torch._utils._chunk_or_narrow_cat torch._utils._maybe_view_chunk_cat",
    because="plain Python that decides between operations",
    absent="torch < 2.12",
)
inline(
    "torch.fx.node.map_aggregate torch.fx.node.map_arg torch.fx.immutable_collections._no_mutation"
    " torch.fx.immutable_collections._immutable_list_flatten"
    " torch.fx.immutable_collections._immutable_list_unflatten"
    " torch.fx.immutable_collections._immutable_dict_flatten"
    " torch.fx.immutable_collections._immutable_dict_unflatten",
    because="walks over nested containers in Python",
    absent="moved into C in some releases",
)
inline(
    "torch.autograd.forward_ad.enter_dual_level torch.autograd.forward_ad.exit_dual_level"
    " torch.autograd.forward_ad.make_dual torch.autograd.forward_ad.unpack_dual",
    because="forward-mode autograd: Python around C calls that have rules of their own",
)
inline(
    "torch.fx.experimental.symbolic_shapes.is_nested_int",
    because="a test on the type of its argument",
)
inline(
    "torch._higher_order_ops.foreach_map.foreach_map",
    because="prepares the arguments of an operator",
)
inline(
    "torch._dynamo.mark_static torch._dynamo.dont_skip_tracing"
    " torch._dynamo.utils._disable_side_effect_safety_checks_for_current_subtracer",
    because="sets a mark on an object, in Python",
    absent="torch's compiler",
)
inline(
    "torch._dynamo.disable_nested_graph_breaks"
    " torch._dynamo.bytecode_debugger.breakpoint"
    " torch.autograd.graph.region_activation_memory_budget",
    because="a setting of torch's compiler; it means nothing here, and is a context manager",
    absent="torch's compiler, differs between releases",
)
inline(
    "torch.utils.checkpoint.checkpoint_sequential",
    because="Python around checkpoint",
)
