"""What of torch Python runs although it looks like an operation: one row each, with a reason."""

from __future__ import annotations

from suture.rules.rows import run

run(
    "torch.get_rng_state torch.set_rng_state torch.manual_seed torch.random.manual_seed"
    " torch.seed torch.initial_seed torch.cuda.get_rng_state"
    " torch.cuda.set_rng_state torch.cuda.manual_seed torch.cuda.manual_seed_all",
    because="the state of a random generator is no value of the graph; a graph would lose it",
)
run(
    "torch.xpu.get_rng_state torch.xpu.set_rng_state",
    because="the state of a random generator is no value of the graph; a graph would lose it",
    absent="builds without xpu",
)
run(
    "torch._C.Generator.get_state torch._C.Generator.set_state torch._C.Generator.manual_seed"
    " torch._C.Generator.seed torch._C.Generator.initial_seed torch._C.Generator.clone_state"
    " torch._C.Generator.graphsafe_get_state torch._C.Generator.graphsafe_set_state"
    " torch._C.Generator.get_offset torch._C.Generator.set_offset",
    because="the state of a random generator is no value of the graph; a graph would lose it",
)
run(
    "torch.nn.utils.rnn.pack_padded_sequence torch.nn.utils.rnn.pad_packed_sequence",
    because="the shape of the result depends on the lengths' values",
)
run(
    "torch._nested_tensor_from_mask", because="the shape of the result depends on the mask's values"
)
run(
    "torch.sparse_coo_tensor torch.sparse_csr_tensor torch.sparse_csc_tensor"
    " torch.sparse_bsr_tensor torch.sparse_bsc_tensor torch.sparse_compressed_tensor",
    because="makes a sparse tensor, which backends cannot hold in a graph",
)
run(
    "torch.resize_as_ torch.resize_as_sparse_",
    because="changes the storage of its argument under all of its views",
)
run(
    "torch.Tensor._make_wrapper_subclass torch.Tensor.__init__",
    because="makes a tensor subclass object by object, not value by value",
)
run(
    "torch.overrides.redispatch_function",
    because="calls a function whose next look for overrides finds none: nothing below is compiled",
    absent="torch before 2.13",
)
run(
    "torch.nested._internal.nested_tensor.NestedTensor.__torch_function__",
    because="nested tensors answer for themselves when the graph runs, and while it is traced",
)
run(
    "torch._C._to_dlpack torch.to_dlpack torch.from_dlpack",
    because="hands memory to another library",
)
run(
    "torch._C._to_dlpack_versioned", because="hands memory to another library", absent="torch < 2.9"
)
run(
    "torch.set_anomaly_enabled torch.set_autocast_cpu_dtype torch.set_autocast_cpu_enabled"
    " torch.set_autocast_gpu_dtype torch.set_autocast_ipu_dtype torch.set_autocast_ipu_enabled"
    " torch.set_autocast_xla_dtype torch.set_autocast_xla_enabled",
    because="sets a mode of the process that a graph does not carry",
)
run(
    "torch.optim.lr_scheduler.LRScheduler.__init__ torch.optim.lr_scheduler.ReduceLROnPlateau.step"
    " torch.optim.lr_scheduler.SequentialLR.step",
    because="moves Python's numbers as they come: traced, each of them would be a case of its own",
)
run(
    "torch.set_num_threads torch.set_num_interop_threads torch.set_flush_denormal",
    because="sets up the process; it must happen once, when it is called",
)
run("torch.cuda.set_device", because="changes the current device for all code that follows")
run(
    "torch.distributions.constraints.is_dependent torch.jit.isinstance",
    because="reads Python objects, not tensors",
)
run(
    "torch.distributed.destroy_process_group torch.distributed.init_process_group",
    because="sets up or tears down processes",
    absent="builds without distributed",
)
run(
    "torch.distributed.device_mesh.DeviceMesh.__init__",
    because="talks to other processes",
    absent="builds without distributed",
)
run(
    "torch.distributed.nn.functional.broadcast torch.distributed.nn.functional.gather"
    " torch.distributed.nn.functional.scatter torch.distributed.nn.functional.reduce"
    " torch.distributed.nn.functional.reduce_scatter torch.distributed.nn.functional.all_gather"
    " torch.distributed.nn.functional._all_gather_base torch.distributed.nn.functional.all_to_all"
    " torch.distributed.nn.functional.all_to_all_single"
    " torch.distributed.nn.functional.all_reduce",
    because="talks to other processes, and raises where it is traced",
    absent="builds without distributed",
)
run(
    "torch.save torch.load torch.lobpcg torch.typename torch.get_file_path torch.classproperty"
    " torch.nn.functional.boolean_dispatch",
    because="files, text, or a loop that depends on values: nothing for a graph",
)
run(
    "torch._nested_tensor_from_mask_left_aligned torch._choose_qparams_per_tensor",
    because="a number or a truth that follows from values, which fake tensors make up",
)
run(
    "torch.func.debug_unwrap",
    because="looks behind the tensors of a transform, which has none while it is traced",
)
run(
    "torch.miopen_ctc_loss",
    because="a loss whose backend is chosen by values, and present on one platform only",
    absent="torch < 2.13",
)
run(
    "torch.Tensor.__repr__ torch.Tensor.__format__ torch.set_printoptions",
    because="text about values, which are there only when the graph has run",
)
