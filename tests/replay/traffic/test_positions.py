"""Fetches of a replay go on where live answers end."""

from typing import Any

from kcli.records.builder import build_batch
from kcli.replay.topic_mapping import LiveTopics, TopicNames
from kcli.replay.traffic.positions import LivePositions


def positions(*, may_lag: bool = False, **mapping: str) -> LivePositions:
    return LivePositions(LiveTopics(TopicNames(), mapping), may_lag=may_lag)


def fetch(topic: str = "t", epoch: int = 0, forgotten: tuple[int, ...] = (), **offsets: int) -> dict[str, Any]:
    """Partitions and offsets by `p0=5`."""
    parts = [{"partition": int(name[1:]), "fetchOffset": offset} for name, offset in offsets.items()]
    gone = [{"topic": topic, "partitions": list(forgotten)}] if forgotten else []
    topics = [{"topic": topic, "partitions": parts}] if parts else []
    return {"sessionId": 7, "sessionEpoch": epoch, "topics": topics, "forgottenTopicsData": gone}


def answer(topic: str = "t", **spans: tuple[int, int]) -> dict[str, Any]:
    parts = []
    for name, (start, end) in spans.items():
        batch = build_batch([(0, None, b"x", ())] * (end - start), base_offset=start)
        parts.append({"partitionIndex": int(name[1:]), "errorCode": 0, "records": batch})
    return {"responses": [{"topic": topic, "partitions": parts}]}


def sent(made: LivePositions, captured: dict[str, Any], live: dict[str, Any]) -> dict[tuple[str, int], int]:
    made.request(captured, live)
    return {
        (each["topic"], part["partition"]): part["fetchOffset"]
        for each in live["topics"]
        for part in each["partitions"]
    }


def test_a_fetch_goes_on_behind_what_the_live_answer_brought() -> None:
    made = positions()
    assert sent(made, fetch(p0=0), fetch(p0=0)) == {("t", 0): 0}
    made.answer(answer(p0=(0, 10)), answer(p0=(0, 50)))
    assert sent(made, fetch(p0=10), fetch(p0=10)) == {("t", 0): 50}
    made.answer(answer(p0=(10, 20)), answer())
    assert sent(made, fetch(p0=20), fetch(p0=20)) == {("t", 0): 50}, "it brought nothing: there is no more"
    made.answer(answer(), answer(p0=(50, 60)))
    assert sent(made, fetch(p0=20), fetch(p0=20)) == {("t", 0): 60}


def test_what_is_missing_is_asked_for_where_the_capture_has_it() -> None:
    """So that it is seen; a load test goes on with what there is."""
    for may_lag, offset in ((False, 10), (True, 4)):
        made = positions(may_lag=may_lag)
        sent(made, fetch(p0=0), fetch(p0=0))
        made.answer(answer(p0=(0, 10)), answer(p0=(0, 4)))
        assert sent(made, fetch(p0=10), fetch(p0=10)) == {("t", 0): offset}


def test_where_the_client_goes_elsewhere_it_goes_there() -> None:
    made = positions(may_lag=True)
    sent(made, fetch(p0=0), fetch(p0=0))
    made.answer(answer(p0=(0, 10)), answer(p0=(0, 50)))
    assert sent(made, fetch(p0=500), fetch(p0=499)) == {("t", 0): 499}
    made.answer(answer(p0=(500, 510)), answer(p0=(499, 501)))
    assert sent(made, fetch(p0=510), fetch(p0=509)) == {("t", 0): 501}


def test_a_session_names_what_moved_here_alone() -> None:
    """The broker of a session remembers offsets: it would send the same records again."""
    made = positions()
    sent(made, fetch(p0=0, p1=0), fetch(p0=0, p1=0))
    made.answer(answer(p0=(0, 10)), answer(p0=(0, 10), p1=(0, 5)))
    assert sent(made, fetch(epoch=1, p0=10), fetch(epoch=1, p0=10)) == {("t", 0): 10, ("t", 1): 5}
    made.answer(answer(), answer())
    assert sent(made, fetch(epoch=2), fetch(epoch=2)) == {}
    made.answer(answer(p1=(0, 5)), answer())
    assert sent(made, fetch(epoch=3, p1=5), fetch(epoch=3, p1=5)) == {("t", 1): 5}


def test_what_a_session_has_forgotten_is_not_named() -> None:
    made = positions()
    sent(made, fetch(p0=0, p1=0), fetch(p0=0, p1=0))
    made.answer(answer(), answer(p1=(0, 5)))
    assert sent(made, fetch(epoch=1, forgotten=(1,)), fetch(epoch=1, forgotten=(1,))) == {}


def test_topics_that_have_another_name_here() -> None:
    made = positions(t="u")
    sent(made, fetch(p0=0), fetch("u", p0=0))
    made.answer(answer(p0=(0, 10)), answer("u", p0=(0, 30)))
    assert sent(made, fetch(p0=10), fetch("u", p0=10)) == {("u", 0): 30}
