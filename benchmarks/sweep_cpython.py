"""CPython's own tests with every test method compiled.

    python benchmarks/sweep_cpython.py [module ...] [--wider | --all] [--traced] [--json FILE]
    python benchmarks/sweep_cpython.py --table FILE ...

Each module runs in a process of its own, once plainly and once with each test method compiled
(backend "eager", breaks allowed, strict: a fault of ours is an error). A test that passes plainly
must pass compiled. Tests that can meet no tensor are left to Python (decision 0018), as a user's
functions are; with `--traced` all are traced, which is what tests the compiler. `--all` takes every
module of the suite but those that cpython_modules.py leaves out, each with a reason. The tests in
cpython_excused.py may fail, for a reason that is about the test. A test that takes the process down
or does not end is noted, and the rest goes on in a fresh process.
The seconds are processor time of the tests that pass both ways, without imports and waiting.
`--table` prints the table of docs/benchmarks.md from reports that `--json` wrote.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpython_excused import EXPECTED
from cpython_modules import all_modules

MODULES = [
    "test_dict",
    "test_list",
    "test_tuple",
    "test_set",
    "test_generators",
    "test_exceptions",
    "test_with",
    "test_contextlib",
    "test_itertools",
    "test_functools",
    "test_dataclasses",
    "test_enum",
    "test_copy",
    "test_grammar",
    "test_scope",
    "test_super",
    "test_iter",
    "test_unpack",
    "test_unpack_ex",
    "test_extcall",
    "test_patma",
    "test_raise",
    "test_fstring",
    "test_math",
    "test_operator",
]

# More of the language and of the library that models lean on; `--wider` runs these too.
WIDER = (
    "test_bool test_int test_long test_float test_complex test_string test_bytes test_range"
    " test_slice test_enumerate test_collections test_deque test_defaultdict test_ordered_dict"
    " test_userdict test_userlist test_userstring test_dictviews test_dictcomps"
    " test_named_expressions test_positional_only_arg test_keywordonlyarg test_decorators"
    " test_property test_class test_descr test_builtin test_types test_abc test_isinstance"
    " test_hash test_richcmp test_compare test_binop test_augassign test_index test_pow"
    " test_opcodes test_opcache test_yield_from test_coroutines test_asyncgen"
    " test_contextlib_async test_except_star test_exception_group test_exception_hierarchy"
    " test_exception_variations test_baseexception test_weakref test_weakset test_context"
    " test_heapq test_bisect test_sort test_contains test_unary test_generator_stop"
    " test_genericalias test_genericclass test_subclassinit test_dynamicclassattribute"
    " test_global test_funcattrs test_call test_code test_string_literals test_type_annotations"
    " test_typechecks test_type_cache test_iterlen test_print test_structseq"
    " test_abstract_numbers test_numeric_tower test_cmath test_fractions test_struct test_array"
    " test_copyreg test_reprlib test_pprint test_textwrap test_format test_dynamic test_typing"
    " test_random test_re test_json test_inspect.test_inspect test_pickle test_queue"
    " test_threading test_threading_local test_logging test_warnings test_argparse test_datetime"
    " test_decimal test_csv test_configparser test_traceback test_memoryio test_unittest"
    " test_memoryview test_getopt test_shlex test_difflib test_calendar test_statistics"
    " test_fnmatch test_posixpath test_genericpath test_linecache test_keyword test_tokenize"
    " test_ast test_symtable test_peepholer test_graphlib test_colorsys test_base64 test_binascii"
    " test_hmac test_uuid test_html test_ipaddress test_optparse test_compile test_strtod test_stat"
    " test_unicode_identifiers test_codeop test_htmlparser test_zlib test_bz2 test_gettext"
    " test_locale test_netrc test_quopri test_pkgutil test_filecmp test_glob test_shelve"
)

STUCK_S = 60  # a test that takes so much processor time, or ten times as long, is stopped


def cases(suite: Any) -> Iterator[unittest.TestCase]:
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


class Telling(unittest.TestResult):
    """Writes one line per event, so that nothing is lost if the process dies."""

    def __init__(self, out: Any) -> None:
        super().__init__()
        self.out = out
        self.began = 0.0

    def tell(self, *words: Any) -> None:
        self.out.write(json.dumps(words) + "\n")
        self.out.flush()

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self.tell("start", test.id())
        self.began = time.process_time()

    def stopTest(self, test: Any) -> None:
        self.tell("took", test.id(), time.process_time() - self.began)
        super().stopTest(test)

    def addSuccess(self, test: Any) -> None:
        self.tell("pass", test.id())

    def addError(self, test: Any, err: Any) -> None:
        self.tell(
            "error", getattr(test, "id", lambda: str(test))(), self._exc_info_to_string(err, test)
        )

    def addFailure(self, test: Any, err: Any) -> None:
        self.tell("fail", test.id(), self._exc_info_to_string(err, test))

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self.tell("fail", test.id(), self._exc_info_to_string(err, test))

    def addSkip(self, test: Any, reason: str) -> None:
        self.tell("skip", test.id(), reason)


def compile_methods(tests: list[unittest.TestCase]) -> None:
    """Replace each test method by its compiled self, where it is defined."""
    import gc
    import types

    import torch

    import suture

    suture.config.strict = True
    suture.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    gc.freeze()  # a test that collects garbage does not walk through torch each time
    done = set()
    for test in tests:
        name = getattr(test, "_testMethodName", "")
        for cls in type(test).__mro__:
            fn = cls.__dict__.get(name)
            if fn is None:
                continue
            if isinstance(fn, types.FunctionType) and (cls, name) not in done:
                done.add((cls, name))
                setattr(cls, name, suture.compile(fn, backend="eager"))
            break


def child(module: str, compiled: bool, out: str, skip: set[str], only: str) -> None:
    """Run the tests of one module, but those already told about."""
    import warnings

    warnings.simplefilter("ignore")
    loaded = importlib.import_module(f"test.{module}")
    tests = list(cases(unittest.defaultTestLoader.loadTestsFromModule(loaded)))
    tests = [t for t in tests if only in t.id() and type(t).__name__ != "DocTestCase"]
    if compiled:
        compile_methods(tests)
    with open(out, "a") as file:
        result = Telling(file)
        by_class: dict[type, list[Any]] = {}
        for test in tests:
            if test.id() not in skip:
                by_class.setdefault(type(test), []).append(test)
        for group in by_class.values():
            unittest.TestSuite(group).run(result)
        result.tell("end")


Outcomes = dict[str, tuple[str, str]]  # test id -> outcome, text
Seconds = dict[str, float]


def run_module(module: str, compiled: bool, only: str = "") -> tuple[Outcomes, Seconds]:
    """What became of the tests of one module, and how long they took."""
    found: Outcomes = {}
    took: Seconds = {}
    silent = 0
    for _ in range(40):
        known = len(found)
        with tempfile.TemporaryDirectory() as folder:
            ended = _one_process(module, compiled, only, Path(folder), found, took)
        silent = silent + 1 if len(found) == known else 0
        if ended or silent > 3:
            break
    return found, took


def _one_process(
    module: str, compiled: bool, only: str, folder: Path, found: Outcomes, took: Seconds
) -> bool:
    out, skip = folder / "out", folder / "skip"
    out.touch()
    skip.write_text(json.dumps(list(found)))
    command = [sys.executable, __file__, "--child", module, "--out", str(out), "--skip", str(skip)]
    command += ["--only", only] + (["--compiled"] if compiled else [])
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "err").open("w"),
        env=environment,
        cwd=folder,
    )
    size, since, worked = 0, time.monotonic(), 0.0
    while process.poll() is None:
        time.sleep(0.2)
        now = out.stat().st_size
        if now != size:
            size, since, worked = now, time.monotonic(), _worked(process.pid)
        elif time.monotonic() - since > 10 * STUCK_S or _worked(process.pid) - worked > STUCK_S:
            process.kill()
            process.wait()
    return _read(out, found, took, process.returncode, (folder / "err").read_text()[-2000:])


def _worked(pid: int) -> float:
    """Seconds of processor time that a process has taken; on other systems, those that passed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _read(out: Path, found: Outcomes, took: Seconds, code: int, err: str) -> bool:
    running = None
    for line in out.read_text().splitlines():
        what, *rest = json.loads(line)
        if what == "end":
            return True
        if what == "took":
            took[rest[0]] = rest[1]
        elif what == "start":
            running = rest[0]
        elif what == "pass":
            found.setdefault(rest[0], ("pass", ""))
            running = None
        else:
            if found.get(rest[0], ("", ""))[0] in ("", "pass", "skip"):
                found[rest[0]] = (what, rest[1])
            running = None if rest[0] == running else running
    if running is None:  # it died between two tests, or before the first
        return False
    found[running] = ("timeout" if code == -9 else "crash", f"exit status {code}\n{err}")
    return False


def expected(test: str) -> str | None:
    for name, reason in EXPECTED.items():
        if test == name or (name.endswith(".") and test.startswith(name)):
            return reason
    return None


def sweep(modules: list[str], only: str, verbose: bool) -> tuple[dict[str, Any], int]:
    """Run the modules; print one line each; gives the report and the number of lost tests."""
    report: dict[str, Any] = {}
    lost = 0
    for module in modules:
        plain, took_plain = run_module(module, False, only)
        ours, took_ours = run_module(module, True, only)
        passing = [t for t, (what, _) in plain.items() if what == "pass"]
        worse = {
            t: ours.get(t, ("missing", ""))
            for t in passing
            if ours.get(t, ("", ""))[0] not in ("pass", "skip")
        }
        excused = {t: expected(t) for t in worse if expected(t) is not None}
        bad = {t: v for t, v in worse.items() if t not in excused}
        lost += len(bad)
        both = [t for t in passing if t not in worse]
        seconds = [sum(took.get(t, 0.0) for t in both) for took in (took_plain, took_ours)]
        report[module] = {
            "passing": len(passing),
            "lost": bad,
            "excused": excused,
            "seconds": seconds,
            "slowest": sorted(
                ([took_ours.get(t, 0.0), took_plain.get(t, 0.0), t] for t in both), reverse=True
            )[:5],
        }
        print(
            f"{module:20} {len(passing):5} pass, {len(bad):4} lost, {len(excused):3} excused "
            f" {seconds[0]:7.2f} s plainly, {seconds[1]:7.2f} s compiled:"
            f" {seconds[1] / max(seconds[0], 1e-3):6.1f}",
            flush=True,
        )
        for test, (what, text) in bad.items():
            print(f"    {what:8} {test}")
            if verbose:
                print("        " + "\n        ".join(text.splitlines()[-12:]))
    return report, lost


def print_table(files: list[str]) -> None:
    """The rows of all reports, each with the seconds plainly and compiled, and their ratio."""
    rows: dict[str, Any] = {}
    for file in files:
        rows.update(json.loads(Path(file).read_text()))
    print("| module | pass plainly | lost | excused | s plainly | s compiled | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for module, row in rows.items():
        _print_row(module, [row])
    _print_row("all", list(rows.values()))


def _print_row(name: str, rows: list[Any]) -> None:
    passing = sum(row["passing"] for row in rows)
    lost, excused = (sum(len(row[key]) for row in rows) for key in ("lost", "excused"))
    plain, ours = (sum(row["seconds"][i] for row in rows) for i in (0, 1))
    ratio = f"{ours / plain:.1f}" if plain >= 0.05 else "-"
    print(f"| {name} | {passing} | {lost} | {excused} | {plain:.2f} | {ours:.1f} | {ratio} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", help="which; by default those of the usual list")
    parser.add_argument("--wider", action="store_true", help="run the wider list too")
    parser.add_argument("--all", action="store_true", help="run all modules that can run here")
    parser.add_argument("--traced", action="store_true", help="trace plain Python too")
    parser.add_argument("--only", default="", help="only tests whose id contains this")
    parser.add_argument("--json", help="write the report here")
    parser.add_argument("--table", nargs="+", metavar="FILE", help="print reports as a table")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--compiled", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--skip", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.table:
        print_table(given.table)
        return 0
    if given.child:
        skip = set(json.loads(Path(given.skip).read_text()))
        child(given.child, given.compiled, given.out, skip, given.only)
        return 0
    if given.traced:
        os.environ["SUTURE_TRACE_TENSOR_FREE"] = "1"  # of the processes that run the tests
    modules = list(given.modules) or [*MODULES, *(WIDER.split() if given.wider else ())]
    if given.all:
        modules = all_modules()
    report, lost = sweep(modules, given.only, given.verbose)
    if given.json:
        Path(given.json).write_text(json.dumps(report, indent=1))
    print(f"{lost} tests lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
