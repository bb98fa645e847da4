"""CPython's own tests that cannot pass compiled, each with a reason that is about the test."""

from __future__ import annotations

_FREED = "counts references: waits for an object to be freed at once"
_LEN = "puts another function in the place of builtins.len for the whole process"
_ITER = "takes iter out of the builtins for the whole process"
_DEPTH = "measures how deep recursion goes"
_HELD = "counts references: needs an object alive that the function uses no more"
_REUSED = "counts references: a tuple that nobody holds is to be filled anew"
_LEFT = "asks a frame that was left where it stood then"

_COUNTS = "counts references with sys.getrefcount"
_REUSE = "asks whether a tuple that nobody holds is used again"
_FRAMES = "looks at the frames on the stack"
_SUSPENDED = "looks at variables of a suspended frame that it uses no more"
_GETFILE = "torch puts another function in the place of inspect.getfile"
_MODULES = "asks every module of the process for a name, and one of torch does not like that"
_COLLECTED = "counts what the garbage collector finds, or waits for it to find it at once"
_LINES = "asks which files linecache holds"
_HELD_LOCALS = "looks at the variables of a frame that was left"
_COLLECTIONS = (
    "boom", "boom2", "boom2_new", "boom_new", "bug1055820b", "dict", "frame", "function",
    "get_count", "get_objects_arguments", "legacy_finalizer", "legacy_finalizer_newclass", "list",
    "newinstance", "resurrection_does_not_block_cleanup_of_other_objects",
    "resurrection_is_transitive", "resurrection_only_happens_once_per_object", "saveall", "tuple",
)  # fmt: skip
_UNCOLLECTED = "needs that no garbage is collected between the evaluation of two arguments"
_SAME_TUPLE = "asks whether a callable in C is handed the very tuple that the call unpacks"
_SPECIALISED = "looks at how CPython has specialised the bytecode of a function that ran"
_STREAMS = (
    "CBufferedReader",
    "CBufferedWriter",
    "CBufferedRandom",
    "CTextIOWrapper",
    "CIO",
    "PyIO",
)
_ARRAYS = (
    "Byte", "Double", "Float", "Int", "Long", "LongLong", "Short", "UnsignedByte", "UnsignedInt",
    "Unicode", "UnsignedLong", "UnsignedLongLong", "UnsignedShort",
)  # fmt: skip
_SEQUENCES = ("Enumerate", "EnumerateStart", "Subclass")
_VIEWS = [
    f"test.test_memoryview.{of}Memory{kind}Test.test_"
    for of in ("Array", "Bytes")
    for kind in ("view", "Slice", "SliceSlice")
]
_VIEWED = ("getbuffer", "getitem", "setitem_readonly", "setitem_writable")

# test id (or a prefix that ends in ".") -> why the test itself cannot pass when compiled
EXPECTED: dict[str, str] = {
    "test.test_call.TestPEP590.test_vectorcall_override": _SAME_TUPLE,
    "test.test_queue.CSimpleQueueTest.test_reentrancy": _UNCOLLECTED,
    "test.test_patma.TestTracing.": "follows the lines of a frame with sys.settrace",
    "test.test_functools.TestLRUC.test_lru_reentrancy_with_len": _LEN,
    "test.test_functools.TestLRUPy.test_lru_reentrancy_with_len": _LEN,
    "test.test_functools.TestLRUC.test_lru_cache_weakrefable": _FREED,
    "test.test_functools.TestLRUPy.test_lru_cache_weakrefable": _FREED,
    "test.test_contextlib.ContextManagerTestCase.test_nokeepref": _FREED,
    "test.test_dict.DictTest.test_container_iterator": _FREED,
    "test.test_dict.DictTest.test_free_after_iterating": _FREED,
    "test.test_dict.DictTest.test_splittable_popitem": "asks for the size of a dict in memory",
    "test.test_exceptions.ExceptionTests.testExceptionCleanupState": _FREED,
    "test.test_exceptions.ExceptionTests.test_memory_error_cleanup": _FREED,
    "test.test_exceptions.ExceptionTests.test_recursion_error_cleanup": _DEPTH,
    "test.test_exceptions.ExceptionTests.test_recursion_in_except_handler": _DEPTH,
    "test.test_generators.GeneratorStackTraceTest.": "looks at the frames of callers",
    "test.test_gc.GCCallbackTests.test_collect_garbage": _COLLECTED,
    "test.test_gc.GCTogglingTests.test_bug1055820c": _COLLECTED,
    "test.test_gc.GCTogglingTests.test_bug1055820d": _COLLECTED,
    "test.test_inspect.test_inspect.IsTestBase.test__all__": _GETFILE,
    "test.test_inspect.test_inspect.TestInterpreterStack.test__all__": _GETFILE,
    "test.test_inspect.test_inspect.TestPredicates.test__all__": _GETFILE,
    "test.test_inspect.test_inspect.TestRetrievingSourceCode.test_getfile_class_without_module": (
        _GETFILE
    ),
    "test.test_inspect.test_inspect.TestGetCoroutineState.test_getcoroutinelocals": _SUSPENDED,
    "test.test_inspect.test_inspect.TestGetGeneratorState.test_getgeneratorlocals": _SUSPENDED,
    "test.test_iter.TestCase.test_free_after_iterating": _FREED,
    "test.test_iter.TestCase.test_reduce_mutating_builtins_iter": _ITER,
    "test.test_iter.TestCase.test_ref_counting_behavior": _FREED,
    "test.test_list.ListTest.test_free_after_iterating": _FREED,
    "test.test_copy.TestCopy.test_copy_weakkeydict": _HELD,
    "test.test_copy.TestCopy.test_copy_weakvaluedict": _HELD,
    "test.test_copy.TestCopy.test_deepcopy_weakkeydict": _HELD,
    "test.test_copy.TestCopy.test_deepcopy_weakvaluedict": _HELD,
    "test.test_dict.DictTest.test_oob_indexing_dictiter_iternextitem": _FREED,
    "test.test_exceptions.ExceptionTests.testSettingException": "looks at the frames of callers",
    "test.test_exceptions.PEP626Tests.test_lineno_after_other_except": _LEFT,
    "test.test_exceptions.PEP626Tests.test_lineno_in_try": _LEFT,
    "test.test_generators.FinalizationTest.test_refcycle": "counts references: sys.getrefcount",
    "test.test_generators.SignalAndYieldFromTest.": "asks in which frame a signal is taken",
    "test.test_itertools.TestBasicOps.test_combinations_tuple_reuse": _REUSED,
    "test.test_itertools.TestBasicOps.test_combinations_with_replacement_tuple_reuse": _REUSED,
    "test.test_itertools.TestBasicOps.test_permutations_tuple_reuse": _REUSED,
    "test.test_itertools.TestBasicOps.test_product_tuple_reuse": _REUSED,
    "test.test_itertools.TestBasicOps.test_zip_longest_tuple_reuse": _REUSED,
    "test.test_itertools.TestBasicOps.test_zip_tuple_reuse": _REUSED,
    "test.test_ast.AST_Tests.test_AST_garbage_collection": _FREED,
    "test.test_io.CIOTest.test_IOBase_finalize": _FREED,
    "test.test_optparse.TestOptionParser.test_refleak": _COUNTS,
    "test.test_tempfile.TestMktemp.test_basic": _FREED,
    "test.test_tempfile.TestTemporaryDirectory.test_del_on_collection": _FREED,
    "test.test_tempfile.TestTemporaryDirectory.test_del_on_collection_ignore_errors": _FREED,
    "test.test_trace.": "follows the lines of a frame with sys.settrace",
    "unittest.test.test_case.Test_TestCase.testAssertRaisesRefcount": _COUNTS,
    "unittest.test.test_case.Test_TestCase.testNoCycles": _FREED,
    "test.test_memoryio.CBytesIOTest.test_cow_setstate": _COUNTS,
    "test.test_memoryio.CBytesIOTest.test_cow_truncate": _COUNTS,
    "test.test_memoryio.CBytesIOTest.test_cow_write": _COUNTS,
    "test.test_memoryio.CBytesIOTest.test_sizeof": "asks for the size of a buffer in memory",
    "test.test_pickle.CIdPersPicklerTests.test_pickler_reference_cycle": _FREED,
    "test.test_pickle.CIdPersPicklerTests.test_unpickler_reference_cycle": _FREED,
    "test.test_pickle.CPicklerHookTests.test_reducer_override_no_reference_cycle": _FREED,
    "test.test_pickle.DumpPickle_CLoadPickle.test_local_lookup_error": _MODULES,
    "test.test_pickle.PyIdPersPicklerTests.test_pickler_reference_cycle": _FREED,
    "test.test_pickle.PyIdPersPicklerTests.test_unpickler_reference_cycle": _FREED,
    "test.test_pickle.PyPicklerHookTests.test_reducer_override_no_reference_cycle": _FREED,
    "test.test_pickle.PyPicklerTests.test_local_lookup_error": _MODULES,
    "test.test_raise.TestTracebackType.test_attrs": "asks for its own frame by identity",
    "test.test_set.TestFrozenSet.test_container_iterator": _FREED,
    "test.test_set.TestFrozenSetSubclass.test_container_iterator": _FREED,
    "test.test_set.TestSet.test_container_iterator": _FREED,
    "test.test_set.TestSetSubclass.test_container_iterator": _FREED,
    "test.test_sys.SysModuleTest.test_getallocatedblocks": "counts blocks of memory",
    "test.test_sys.SysModuleTest.test_refcount": _COUNTS,
    "test.test_sys.SysModuleTest.test_setrecursionlimit_to_depth": _DEPTH,
    "test.test_sys.UnraisableHookTest.test_original_unraisablehook_err": _FREED,
    "test.test_threading.ThreadTests.test_no_refcycle_through_target": _FREED,
    "test.test_threading_local.PyThreadingLocalTest.test_cycle_collection": _FREED,
    "test.test_threading_local.ThreadLocalTest.test_cycle_collection": _FREED,
    "test.test_traceback.MiscTracebackCases.test_clear": _HELD_LOCALS,
    "test.test_traceback.TestStack.test_extract_stackup_deferred_lookup_lines": _LINES,
    "test.test_traceback.TestTracebackException.test_comparison_params_variations": _HELD_LOCALS,
    "test.test_traceback.TestTracebackException.test_lookup_lines": _LINES,
    "test.test_traceback.TestTracebackException.test_print": _HELD_LOCALS,
    "test.test_tuple.TupleTest.test_free_after_iterating": _FREED,
    "test.test_abc.test_factory.<locals>.TestABC.test_registration_builtins": _HELD,
    "test.test_abc.test_factory.<locals>.TestABC.test_registration_transitiveness": _HELD,
    "test.test_asyncgen.AsyncGenAsyncioTest.test_async_gen_asyncio_gc_aclose_09": _FREED,
    "test.test_bytes.ByteArrayTest.test_resize_forbidden": _HELD,
    "test.test_code.CoExtra.": _FREED,
    "test.test_code.CodeWeakRefTest.test_basic": _FREED,
    "test.test_coroutines.CoroutineTest.test_for_2": _COUNTS,
    "test.test_coroutines.CoroutineTest.test_for_3": _COUNTS,
    "test.test_coroutines.CoroutineTest.test_for_4": _COUNTS,
    "test.test_coroutines.CoroutineTest.test_for_6": _COUNTS,
    "test.test_coroutines.CoroutineTest.test_stack_in_coroutine_throw": _FRAMES,
    "test.test_coroutines.OriginTrackingTest.test_origin_tracking": _FRAMES,
    "test.test_coroutines.OriginTrackingTest.test_origin_tracking_warning": _FRAMES,
    "test.test_logging.LoggerTest.test_caching": "looks into the private cache of levels that a"
    " logger fills when it is asked; asking while tracing leaves it alone",
    "test.test_deque.TestBasic.test_container_iterator": _FREED,
    "test.test_deque.TestBasic.test_sizeof": "asks for the size of a deque in memory",
    "test.test_descr.ClassPropertiesAndMethods.test_cycle_through_dict": _FREED,
    "test.test_descr.ClassPropertiesAndMethods.test_remove_subclass": _FREED,
    "test.test_descr.ClassPropertiesAndMethods.test_slots": _FREED,
    "test.test_descr.SharedKeyTests.test_subclasses": "asks for the size of a dict in memory",
    "test.test_enumerate.TestBig.test_tuple_reuse": _REUSE,
    "test.test_enumerate.TestLongStart.test_tuple_reuse": _REUSE,
    "test.test_enumerate.TestReversed.test_bug1229429": _COUNTS,
    "test.test_enumerate.TestStart.test_tuple_reuse": _REUSE,
    "test.test_ordered_dict.CPythonOrderedDictSubclassTests.test_reference_loop": _FREED,
    "test.test_ordered_dict.CPythonOrderedDictTests.test_reference_loop": _FREED,
    "test.test_ordered_dict.PurePythonOrderedDictSubclassTests.test_reference_loop": _FREED,
    "test.test_ordered_dict.PurePythonOrderedDictTests.test_reference_loop": _FREED,
    "test.test_slice.SliceTest.test_cycle": _FREED,
    "test.test_slice.SliceTest.test_pickle": "asks for the id of an object that nobody holds",
    "test.test_struct.StructTest.test__struct_reference_cycle_cleaned_up": _FREED,
    "test.test_weakref.FinalizeTestCase.test_all_freed": _FREED,
    "test.test_weakref.FinalizeTestCase.test_finalize": _FREED,
    "test.test_weakref.FinalizeTestCase.test_order": _FREED,
    "test.test_weakref.MappingTestCase.test_weak_keyed_len_cycles": _FREED,
    "test.test_weakref.MappingTestCase.test_weak_keyed_union_operators": _FREED,
    "test.test_weakref.MappingTestCase.test_weak_keys": _FREED,
    "test.test_weakref.MappingTestCase.test_weak_valued_delitem": _FREED,
    "test.test_weakref.MappingTestCase.test_weak_valued_len_cycles": _FREED,
    "test.test_weakref.MappingTestCase.test_weak_valued_union_operators": _FREED,
    "test.test_weakref.MappingTestCase.test_weak_values": _FREED,
    "test.test_weakref.ReferencesTestCase.test_callback_in_cycle_resurrection": _FREED,
    "test.test_weakref.ReferencesTestCase.test_callbacks_on_callback": _FREED,
    "test.test_weakref.ReferencesTestCase.test_cfunction": _FREED,
    "test.test_weakref.ReferencesTestCase.test_classes": _FREED,
    "test.test_weakref.WeakMethodTestCase.test_callback_when_method_dead": _FREED,
    "test.test_weakref.WeakMethodTestCase.test_no_cycles": _FREED,
    "test.test_weakset.TestWeakSet.test_intersection": _FREED,
    "test.test_weakset.TestWeakSet.test_len_cycles": _FREED,
    "test.test_weakset.TestWeakSet.test_weak_destroy_and_mutate_while_iterating": _FREED,
    "test.test_weakset.TestWeakSet.test_weak_destroy_while_iterating": _FREED,
    "test.test_yield_from.TestPEP380Operation.test_delegator_is_visible_to_debugger": _FRAMES,
    **{f"test.test_enumerate.{n}TestCase.test_tuple_reuse": _REUSE for n in _SEQUENCES},
    **{
        f"test.test_dis.{n}.test_{t}": _SPECIALISED
        for n in ("DisTests", "DisWithFileTests")
        for t in ("loop_quicken", "super_instructions")
    },
    **{f"test.test_io.{n}Test.test_garbage_collection": _FREED for n in _STREAMS},
    **{
        f"test.test_io.{n}MiscIOTest.test_{t}": _FREED
        for n in ("C", "Py")
        for t in ("blockingioerror", "warn_on_dealloc", "warn_on_dealloc_fd")
    },
    **{f"test.test_gc.GCTests.test_{n}": _COLLECTED for n in _COLLECTIONS},
    **{view + name: _COUNTS for view in _VIEWS for name in _VIEWED},
    **{view + "gc": _FREED for view in _VIEWS},
    **{f"test.test_array.{n}Test.test_bug_782369": _COUNTS for n in _ARRAYS},
}
