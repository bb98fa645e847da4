"""Single objects of Python's library and of other packages that need a rule of their own."""

from __future__ import annotations

from suture.rules.rows import constant, inline, run, special
from suture.rules.verdict import INLINE

special(
    "inspect.signature",
    "signature",
    because="the signature of a traced function",
    otherwise=INLINE,
)
inline(
    "logging.Logger.debug logging.Logger.info logging.Logger.warning logging.Logger.error"
    " logging.Logger.critical logging.Logger.log logging.Logger.isEnabledFor",
    because="a level that is off makes no message; where it is on, Python writes it",
)
special("functools.partial", "partial", because="a function with some arguments filled in")
special(
    "functools.lru_cache functools.cache",
    "lru_cache",
    because="makes a cached function",
    otherwise=INLINE,
)
special(
    "dataclasses.fields",
    "dataclass_fields",
    because="read from the class while tracing",
    otherwise=INLINE,
)
run("dataclasses._process_class", because="writes methods as text and puts them into a class")
special("weakref.ref", "weakref", because="a reference whose object the tracer knows")
special("warnings.warn", "warn", because="text for a person, kept in order with the rest")
special(
    "random.random random.randint random.uniform random.randrange random.choice"
    " random.shuffle random.sample random.gauss random.seed",
    "random",
    because="draws from the generator of Python, whose state is put back",
)
special(
    "random.Random.random random.Random.uniform random.Random.randint random.Random.randrange"
    " random.Random.gauss",
    "random",
    because="draws from a generator of the program, whose state is put back",
)
special("random.Random", "random_class", because="a generator of Python, with state")
run(
    "time.time time.perf_counter time.sleep time.monotonic time.process_time time.time_ns",
    because="the clock is another one at each call",
)
run("copyreg.pickle copyreg.constructor", because="changes a registry of the process")
run(
    "unittest.case.TestCase.assertWarns unittest.case.TestCase.assertWarnsRegex"
    " unittest.case._AssertWarnsContext.__enter__ unittest.case._AssertWarnsContext.__exit__"
    " unittest.case.TestCase.assertLogs unittest.case.TestCase.assertNoLogs",
    because="records warnings or logs of the whole process",
)
constant("typing.get_type_hints typing.get_origin typing.get_args", because="a fact about a type")
constant(
    "re.compile re.match re.search re.fullmatch re.sub re.subn re.split re.findall re.escape"
    " re.finditer",
    because="text in, text out",
)
constant("datetime.timedelta", because="numbers in, an object that never changes out")
constant(
    "os.path.join os.path.basename os.path.dirname os.path.splitext", because="text in, text out"
)
special(
    "collections.deque collections.OrderedDict collections.defaultdict collections.Counter"
    " types.MappingProxyType types.SimpleNamespace types.MethodType types.FunctionType",
    "builtin_type",
    because="a type of Python that the tracer models",
)
