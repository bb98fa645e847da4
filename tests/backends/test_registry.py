"""The table of backends: registering, listing, looking up."""

import importlib.metadata
import subprocess
import sys

import pytest
import torch

from suture import backends
from suture.backends import registry
from suture.errors import InvalidBackend


@pytest.fixture
def table(monkeypatch):
    """The registry, put back afterwards."""
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    return registry._entries


def compiler(gm, inputs):
    return gm.forward


def test_registered_as_bare_decorator(table):
    @backends.register_backend
    def plain(gm, inputs):
        return gm.forward

    assert backends.lookup("plain") is plain


@pytest.mark.parametrize(
    "register",
    [
        lambda: backends.register_backend("given")(compiler),
        lambda: backends.register_backend(name="given")(compiler),
        lambda: backends.register_backend(compiler, "given"),
        lambda: backends.register_backend(compiler, name="given", tags=("debug",)),
    ],
)
def test_registered_under_a_given_name(table, register):
    assert register() is compiler
    assert backends.lookup("given") is compiler


def test_a_name_belongs_to_one_backend(table):
    backends.register_backend(compiler, "mine")
    backends.register_backend(compiler, "mine")
    with pytest.raises(ValueError, match="already"):
        backends.register_backend(lambda gm, inputs: None, "mine")
    with pytest.raises(ValueError, match="already"):
        backends.register_backend(compiler, "inductor")


def test_defining_the_same_function_again_replaces_it(table):
    def make():
        @backends.register_backend("again")
        def again(gm, inputs):
            return gm.forward

        return again

    make()
    second = make()
    assert backends.lookup("again") is second


def test_what_cannot_be_registered(table):
    with pytest.raises(TypeError, match="callable"):
        backends.register_backend(3)

    class Nameless:
        def __call__(self, gm, inputs):
            return gm.forward

    with pytest.raises(ValueError, match="name"):
        backends.register_backend(Nameless())


def test_list_holds_ours_and_torchs_by_tag(table):
    backends.register_backend(compiler, "mine")
    backends.register_backend(compiler, "hidden", tags=("debug",))
    shown = backends.list_backends()
    assert {"inductor", "mine"} <= set(shown)
    assert not {"eager", "aot_eager", "noop", "hidden"} & set(shown)
    everything = backends.list_backends(exclude_tags=None)
    assert {"eager", "aot_eager", "noop", "hidden", "inductor", "mine"} <= set(everything)
    assert set(torch._dynamo.list_backends(None)) <= set(everything)
    assert everything == sorted(set(everything))


def test_a_callable_is_its_own_lookup():
    assert backends.lookup(compiler) is compiler


def test_torchs_registry_is_asked_for_other_names():
    assert callable(backends.lookup("eager_noexcept"))


def test_unknown_name_lists_near_and_known_ones():
    with pytest.raises(InvalidBackend) as caught:
        backends.lookup("inducter")
    text = str(caught.value)
    assert "'inducter'" in text
    assert "did you mean 'inductor'" in text
    assert "aot_eager" in text
    assert isinstance(caught.value, torch._dynamo.exc.InvalidBackend)


@pytest.mark.parametrize("wrong", [3, ["inductor"], object()])
def test_neither_name_nor_callable(wrong):
    with pytest.raises(InvalidBackend, match="a name or a callable"):
        backends.lookup(wrong)


def test_entry_point_that_cannot_be_loaded(monkeypatch):
    theirs = sys.modules["torch._dynamo.backends.registry"]
    entry = importlib.metadata.EntryPoint(
        "lost", "no_such_package.module:fn", "torch_dynamo_backends"
    )
    monkeypatch.setitem(theirs._BACKENDS, "lost", entry)
    with pytest.raises(InvalidBackend, match=r"'lost' cannot be loaded.*no_such_package") as caught:
        backends.lookup("lost")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_importing_and_looking_up_our_own_leaves_dynamo_alone():
    program = (
        "import sys, suture.backends as b; b.lookup('eager'); b.configure('inductor');"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
