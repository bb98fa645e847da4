"""The bus, and events as plain data."""

import dataclasses
import json
import pickle
import threading

import pytest

from suture import events
from suture.events import Broke, Captured, PhaseTimed, Where

HERE = Where("forward", "model.py", 7)


def test_listeners_hear_in_order_until_they_unsubscribe():
    heard = []
    first = events.subscribe(lambda event: heard.append((1, event)))
    second = events.subscribe(lambda event: heard.append((2, event)))
    one = Captured("graph_0", HERE, 3)
    events.emit(one)
    first()
    first()
    events.emit(one)
    second()
    events.emit(one)
    assert heard == [(1, one), (2, one), (2, one)]


def test_the_same_callable_may_listen_twice():
    heard = []
    stops = [events.subscribe(heard.append) for _ in range(2)]
    events.emit(Captured("graph_0", HERE, 3))
    stops[0]()
    events.emit(Captured("graph_1", HERE, 3))
    stops[1]()
    assert [event.graph for event in heard] == ["graph_0", "graph_0", "graph_1"]


def test_a_listener_that_raises_is_logged_and_the_others_hear(caplog):
    def broken(event):
        raise KeyError("lost")

    stop = events.subscribe(broken)
    try:
        with events.recorded() as seen:
            events.emit(Captured("graph_0", HERE, 3))
    finally:
        stop()
    assert len(seen) == 1
    assert "a listener failed on Captured" in caplog.text


def test_recorded_by_class():
    with events.recorded(Broke) as seen:
        events.emit(Captured("graph_0", HERE, 3))
        events.emit(Broke("GB0170", "t", "m", HERE))
    events.emit(Broke("GB0171", "t", "m", HERE))
    assert [event.number for event in seen] == ["GB0170"]


def test_phases_are_timed_also_when_they_raise():
    with events.recorded(PhaseTimed) as seen:
        with events.phase("trace", "p"):
            pass
        with pytest.raises(KeyError), events.phase("emit"):
            raise KeyError
    assert [(event.phase, event.point) for event in seen] == [("trace", "p"), ("emit", "")]
    assert all(event.seconds >= 0 for event in seen)
    with events.phase("trace"):
        pass


def test_many_threads():
    before = len(events._listeners)
    with events.recorded(Captured) as seen:

        def work(name):
            for turn in range(200):
                stop = events.subscribe(lambda event: None)
                events.emit(Captured(f"{name}-{turn}", HERE, 1))
                stop()

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len({event.graph for event in seen}) == len(seen) == 800
    assert len(events._listeners) == before


def test_events_are_frozen_and_go_through_pickle_and_json():
    event = Broke("GB0170", "t", "m", HERE, stack=(HERE,), fields=(("tensor", "x"),), point="p")
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.number = "GB0171"
    assert pickle.loads(pickle.dumps(event)) == event
    record = json.loads(json.dumps(events.as_record(event)))
    assert record["event"] == "Broke"
    assert record["where"]["line"] == 7
    assert str(HERE) == "model.py:7 in forward"
