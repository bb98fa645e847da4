"""backend, mode and options as a user passes them to compile."""

import pytest
import torch

from suture.backends import configure, lookup
from suture.backends.inductor import Inductor
from suture.errors import InvalidBackend, UserError
from tests.backends.graphs import traced


def keeps(gm, inputs, **kwargs):
    keeps.seen = kwargs
    return gm.forward


def test_other_backends_get_what_was_given_as_keywords():
    graph = traced(lambda x: (x + 1,), torch.ones(2))
    configure(keeps)(graph.module, graph.inputs)
    assert keeps.seen == {}
    configure(keeps, mode="default")(graph.module, graph.inputs)
    assert keeps.seen == {}
    configure(keeps, mode="fast")(graph.module, graph.inputs)
    assert keeps.seen == {"mode": "fast"}
    configure(keeps, options={"level": 3})(graph.module, graph.inputs)
    assert keeps.seen == {"options": {"level": 3}}


def test_options_about_guards_are_kept_apart_and_the_dict_is_left_alone():
    given = {"guard_filter_fn": len, "level": 3}
    backend = configure(keeps, options=given)
    assert backend.guard_filter_fn is len
    assert backend.kwargs == {"options": {"level": 3}}
    assert set(given) == {"guard_filter_fn", "level"}


def test_inductor_gets_mode_and_options_as_from_torch():
    made = configure("inductor", options={"max-autotune": True}).compiler._made
    assert made.config == {"max_autotune": True}
    ours = configure("inductor", mode="max-autotune-no-cudagraphs").compiler._made
    theirs = torch._TorchCompileInductorWrapper("max-autotune-no-cudagraphs", None, None)
    assert ours.config == theirs.config != {}


def test_wrong_inductor_arguments_are_errors_at_once():
    with pytest.raises(RuntimeError, match="max_autotun"):
        configure("inductor", options={"max_autotun": True})
    with pytest.raises(RuntimeError, match="no-such-mode"):
        configure("inductor", mode="no-such-mode")


def test_mode_and_options_exclude_each_other():
    with pytest.raises(UserError, match="not both"):
        configure("inductor", mode="default", options={"max_autotune": True})


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"mode": 3}, TypeError, "mode"),
        ({"options": ["max_autotune"]}, TypeError, "options"),
        ({"backend": 3}, InvalidBackend, "int"),
        ({"backend": "no_such_backend"}, InvalidBackend, "no_such_backend"),
    ],
)
def test_wrong_types_are_named(arguments, error, text):
    with pytest.raises(error, match=text):
        configure(**arguments)


def test_none_is_the_default_of_the_process():
    assert configure(None).name == "inductor"


def test_equal_if_they_compile_alike():
    assert configure("inductor") == configure("inductor", mode="default")
    assert configure("eager") == configure("eager")
    assert configure("eager") != configure("aot_eager")
    assert configure(keeps, options={"a": 1}) != configure(keeps, options={"a": 2})
    assert Inductor(options={"max_autotune": True}) != Inductor()
    assert hash(configure("inductor")) == hash(configure("inductor"))


def test_a_callable_is_named_after_itself():
    assert configure(keeps).name == "keeps"
    assert configure(lookup("eager")).name == "eager"
