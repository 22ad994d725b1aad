import asyncio
from typing import Any

import pytest

from kcli.errors import NetworkError
from kcli.replay.sessions.outcome import Pair, pairs
from kcli.replay.sessions.plan import make_plan
from kcli.replay.sessions.runner import FetchOptions, FetchReplay, replay
from kcli.replay.topic_mapping import TopicNames
from kcli.sessions.comparison import Level
from kcli.sessions.fetch_exchange import Captured
from tests.client.broker import running
from tests.client.fetchable import FetchableBroker
from tests.replay.sessions.made import fetch

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)

# A session as it should be: opened, moved on, a partition added, one dropped, closed.
SESSION = [
    fetch(0.00, {T0: 0, T1: 10}, {T0: 50, T1: 0}, granted=7),
    fetch(0.01, {T0: 3}, {T0: 50}, session=(7, 1), granted=7),
    fetch(0.02, {T0: 6, U0: 0}, {T0: 50, U0: 50}, session=(7, 2), granted=7),
    fetch(0.03, {U0: 3}, {U0: 50}, session=(7, 3), granted=7, forgotten={"t": [0]}),
    fetch(0.04, session=(7, -1)),
]


def run(
    broker: FetchableBroker,
    captured: list[Captured],
    options: FetchOptions | None = None,
    *,
    names: dict[str, str] | None = None,
    level: Level = "shape",
    **settings: str,
) -> tuple[list[Pair], list[str]]:
    async def work() -> tuple[list[Pair], list[str]]:
        known = TopicNames()
        reported: list[str] = []
        known.names.update(names or {})
        async with running(broker):
            done = await replay(
                FetchReplay(make_plan(captured), known, broker.config(**settings), options or FetchOptions(scale=None)),
                notify=reported.append,
            )
        return list(pairs(done, known.names, level)), reported

    return asyncio.run(work())


def fetches(broker: FetchableBroker) -> list[dict[str, Any]]:
    return [body for key, _, body in broker.requests if key == 1]


def asked_offsets(broker: FetchableBroker) -> list[list[int]]:
    """Of each fetch the offsets it names."""
    return [
        [part["fetchOffset"] for topic in body["topics"] for part in topic["partitions"]] for body in fetches(broker)
    ]


@pytest.mark.parametrize("newest", [7, 12, 13, 17])
def test_a_session_runs_again_with_live_ids(newest: int) -> None:
    broker = FetchableBroker({"t": 2, "u": 1}, newest)
    (pair,), reported = run(broker, SESSION)
    assert pair.differences == []
    assert pair.problems == []
    assert pair.live.kinds == {"full": 1, "incremental": 3, "close": 1}
    sent = fetches(broker)
    assert [body["sessionEpoch"] for body in sent] == [0, 1, 2, 3, -1]
    live = sent[1]["sessionId"]
    assert live not in (0, 7)
    assert [body["sessionId"] for body in sent] == [0, live, live, live, live]
    assert [len(body["forgottenTopicsData"]) for body in sent] == [0, 0, 0, 1, 0]
    assert ("takes" in "".join(reported)) == (newest < 12)


def test_captured_topic_ids_become_live_ones() -> None:
    captured = [fetch(0, {("idOfT", 0): 0}, {("idOfT", 0): 9}, granted=7, version=12)]
    broker = FetchableBroker({"t": 1})
    (pair,), reported = run(broker, captured, names={"idOfT": "t"})
    assert (pair.differences, reported) == ([], [])
    assert pair.live.delivered.keys() == {"t[0]"}


def test_topics_are_made_or_mapped() -> None:
    broker = FetchableBroker({"other": 2})
    (pair,), reported = run(broker, SESSION, FetchOptions(scale=None, topics={"t": "other"}))
    assert pair.differences == []
    assert reported == ["made topic u with 1 partition: the cluster had none of that name"]
    with pytest.raises(NetworkError, match=r"has no topic t, u \(--topic-map"):
        run(FetchableBroker({}), SESSION, FetchOptions(scale=None, create=False))
    with pytest.raises(NetworkError, match="topic t has 1 partition on the cluster, the capture needs 2"):
        run(FetchableBroker({"t": 1, "u": 1}), SESSION)


def test_offsets_that_are_not_there_are_clamped() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    broker.logs[T0] = 5, 7
    (pair,), _ = run(broker, SESSION)
    asked = [
        part["fetchOffset"] for body in fetches(broker) for topic in body["topics"] for part in topic["partitions"]
    ]
    assert asked == [5, 10, 6, 0, 3]
    assert pair.differences == []


def test_positions_can_follow_the_live_records() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    broker.logs[T0] = 100, 110
    run(broker, SESSION, FetchOptions(offsets="earliest", scale=None))
    # The second partition moves on as well: it is read from its own beginning here.
    assert asked_offsets(broker) == [[100, 0], [103, 3], [106, 0, 6], [3, 9], []]
    broker = FetchableBroker({"t": 2, "u": 1})
    run(broker, SESSION, FetchOptions(offsets="latest", scale=None))
    assert asked_offsets(broker) == [[10, 10], [], [10], [], []]


def test_relative_offsets() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    broker.logs[T0] = 100, 110
    run(broker, SESSION, FetchOptions(offsets="relative", scale=None))
    asked = [
        part["fetchOffset"] for body in fetches(broker) for topic in body["topics"] for part in topic["partitions"]
    ]
    assert asked == [100, 0, 103, 106, 0, 3]


def test_full_mode_has_no_sessions() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    (pair,), _ = run(broker, SESSION, FetchOptions(scale=None, mode="full"), level="none")
    assert [(body["sessionId"], body["sessionEpoch"]) for body in fetches(broker)] == [(0, -1)] * 5
    assert [sum(len(topic["partitions"]) for topic in body["topics"]) for body in fetches(broker)] == [2, 2, 3, 2, 2]
    assert pair.live.granted == 0


def test_a_broker_without_room_for_sessions_gets_full_fetches() -> None:
    broker = FetchableBroker({"t": 2, "u": 1}, slots=0)
    (pair,), _ = run(broker, SESSION)
    assert pair.live.kinds["incremental"] == 0
    assert {each.what for each in pair.differences} >= {"sessions granted", "incremental fetches"}


def test_a_live_session_that_is_lost_is_a_fault_and_goes_on_in_full() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    broker.evict_at = 3
    (pair,), _ = run(broker, SESSION)
    assert pair.live.faults == {"FETCH_SESSION_ID_NOT_FOUND": 1}
    assert pair.problems == [(2, "error 70")]
    assert "responses with FETCH_SESSION_ID_NOT_FOUND" in [each.what for each in pair.differences]
    assert [body["sessionEpoch"] for body in fetches(broker)] == [0, 1, 2, 0, -1]


def test_a_captured_client_that_began_anew_does_so_again() -> None:
    captured = [
        *SESSION[:2],
        fetch(0.02, {T0: 6, T1: 10}, {T0: 9, T1: 0}, session=(7, 0), granted=8),
        fetch(0.03, session=(8, 1), granted=8),
    ]
    broker = FetchableBroker({"t": 2})
    (pair,), _ = run(broker, captured)
    sent = fetches(broker)
    assert [body["sessionEpoch"] for body in sent] == [0, 1, 0, 1, -1]
    assert sent[2]["sessionId"] == sent[1]["sessionId"] != sent[3]["sessionId"]
    assert pair.differences == []


def test_a_session_older_than_the_capture_is_opened_first_and_not_reported() -> None:
    captured = [fetch(0, {U0: 3}, {T0: 9, U0: 9}, session=(7, 40), granted=7), fetch(1, session=(7, 41), granted=7)]
    broker = FetchableBroker({"t": 1, "u": 1})
    (pair,), _ = run(broker, captured)
    sent = fetches(broker)
    assert [body["sessionEpoch"] for body in sent] == [0, 1, 2, -1]
    assert sent[0]["topics"][0]["partitions"][0]["fetchOffset"] == 10
    assert pair.live.fetches == 2


def test_what_was_left_open_is_closed_at_the_end() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    run(broker, SESSION[:3])
    assert fetches(broker)[-1]["sessionEpoch"] == -1
    assert not list(broker.sessions.cache)


def test_who_closes_no_session_asks_for_nothing() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    run(broker, [fetch(0, {T0: 0, T1: 0}, {T0: 9, T1: 9}), fetch(1, session=(0, -1))])
    last = fetches(broker)[1]
    assert (last["sessionId"], last["sessionEpoch"], last["topics"]) == (0, -1, [])


def test_a_connection_that_breaks_is_told_and_made_again() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    answer, count = broker.fetch, 0

    def break_once(version: int, body: dict[str, Any]) -> dict[str, Any] | None:
        nonlocal count
        count += 1
        return None if count == 2 else answer(version, body)

    broker.answers[1] = break_once
    (pair,), _ = run(broker, SESSION)
    assert pair.live.lost == 1
    assert "closed the connection instead of answering Fetch" in pair.problems[0][1]
    assert "fetches without a response" in [each.what for each in pair.differences]
    assert [body["sessionEpoch"] for body in fetches(broker)] == [0, 1, 0, 1, -1]


def test_kip_951_a_leader_that_moved_is_followed_by_the_hint() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    broker.errors[T0] = {"errorCode": 6, "currentLeader": {"leaderId": 1, "leaderEpoch": 9}}
    (pair,), _ = run(broker, SESSION)
    assert pair.live.partition_errors == {("t[0]", "NOT_LEADER_OR_FOLLOWER"): 1}
    assert [each.what for each in pair.differences] == ["NOT_LEADER_OR_FOLLOWER of t[0]"]


def test_a_leader_that_moved_without_a_hint_is_asked_for() -> None:
    broker = FetchableBroker({"t": 2, "u": 1})
    broker.errors[T0] = {"errorCode": 6}
    before = sum(key == 3 for key, _, _ in broker.requests)
    run(broker, SESSION)
    assert sum(key == 3 for key, _, _ in broker.requests) > before + 2


def test_fetchers_run_at_once_in_the_captured_rhythm_and_again() -> None:
    other = [fetch(0.02, {U0: 0}, {U0: 5}, connection="s:1-c:2")]
    broker = FetchableBroker({"t": 2, "u": 1})
    found, _ = run(broker, [*SESSION, *other], FetchOptions(scale=0.5, repeat=2))
    assert [(pair.run, pair.captured.label) for pair in found] == [
        (1, "c s:1-c:1"),
        (1, "c s:1-c:2"),
        (2, "c s:1-c:1"),
        (2, "c s:1-c:2"),
    ]
    assert not any(pair.differences for pair in found)
    order = [[topic["topic"] for topic in body["topics"]] for body in fetches(broker)]
    # The other fetcher begins at 20 ms of the capture, behind the first fetch of the first; how far behind, a busy
    # machine decides, which has to connect it then.
    assert order[0] == ["t"] and ["u"] in order[1:7]
    assert len(order) == 2 * (5 + 1 + 1)


def test_strict_looks_at_each_response() -> None:
    (pair,), _ = run(FetchableBroker({"t": 2, "u": 1}), SESSION, level="strict")
    assert {each.fetch for each in pair.differences} >= {0, 1}
    assert pair.as_dict()["differences"][0]["session"] == "c s:1-c:1"
