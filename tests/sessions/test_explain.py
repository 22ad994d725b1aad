import json

from kcli.sessions.explain import ending, session_dict, sessionless_dict, when
from tests.sessions.captured import follow, rows_of


def test_a_wide_session() -> None:
    _, ended, tracker = follow(rows_of("fetch-session-1200"))
    assert len(ended) == 1
    made = session_dict(ended[0], tracker.offsets.names)
    assert made["partitions"] == {
        "first": 1200, "most": 1200, "last": 840, "added": 1080, "changed": 390, "forgotten": 1440,
    }  # fmt: skip
    assert made["end"] == "closed" and made["fetches"] == 42 and made["full"] == 1
    assert made["incremental"] == 41 and made["findings"] == 0
    assert made["saved"] == round(
        (made["fullRequestBytes"] + made["fullResponseBytes"]) / (made["requestBytes"] + made["responseBytes"]), 2
    )
    assert made["saved"] > 3
    last = made["changes"][-1]
    assert last["partitions"] == 840 and sum(change["forgotten"] for change in made["changes"]) == 1440
    assert len(made["neverDelivered"]) == made["neverDeliveredCount"] > 500
    json.dumps(made)


def test_an_evicted_session() -> None:
    _, ended, tracker = follow(rows_of("fetch-session-eviction"))
    session = next(session for session in ended if session.end == "evicted")
    made = session_dict(session, tracker.offsets.names)
    assert made["endError"] == "FETCH_SESSION_ID_NOT_FOUND" and made["evictedBy"] == session.evictor
    assert made["evictedAt"] and made["evictedAt"] < made["ended"] < "2026-11-21T01:42:30"
    assert made["next"]["afterMs"] > 0 and made["errors"] == {"FETCH_SESSION_ID_NOT_FOUND": 1}
    assert ending(session) == f"evicted by session {session.evictor} (FETCH_SESSION_ID_NOT_FOUND)"


def test_a_session_that_was_there_before() -> None:
    _, ended, _ = follow(rows_of("mid-stream"))
    made = session_dict(ended[0], {})
    assert made["opened"] is None and made["firstSeen"] and not made["complete"] and made["partitions"]["first"] == 0


def test_fetches_without_a_session() -> None:
    _, _, tracker = follow(rows_of("fetch-session-eviction"))
    made = [sessionless_dict(sessionless) for sessionless in tracker.sessionless.values()]
    assert sum(each["notGranted"] for each in made) > 50
    assert all(each["sessionId"] == 0 and "saved" not in each for each in made)


def test_times() -> None:
    assert when(0) is None and when(1_500_000_000) == "1970-01-01T00:00:01.500000Z"
