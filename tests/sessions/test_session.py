"""What is known of one session: its partitions, and what its fetches cost."""

import copy

import pytest

from kcli.grammar import messages
from kcli.sessions.fetch_exchange import FetchExchange
from kcli.sessions.session import ObservedSession, SessionChange, counts, merged, runs
from tests.sessions.captured import Row, fetches, follow, rows_of
from tests.sessions.test_incremental_checks import session as session_of

HEADER = {"requestApiKey": 1, "requestApiVersion": 18, "correlationId": 5, "clientId": "c"}
ASKED = (0, 0, 1 << 20, -1, -1)


def observed() -> ObservedSession:
    return ObservedSession(
        FetchExchange("b:1", "b:1-c:2", HEADER, 10, 20).take((0, 0, 9, 0, -1, []), (), False), 7, True
    )


def full_size(row: Row, live: list[tuple[str, int]], asks: bool) -> int:
    """Bytes of this fetch, had it named every partition: by writing it."""
    name = "partition" if asks else "partitionIndex"
    side, topics = ("request", "topics") if asks else ("response", "responses")
    codec = messages.request(1, 18) if asks else messages.response(1, 18)
    value = copy.deepcopy(row[side])
    for topic in value[topics]:
        topic.pop("_topicName", None)
        for part in topic["partitions"]:
            if "records" in part and part["records"] is not None:
                part["records"] = bytes(part["records"]["sizeInBytes"])
    actual = len(codec.write({k: [] if k == "forgottenTopicsData" else v for k, v in value.items()}))
    named = {(topic["topicId"], part[name]) for topic in value[topics] for part in topic["partitions"]}
    entries = {topic["topicId"]: topic for topic in value[topics]}
    for topic_id, index in live:
        if (topic_id, index) not in named:
            topic = entries.setdefault(topic_id, {"topicId": topic_id, "partitions": []})
            topic["partitions"].append({name: index})
    value[topics] = list(entries.values())
    value["forgottenTopicsData"] = []
    if not asks:
        del value["forgottenTopicsData"]
    written = len(codec.write(value))
    return int(row["requestBytes" if asks else "responseBytes"]) + written - actual


@pytest.mark.parametrize("name", ["fetch-session-1200", "fetch-session-eviction"])
def test_the_price_of_full_fetches_is_that_of_full_fetches(name: str) -> None:
    """Each fetch of a session, written out as the full fetch that it saved."""
    fetched = session_of(rows_of(name), 0)
    _, ended, _ = follow([row for row in fetched if not row["response"]["errorCode"]])
    session = next(s for s in ended if s.session_id == fetched[0]["response"]["sessionId"])
    live: dict[tuple[str, int], None] = {}
    asks = tells = 0
    for row in fetched:
        if row["response"]["errorCode"] or row["request"]["sessionEpoch"] < 0:
            continue
        live.update({(t["topicId"], p["partition"]): None for t in row["request"]["topics"] for p in t["partitions"]})
        for topic in row["request"]["forgottenTopicsData"]:
            for index in topic["partitions"]:
                live.pop((topic["topicId"], index))
        asks += full_size(row, list(live), True) - forgotten_size(row)
        tells += full_size(row, list(live), False)
    assert (session.full_request_bytes, session.full_response_bytes) == (asks, tells)


def forgotten_size(row: Row) -> int:
    codec = messages.request(1, 18)
    some = {
        "forgottenTopicsData": [
            {k: t[k] for k in ("topicId", "partitions")} for t in row["request"]["forgottenTopicsData"]
        ]
    }
    return len(codec.write(some)) - len(codec.write({}))


def test_partitions_that_come_and_go() -> None:
    session = observed()
    session.add(("t", 0), ASKED, True)
    session.add(("t", 1), ASKED, True)
    assert session.drop(("t", 0)) and not session.drop(("t", 0))
    assert session.size == 1 and session.most == 2 and ("t", 0) in session.forgotten
    session.add(("t", 0), ASKED, True)
    assert ("t", 0) not in session.forgotten


def test_what_was_missed_is_not_known_any_more() -> None:
    session = observed()
    seat = session.add(("t", 0), ASKED, True)
    session.next_epoch = 5
    session.blur()
    assert (session.next_epoch, session.complete, seat.asked, bool(seat.informed)) == (-1, False, None, False)


def test_changes_are_told_in_bounded_memory() -> None:
    session = observed()
    for ns in range(5000):
        session.note_change(ns, 2, 1)
    assert len(session.changes) <= 257
    assert sum(c.added for c in session.changes) == session.added == 10_000
    odd = [SessionChange(n, 1, 0, n) for n in range(5)]
    assert [(c.ns, c.added, c.partitions) for c in merged(odd)] == [(0, 2, 1), (2, 2, 3), (4, 1, 4)]


def test_topics_of_a_message() -> None:
    keys = [("a", 0), ("a", 1), ("b", 0), ("a", 2)]
    assert counts(keys) == {"a": 3, "b": 1}
    assert runs([(key, None) for key in keys]) == [("a", 2), ("b", 1), ("a", 1)]


def test_a_session_is_let_go_of_at_its_end() -> None:
    session = observed()
    for index in range(1500):
        session.add(("t", index), ASKED, True)
    session.finish("closed", 5, report=True)
    assert (session.last, session.silent_count, len(session.silent_keys), session.size) == (1500, 1500, 1000, 0)
    assert fetches([]) == []
