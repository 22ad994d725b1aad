"""When sessions of real captures begin and end, and why."""

from collections import Counter

from tests.sessions.captured import fetches, follow, rows_of

EVICTION = "fetch-session-eviction"


def test_who_was_evicted_by_whom_and_when() -> None:
    """Eight slots in eight shards: a session's id says its shard, and each newcomer took the slot of one before it."""
    rows = rows_of(EVICTION)
    _, ended, _ = follow(rows)
    evicted = {session.session_id: session for session in ended if session.end == "evicted"}
    refused = {row["request"]["sessionId"] for row in fetches(rows) if row["response"]["errorCode"] == 70}
    assert set(evicted) == refused and len(refused) == 8
    opened = {row["response"]["sessionId"]: row for row in fetches(rows) if row["request"]["sessionEpoch"] == 0}
    shard = (2**31 - 1) // 8
    for number, session in evicted.items():
        newcomer = opened[session.evictor]
        assert session.evictor // shard == number // shard
        assert session.used_ns <= session.evicted_ns <= session.end_ns
        # It had to be bigger, and the evicted one to be older than two minutes.
        assert len(newcomer["request"]["topics"][0]["partitions"]) > session.last
        assert session.evicted_ns - session.granted_ns > 120 * 10**9
    assert len({session.evictor for session in evicted.values()}) == 8


def test_the_session_that_a_client_had_next() -> None:
    _, ended, _ = follow(rows_of(EVICTION))
    sessions = {session.session_id: session for session in ended}
    for session in ended:
        if session.end == "evicted":
            assert session.successor is not None
            following = sessions[session.successor[0]]
            assert (following.connection, following.client_id) == (session.connection, session.client_id)
            assert session.successor[1] > 0


def test_ends() -> None:
    ends = {
        name: Counter(s.end for s in follow(rows_of(name))[1]) for name in (EVICTION, "leader-change", "kraft-boot")
    }
    assert ends[EVICTION] == {"evicted": 8, "closed": 14}
    assert ends["leader-change"]["emptied"] == 2 and ends["leader-change"]["closed"] == 2
    assert ends["kraft-boot"]["connection lost"] == 2
    assert follow(rows_of("mid-stream"))[1][0].end == "capture end"


def test_every_fetch_is_counted_once() -> None:
    for name in (EVICTION, "leader-change", "kraft-boot", "fetch-session-1200"):
        rows = rows_of(name)
        _, ended, tracker = follow(rows)
        counted = sum(session.fetches for session in ended) + sum(
            sessionless.fetches for sessionless in tracker.sessionless.values()
        )
        assert counted == tracker.fetches == len(fetches(rows))
        size = sum(s.request_bytes + s.response_bytes for s in [*ended, *tracker.sessionless.values()])
        assert size == sum(row["requestBytes"] + (row["responseBytes"] or 0) for row in fetches(rows))


def test_clients_without_a_session() -> None:
    _, ended, tracker = follow(rows_of("kraft-boot"))
    raft = [each for (_, client), each in tracker.sessionless.items() if client.startswith("raft-client")]
    assert raft and all(
        sessionless.not_wanted == sessionless.fetches and sessionless.replica_id >= 0 for sessionless in raft
    )
    assert all(session.client_id.startswith("broker-") for session in ended)


def test_sessions_that_nobody_uses_any_more_are_let_go() -> None:
    rows = fetches(rows_of(EVICTION))
    quiet = [row for row in rows if row["request"]["sessionEpoch"] >= 0]
    last = {**rows[-1], "timestamp": "2026-11-21T03:00:00.000000Z"}
    _, ended, _ = follow([*quiet, {**last, "request": {**last["request"], "sessionId": 0}}])
    ends = Counter(session.end for session in ended)
    assert ends["not used any more"] > 10 and not ends["capture end"]
