"""What suture reads of AOTAutograd's notes on a graph, as each release of torch writes them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from suture.torch_private import aot_facts


@pytest.mark.parametrize("name", ["act_input_indices", "act_input_paths"])
def test_inputs_that_are_waited_for_are_known_by_both_names(name):
    assert aot_facts._waited_for(SimpleNamespace(**{name: [0]})) == [0]
    assert not aot_facts._waited_for(SimpleNamespace(**{name: []}))


def test_notes_that_do_not_say_which_inputs_are_waited_for(monkeypatch):
    """They are taken for none only where torch never had such a note."""
    monkeypatch.setattr(aot_facts, "release", lambda: (2, 11))
    assert aot_facts._waited_for(SimpleNamespace()) == ()
    monkeypatch.setattr(aot_facts, "release", lambda: (2, 99))
    wrapper = SimpleNamespace(trace_joint=False, disable_amp=False, indices_of_inps_to_detach=[])
    meta = SimpleNamespace(
        input_info=[],
        output_info=[],
        num_forward_returns=1,
        num_mutated_inp_runtime_indices=0,
        num_intermediate_bases=0,
        tokens={},
        is_rng_op_functionalized=False,
        num_graphsafe_rng_states=0,
        subclass_inp_meta=[],
        subclass_fw_graph_out_meta=[],
        grad_enabled_mutation=None,
    )
    facts = aot_facts._facts(wrapper, None, meta)
    assert facts.joint and facts.reasons == ("nothing is known of it: act_input_paths",)
    meta.act_input_paths = []
    assert not aot_facts._facts(wrapper, None, meta).reasons
