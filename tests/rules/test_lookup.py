"""lookup: precedence, one verdict per object, names, and what it costs."""

from __future__ import annotations

import collections
import dataclasses
import functools
import gc
import itertools
import logging
import math
import os
import subprocess
import sys
import types
import weakref

import numpy as np
import pytest
import torch

from suture import rules
from suture.compiler.calls import unmodelled
from suture.rules import CONSTANT, IN_GRAPH, INLINE, RUN, SPECIAL, Origin
from tests.harness import check
from tests.rules.naming import named


def mine(x):
    return x


class Mine:
    def __call__(self, x):
        return x

    def method(self):
        return self


@dataclasses.dataclass
class Record:
    a: int


@pytest.mark.parametrize(
    ("obj", "kind"),
    [
        (mine, INLINE),
        (Mine, INLINE),
        (Mine(), INLINE),
        (Mine().method, INLINE),
        (Record, INLINE),
        (Record.__init__, INLINE),
        (torch.sin, IN_GRAPH),
        (torch.Tensor.sin, IN_GRAPH),
        (torch.ones(1).sin, IN_GRAPH),
        (torch.Tensor.norm, INLINE),
        (torch.nn.functional.relu, IN_GRAPH),
        (torch.nn.functional.max_pool2d, IN_GRAPH),
        (torch._C._nn.gelu, IN_GRAPH),
        (torch._VF.lstm, IN_GRAPH),
        (torch.ops.aten.add, IN_GRAPH),
        (torch.ops.aten.add.Tensor, IN_GRAPH),
        (torch.nn.Linear, INLINE),
        (torch.nn.Linear.forward, INLINE),
        (torch.nn.Linear(2, 2), INLINE),
        (torch.nn.init.zeros_, INLINE),
        (torch.optim.SGD.step, INLINE),
        (torch.optim.lr_scheduler.StepLR.step, SPECIAL),
        (torch.distributions.Normal.sample, INLINE),
        (torch.func.vmap, INLINE),
        (torch.func.grad, INLINE),
        (torch.cond, INLINE),
        (torch.save, RUN),
        (torch.manual_seed, RUN),
        (torch.default_generator.get_state, RUN),
        (torch.hub.load, RUN),
        (torch.utils.data.DataLoader, RUN),
        (torch.finfo, CONSTANT),
        (torch.device, CONSTANT),
        (torch.is_floating_point, CONSTANT),
        (torch._C._get_cudnn_enabled, CONSTANT),
        (torch.no_grad, SPECIAL),
        (torch.compiler.is_compiling, SPECIAL),
        (torch.nn.Parameter, SPECIAL),
        (torch.ops.higher_order.cond, SPECIAL),
        (torch.autograd.Function.apply, SPECIAL),
        (len, SPECIAL),
        (list, SPECIAL),
        ([].append, SPECIAL),
        (list.append, SPECIAL),
        (collections.deque, SPECIAL),
        (math.sqrt, CONSTANT),
        (functools.reduce, INLINE),
        (itertools.chain, INLINE),
        (itertools.chain.from_iterable, INLINE),
        (collections.namedtuple, INLINE),
        (logging.info, RUN),
        (logging.getLogger(__name__).info, INLINE),
        (os.getcwd, RUN),
        (np.sum, RUN),
        (np.add, RUN),
        (np.ndarray.sum, RUN),
    ],
    ids=named,
)
def test_kinds(obj, kind):
    verdict = rules.lookup(obj)
    assert verdict.kind is kind, verdict
    assert verdict.reason
    assert verdict.rule
    assert verdict.where


def test_autograd_functions_of_the_user():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    verdict = rules.lookup(Double.apply)
    assert (verdict.kind, verdict.name) == (SPECIAL, "autograd_function")
    assert rules.lookup(Double.forward).kind is INLINE


def test_what_is_not_callable_has_no_verdict():
    with pytest.raises(TypeError, match="not callable"):
        rules.lookup(3)


def test_names_mean_the_objects():
    assert rules.lookup("torch.manual_seed") == rules.lookup(torch.manual_seed)
    assert rules.lookup("torch.Tensor.add") == rules.lookup(torch.Tensor.add)
    assert rules.lookup("torch.Tensor#add") == rules.lookup(torch.Tensor.add)
    assert rules.lookup("torch.ops.aten.add.Tensor").kind is IN_GRAPH
    assert rules.lookup("os.path.join").kind is CONSTANT


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("torch.nn.functional.rellu", "torch.nn.functional.relu"),
        ("torch.manual_sed", "torch.manual_seed"),
        ("torhc.sin", "torch"),
    ],
)
def test_unknown_names_come_with_the_nearest(name, near):
    with pytest.raises(rules.UnknownName, match=near):
        rules.lookup(name)


@pytest.mark.parametrize("name", ["", "torch..sin", "not a name"])
def test_what_is_no_name(name):
    with pytest.raises(rules.UnknownName):
        rules.lookup(name)


def test_the_chain_shows_each_rule_that_was_asked():
    steps = rules.explain("torch.save")
    assert [step.asked for step in steps] == ["the user's marks", "torch's marks", "named objects"]
    assert [step.verdict for step in steps[:2]] == [None, None]
    assert steps[-1].verdict == rules.lookup(torch.save)
    assert rules.explain(mine)[-1].asked == "default"
    assert "run" in str(steps[-1])


def test_a_listing_goes_over_a_module():
    listed = dict(rules.listing("torch.nn.functional"))
    assert listed["torch.nn.functional.relu"].kind is IN_GRAPH
    assert not any("._" in name for name in listed)
    assert list(listed) == sorted(listed)


def test_breaks_have_numbers():
    def number(obj):
        return unmodelled.reason(obj, rules.lookup(obj), []).number

    assert number(torch.manual_seed) == "GB0007"
    assert number(np.add) == "GB0177"
    assert number(rules.disable(mine)) == "GB0098"
    check(lambda x: (rules.graph_break(), x + 1)[1], torch.ones(2), breaks=("GB0025",), graphs=1)
    check(lambda x: (rules.skip_frame(), x + 1)[1], torch.ones(2), breaks=("GB2000",), graphs=0)
    check(lambda x: torch.sin(x) + len(x), torch.ones(2), breaks=(), graphs=1)


def test_wraps_does_not_move_code_to_another_package():
    @functools.wraps(np.mean)
    def wrapper(x):
        return x

    assert wrapper.__module__ == "numpy"
    assert rules.lookup(wrapper).kind is INLINE

    @torch.no_grad()
    def decorated(x):
        return x

    assert decorated.__module__ == __name__
    assert rules.lookup(decorated).rule == "package torch.utils._contextlib"


def test_a_module_of_the_user_may_have_a_name_of_the_library():
    space = {"__name__": "calendar"}
    exec(compile("def f(): pass", "elsewhere/calendar.py", "exec"), space)
    assert rules.lookup(space["f"]).kind is INLINE


def test_objects_that_answer_to_every_name():
    class Anything:
        def __getattr__(self, name):
            return self

        def __call__(self):
            pass

    assert rules.lookup(Anything()).kind is INLINE


def test_triton_kernels():
    kernel = type("JITFunction", (), {"__module__": "triton.runtime.jit", "__call__": mine})
    assert rules.lookup(kernel()).name == "triton_kernel"


def test_a_verdict_is_made_once():
    assert rules.lookup(mine) is rules.lookup(mine)
    thing = Mine()
    assert rules.lookup(thing.method) is rules.lookup(Mine.method)


def test_the_cache_holds_nothing_alive():
    def made():
        pass

    class Thing:
        def __call__(self):
            pass

    thing = Thing()
    cached = functools.lru_cache(made)
    kept = [weakref.ref(each) for each in (made, thing, Thing, cached)]
    for each in (made, thing, Thing):
        rules.lookup(each)
    with pytest.warns(UserWarning, match="lru_cache"):
        rules.lookup(cached)
    del made, thing, Thing, cached, each
    gc.collect()
    assert [ref() for ref in kept] == [None] * 4


def test_an_id_that_is_used_again_is_another_object():
    kinds = set()
    for turn in range(20):
        code = "def f(): pass"
        space = {"__name__": "numpy" if turn % 2 else "mine"}
        exec(compile(code, "f.py", "exec"), space)
        kinds.add((turn % 2, rules.lookup(space.pop("f")).kind))
        gc.collect(0)
    assert kinds == {(0, INLINE), (1, RUN)}


def test_frames_that_start_on_their_own():
    assert rules.lookup_frame(mine.__code__, mine.__globals__).kind is INLINE
    forward = torch.nn.Linear.forward
    assert rules.lookup_frame(forward.__code__, forward.__globals__).kind is RUN
    info = logging.info
    assert rules.lookup_frame(info.__code__, info.__globals__).kind is RUN

    def marked():
        pass

    rules.disable(marked, recursive=False)
    verdict = rules.lookup_frame(marked.__code__, marked.__globals__)
    assert (verdict.kind, verdict.rule) == (RUN, "mark disable")


def test_generated_methods_belong_to_no_package(monkeypatch):
    pair = collections.namedtuple("pair", "a b")
    assert rules.lookup(pair.__new__).kind is INLINE
    module = types.ModuleType("numpy.made")
    monkeypatch.setitem(sys.modules, "numpy.made", module)
    exec("import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int", module.__dict__)
    assert rules.lookup(module.D.__init__).rule == "generated"


def test_importing_the_rules_does_no_heavy_work():
    program = (
        "import sys, suture.rules\n"
        "assert 'suture.rules.torch_run' not in sys.modules\n"
        "import torch\n"
        "assert suture.rules.lookup(torch.sin).kind is suture.rules.IN_GRAPH\n"
        "assert suture.rules.lookup(torch.manual_seed).kind is suture.rules.RUN\n"
        "suture.rules.listing('torch')\n"
        "assert 'torch._dynamo' not in sys.modules\n"
        "import torch._dynamo\n"
        "assert suture.rules.lookup(torch.manual_seed).kind is suture.rules.RUN\n"
        "assert suture.rules.lookup(torch._dynamo.graph_break).name == 'graph_break'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize(
    ("obj", "origin"),
    [
        (mine, Origin.DEFAULT),
        (Record.__init__, Origin.GENERATED),
        (torch.sin, Origin.TORCH_OPERATION),
        (torch.Tensor.sin, Origin.TENSOR_METHOD),
        (torch.nn.functional.relu, Origin.TORCH_FUNCTION),
        (torch.ops.aten.sin.default, Origin.OPERATOR),
        (len, Origin.BUILTIN),
        (list.append, Origin.BUILTIN_METHOD),
        (math.sqrt, Origin.FOLDABLE),
        (np.sin, Origin.NUMPY),
        (logging.getLogger, Origin.PACKAGE),
        (functools.partial(mine), Origin.PARTIAL),
        (rules.disable(lambda x: x), Origin.DISABLED),
        (torch.compiler.disable(lambda x: x), Origin.DISABLED),
        (rules.forbid_in_graph(lambda x: x), Origin.FORBIDDEN),
    ],
)
def test_where_a_verdict_comes_from(obj, origin):
    assert rules.lookup(obj).origin is origin


def test_a_package_whose_name_speaks_of_disabling_is_run_and_not_disabled(monkeypatch):
    monkeypatch.setitem(sys.modules, "disabled_things", types.ModuleType("disabled_things"))
    fn = types.FunctionType(mine.__code__, {"__name__": "disabled_things"})
    rules.run_package("disabled_things")
    try:
        verdict = rules.lookup(fn)
        assert verdict.origin is Origin.PACKAGE
        assert unmodelled.reason(fn, verdict, []).number == "GB0007"
    finally:
        rules.forget_package("disabled_things")


def test_a_callable_around_a_disabled_function_is_disabled():
    class Around:
        __call__ = rules.disable(lambda self, x: x)

    assert rules.lookup(Around()).origin is Origin.DISABLED
