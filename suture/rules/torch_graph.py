"""What of torch is one node although nothing about the object itself says so."""

from __future__ import annotations

from suture.rules.rows import in_graph

in_graph(
    "torch.Tensor.split torch.Tensor.__contains__",
    because="written in Python over several operators; one node keeps the graph small",
)
in_graph(
    "torch.sym_not torch.sym_float torch.sym_int torch.sym_max torch.sym_min torch.sym_ite"
    " torch.sym_sum",
    because="arithmetic on symbolic sizes: a node, so that the graph carries it",
)
in_graph(
    "torch.sym_sqrt",
    because="arithmetic on symbolic sizes: a node, so that the graph carries it",
    absent="generated from a list in torch",
)
in_graph(
    "torch._check_is_size torch.onnx.operators.shape_as_tensor",
    because="a fact about sizes that the graph must carry",
)
in_graph(
    "torch._linalg_utils.eig torch._linalg_utils.lstsq torch._linalg_utils.matrix_rank"
    " torch._linalg_utils.solve torch._linalg_utils._symeig torch._linalg_utils.matmul"
    " torch._linalg_utils.bform torch._linalg_utils.qform torch._linalg_utils.basis",
    because="linear algebra on tensors, kept as one node",
)
in_graph(
    "torch._lowrank.svd_lowrank torch._lowrank.pca_lowrank torch._lowrank.get_approximate_basis"
    " torch._utils._flatten_dense_tensors torch._utils._unflatten_dense_tensors",
    because="several operations that belong together, kept as one node",
)
in_graph(
    "torch.nested.nested_tensor torch.nested.as_nested_tensor torch.nested.narrow"
    " torch.nested._internal.nested_tensor.nested_from_padded"
    " torch.nested._internal.nested_tensor.buffer_from_jagged"
    " torch.nested._internal.nested_tensor.jagged_from_list"
    " torch.nested._internal.nested_tensor.jagged_from_tensor_and_lengths"
    " torch.nested._internal.nested_tensor.nested_view_from_values_offsets"
    " torch.nested._internal.nested_tensor.nested_view_from_values_offsets_lengths",
    because="makes a nested tensor out of plain ones",
)
in_graph(
    "torch.masked._ops.sum torch.masked._ops.prod torch.masked._ops.cumsum"
    " torch.masked._ops.cumprod torch.masked._ops.amax torch.masked._ops.amin"
    " torch.masked._ops.argmax torch.masked._ops.argmin torch.masked._ops.mean"
    " torch.masked._ops.median torch.masked._ops.logsumexp torch.masked._ops.logaddexp"
    " torch.masked._ops.norm torch.masked._ops.var torch.masked._ops.std"
    " torch.masked._ops.softmax torch.masked._ops.log_softmax torch.masked._ops.softmin"
    " torch.masked._ops.normalize torch.sparse.sum",
    because="a reduction over masked or sparse entries, kept as one node",
)
in_graph(
    "torch.signal.windows.windows.bartlett torch.signal.windows.windows.blackman"
    " torch.signal.windows.windows.cosine torch.signal.windows.windows.exponential"
    " torch.signal.windows.windows.gaussian torch.signal.windows.windows.general_cosine"
    " torch.signal.windows.windows.general_hamming torch.signal.windows.windows.hamming"
    " torch.signal.windows.windows.hann torch.signal.windows.windows.kaiser"
    " torch.signal.windows.windows.nuttall",
    because="makes a window tensor, kept as one node",
)
in_graph(
    "torch.nn.grad.conv1d_input torch.nn.grad.conv1d_weight torch.nn.grad.conv2d_input"
    " torch.nn.grad.conv2d_weight torch.nn.grad.conv3d_input torch.nn.grad.conv3d_weight",
    because="a gradient of a convolution, kept as one node",
)
in_graph(
    "torch._C._functorch._wrap_for_grad torch._C._functorch._unwrap_for_grad"
    " torch._C._functorch._unwrap_batched torch._C._functorch.current_level"
    " torch._C._functorch.maybe_current_level torch._C._functorch.is_batchedtensor"
    " torch._C._functorch.unwrap_if_dead torch._C._functorch._add_batch_dim"
    " torch._C._functorch._remove_batch_dim torch._C._functorch.is_functorch_wrapped_tensor"
    " torch._C._functorch.get_unwrapped",
    because="a step of a torch.func transform that the graph replays",
)
in_graph(
    "torch._functorch.predispatch._add_batch_dim torch._functorch.predispatch._remove_batch_dim",
    because="a step of a torch.func transform that the graph replays",
    absent="torch < 2.9",
)
in_graph(
    "torch._functorch.predispatch._unwrap_for_grad torch._functorch.predispatch._make_dual"
    " torch._functorch.predispatch._unpack_dual",
    because="a step of a torch.func transform that the graph replays",
    absent="torch < 2.13",
)
in_graph(
    "torch._functorch.eager_transforms._autograd_grad"
    " torch._functorch.eager_transforms._set_tensor_requires_grad"
    " torch._functorch.eager_transforms._is_differentiable"
    " torch._functorch.eager_transforms._any_differentiable"
    " torch._functorch.batch_norm_replacement.batch_norm_without_running_stats",
    because="a step of a torch.func transform that the graph replays",
)
in_graph(
    "torch.set_default_dtype torch.set_default_tensor_type torch.set_float32_matmul_precision"
    " torch.set_deterministic_debug_mode torch.set_warn_always",
    because="a setting of the process: a node, so that it happens in order at each call",
)
in_graph(
    "torch.cuda.synchronize torch.cuda.current_stream torch.cuda.default_stream"
    " torch.cuda.set_stream torch.cuda.stream torch.cuda.empty_cache torch.accelerator.synchronize"
    " torch.accelerator.current_stream torch.accelerator.set_stream torch.cpu.synchronize",
    because="an order to the device: a node, so that it happens in order at each call",
)
