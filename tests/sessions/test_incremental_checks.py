"""Real captures break no rule; altered in each of many ways, the rule that was broken is named, at the frame it was."""

import copy
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kcli.sessions.session_findings import RULES
from tests.sessions.captured import CAPTURES, Row, fetches, follow, is_fetch, partitions, rows_of
from tests.sessions.test_draft_tracker import DRAFT_ONLY

EVICTION, WIDE, CHANGE = "fetch-session-eviction", "fetch-session-1200", "leader-change"


@pytest.mark.parametrize("name", CAPTURES)
def test_real_captures_are_clean(name: str) -> None:
    found, _, tracker = follow(rows_of(name))
    assert [f.message(tracker.offsets.names) for f in found] == []
    assert tracker.fetches > 20


@pytest.mark.parametrize("start", [1, 10, 33, 100, 250])
@pytest.mark.parametrize("name", CAPTURES)
def test_captures_that_begin_in_mid_stream_are_clean(name: str, start: int) -> None:
    rows = rows_of(name)
    found, _, tracker = follow(rows[min(start, len(rows) - 2) :])
    assert [f.message(tracker.offsets.names) for f in found] == []


@pytest.mark.parametrize("every", [3, 7, 20])
@pytest.mark.parametrize("name", CAPTURES)
def test_captures_with_gaps_that_are_marked_are_clean(name: str, every: int) -> None:
    rows: list[Row] = []
    for number, row in enumerate(rows_of(name)):
        if number % every == every - 1 and "event" not in row:
            rows.append({"event": "gap", "connection": row["connection"], "timestamp": row["timestamp"]})
        else:
            rows.append(row)
    found, _, tracker = follow(rows)
    assert [f.message(tracker.offsets.names) for f in found] == []


# What an alteration works on: the fetches of one session, from the full one on.


def session(rows: list[Row], number: int) -> list[Row]:
    """The fetches of the n-th session that was granted and has some fetches."""
    firsts = [row for row in fetches(rows) if row["request"]["sessionEpoch"] == 0 and row["response"]["sessionId"]]
    made = []
    for first in firsts:
        number_, where = first["response"]["sessionId"], first["connection"].split("-")[0]
        rest = [
            row
            for row in fetches(rows)
            if row["request"]["sessionId"] == number_ and row["connection"].startswith(where) and row["response"]
        ]
        if len(rest) > 5:
            made.append([first, *rest])
    return made[number]


def last(rows: list[Row], fetched: list[Row], row: Row) -> Row:
    """The row, with which its session now ends."""
    for later in fetched[fetched.index(row) + 1 :]:
        rows.remove(later)
    return row


def opened_again(rows: list[Row], fetched: list[Row]) -> Row:
    """A copy of a session's first fetch, which stands in the place of all others."""
    again = copy.deepcopy(fetched[0])
    again["requestHeader"]["correlationId"] += 1
    for row in fetched[1:]:
        rows.remove(row)
    rows.insert(rows.index(fetched[0]) + 1, again)
    return again


def answered(rows: Iterable[Row]) -> Row:
    """The first incremental fetch whose response has records."""
    good = [
        row
        for row in rows
        if row["request"]["sessionEpoch"] > 0 and partitions(row["response"]["responses"]) and size(row) > 0
    ]
    return good[0]


def size(row: Row) -> int:
    return sum(
        (part["records"] or {}).get("sizeInBytes", 0)
        for topic in row["response"]["responses"]
        for part in topic["partitions"]
    )


def incremental(fetched: list[Row], at: int = 3) -> Row:
    return [row for row in fetched if row["request"]["sessionEpoch"] > 0 and not row["response"]["errorCode"]][at]


Alter = Callable[[list[Row]], Row]
ALTERATIONS: list[tuple[str, str, Alter, set[str]]] = []


def alters(capture: str, *rules: str) -> Callable[[Alter], Alter]:
    def note(function: Alter) -> Alter:
        ALTERATIONS.append((function.__name__, capture, function, set(rules)))
        return function

    return note


@alters(EVICTION, "epoch-jump", "epoch-accepted")
def an_epoch_is_skipped(rows: list[Row]) -> Row:
    row = incremental(session(rows, 0))
    row["request"]["sessionEpoch"] += 1
    return row


@alters(CHANGE, "epoch-jump", "epoch-accepted")
def an_epoch_is_repeated(rows: list[Row]) -> Row:
    row = incremental(session(rows, 1))
    row["request"]["sessionEpoch"] -= 1
    return row


@alters(EVICTION, "epoch-jump")
def an_exchange_is_missing(rows: list[Row]) -> Row:
    fetched = session(rows, 2)
    gone = incremental(fetched, 4)
    rows.remove(gone)
    return incremental(session(rows, 2), 4)


@alters(EVICTION, "position-jump")
def a_partition_is_dropped_from_an_incremental_response(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    row = answered(fetched)
    topic = row["response"]["responses"][0]
    gone = topic["partitions"].pop()["partitionIndex"]
    later = fetched[fetched.index(row) + 1 :]
    return next(row for row in later if gone in {index for _, index in asked(row)})


@alters(WIDE, "position-jump")
def a_partition_is_dropped_from_a_wide_response(rows: list[Row]) -> Row:
    return drop_delivery(session(rows, 0)[1:])


@alters(CHANGE, "position-jump")
def a_partition_is_dropped_from_a_followers_response(rows: list[Row]) -> Row:
    """In the session of a follower that began before the capture."""
    ids = Counter(r["request"]["sessionId"] for r in fetches(rows) if r["requestHeader"]["clientId"].startswith("brok"))
    busiest = ids.most_common(1)[0][0]
    return drop_delivery([row for row in fetches(rows) if row["request"]["sessionId"] == busiest][50:])


def drop_delivery(fetched: list[Row]) -> Row:
    """Take records that are fetched from where they stood before, and acknowledged by a new position; the latter."""
    moved: set[tuple[str, int]] = set()
    for number, row in enumerate(fetched):
        for topic in row["response"]["responses"] if row["response"] else ():
            for part in topic["partitions"]:
                key = (topic["topicId"], part["partitionIndex"])
                later = next((r for r in fetched[number + 1 :] if key in asked(r)), None)
                if key in moved and later and part["records"] and part["records"]["sizeInBytes"]:
                    topic["partitions"].remove(part)
                    return later
                if key not in asked(row):
                    moved.add(key)
    raise AssertionError("nothing is delivered twice")


@alters(EVICTION, "full-incomplete")
def a_partition_is_dropped_from_a_full_response(rows: list[Row]) -> Row:
    row = session(rows, 1)[0]
    row["response"]["responses"][0]["partitions"].pop()
    return row


@alters(WIDE, "added-unanswered")
def an_added_partition_is_dropped_from_the_response(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    known = asked(fetched[0])
    for row in fetched[1:]:
        known -= {(t["topicId"], p) for t in row["request"]["forgottenTopicsData"] for p in t["partitions"]}
        new = asked(row) - known
        if new:
            topic_id, index = sorted(new)[0]
            for topic in row["response"]["responses"]:
                if topic["topicId"] == topic_id:
                    topic["partitions"] = [p for p in topic["partitions"] if p["partitionIndex"] != index]
            return row
        known |= new
    raise AssertionError("nothing is ever added")


def asked(row: Row) -> set[tuple[str, int]]:
    return {(t["topicId"], p["partition"]) for t in row["request"]["topics"] for p in t["partitions"]}


@alters(WIDE, "forgotten-answered")
def a_forgotten_partition_is_answered(rows: list[Row]) -> Row:
    row = next(r for r in session(rows, 0)[1:] if r["request"]["forgottenTopicsData"])
    topic = row["request"]["forgottenTopicsData"][0]
    add_answer(row, topic["topicId"], topic["partitions"][0], high=3)
    return row


@alters(EVICTION, "not-asked-answered")
def a_partition_nobody_asked_for_is_answered(rows: list[Row]) -> Row:
    row = incremental(session(rows, 0))
    add_answer(row, session(rows, 0)[0]["request"]["topics"][0]["topicId"], 77, high=3)
    return row


@alters(EVICTION, "not-asked-answered")
def a_full_response_has_a_partition_too_many(rows: list[Row]) -> Row:
    row = session(rows, 3)[0]
    add_answer(row, row["request"]["topics"][0]["topicId"], 77, high=3)
    return row


def add_answer(row: Row, topic_id: str, index: int, high: int, **more: Any) -> None:
    part = {
        "partitionIndex": index,
        "errorCode": 0,
        "highWatermark": high,
        "lastStableOffset": high,
        "logStartOffset": 0,
        "abortedTransactions": None,
        "preferredReadReplica": -1,
        "records": None,
        **more,
    }
    row["response"]["responses"].append({"topicId": topic_id, "partitions": [part]})


@alters(EVICTION, "unchanged-answered")
def an_unchanged_partition_is_answered(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    topic = fetched[0]["response"]["responses"][0]
    row = next(r for r in fetched[1:] if not r["response"]["responses"])
    part = topic["partitions"][0]
    add_answer(row, topic["topicId"], part["partitionIndex"], high=part["highWatermark"])
    return row


@alters(EVICTION, "answered-twice")
def a_partition_is_answered_twice(rows: list[Row]) -> Row:
    row = answered(session(rows, 0))
    parts = row["response"]["responses"][0]["partitions"]
    parts.append(copy.deepcopy(parts[0]))
    return row


@alters(EVICTION, "asked-twice")
def a_partition_is_asked_for_twice(rows: list[Row]) -> Row:
    row = session(rows, 0)[0]
    parts = row["request"]["topics"][0]["partitions"]
    parts.append(copy.deepcopy(parts[0]))
    return row


@alters(WIDE, "asked-and-forgotten")
def a_partition_is_asked_for_and_forgotten(rows: list[Row]) -> Row:
    row = next(r for r in session(rows, 0)[1:] if r["request"]["topics"])
    topic = row["request"]["topics"][0]
    row["request"]["forgottenTopicsData"] = [
        {"topicId": topic["topicId"], "partitions": [topic["partitions"][0]["partition"]]}
    ]
    return row


@alters(WIDE, "forgotten-unknown")
def a_partition_outside_the_session_is_forgotten(rows: list[Row]) -> Row:
    row = next(r for r in session(rows, 0)[1:] if r["request"]["forgottenTopicsData"])
    row["request"]["forgottenTopicsData"][0]["partitions"].append(12345)
    return row


@alters(EVICTION, "forgotten-unknown")
def a_topic_of_zeros_is_forgotten_and_the_fetch_refused(rows: list[Row]) -> Row:
    row = incremental(session(rows, 0))
    row["request"]["forgottenTopicsData"] = [{"topicId": "AAAAAAAAAAAAAAAAAAAAAA", "partitions": [0]}]
    row["response"] |= {"errorCode": 100, "responses": []}
    return row


@alters(EVICTION, "forgotten-in-full")
def a_full_fetch_forgets(rows: list[Row]) -> Row:
    row = session(rows, 0)[0]
    row["request"]["forgottenTopicsData"] = [{"topicId": row["request"]["topics"][0]["topicId"], "partitions": [99]}]
    return row


@alters(EVICTION, "asked-again")
def an_unmoved_partition_is_asked_for_again(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    row = next(r for r in fetched[3:] if not r["request"]["topics"])
    before = fetched[: fetched.index(row)]
    last = next(r for r in reversed(before) if r["request"]["topics"])
    row["request"]["topics"] = copy.deepcopy(last["request"]["topics"])
    return row


@alters(EVICTION, "closed-session-used")
def a_client_goes_on_after_an_eviction(rows: list[Row]) -> Row:
    evicted = next(row for row in fetches(rows) if row["response"]["errorCode"] == 70)
    again = copy.deepcopy(evicted)
    again["requestHeader"]["correlationId"] += 1000
    rows.insert(rows.index(evicted) + 1, again)
    return again


@alters(EVICTION, "closed-session-used", "closed-session-answered")
def a_broker_answers_a_closed_session(rows: list[Row]) -> Row:
    closing = next(r for r in fetches(rows) if r["request"]["sessionEpoch"] == -1 and r["request"]["sessionId"])
    again = copy.deepcopy(closing)
    again["request"]["sessionEpoch"] = 9
    again["response"]["sessionId"] = closing["request"]["sessionId"]
    again["requestHeader"]["correlationId"] += 1000
    rows.insert(rows.index(closing) + 1, again)
    return again


@alters(EVICTION, "epoch-refused")
def the_right_epoch_is_refused(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    row = incremental(fetched, 5)
    row["response"] = {**row["response"], "errorCode": 71, "sessionId": 0, "responses": []}
    return last(rows, fetched, row)


@alters(EVICTION, "naming-refused", "error-with-partitions")
def an_error_comes_with_partitions_and_for_no_reason(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    row = answered(fetched)
    row["response"]["errorCode"] = 106
    return last(rows, fetched, row)


@alters(EVICTION, "session-unused")
def a_granted_session_is_never_used(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    again = opened_again(rows, fetched)
    again["response"]["sessionId"] += 1
    return again


@alters(EVICTION, "session-id-changed")
def another_session_id_in_the_answer(rows: list[Row]) -> Row:
    row = incremental(session(rows, 0))
    row["response"]["sessionId"] += 1
    return row


@alters(EVICTION, "session-dropped")
def a_session_is_dropped_with_partitions_left(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    row = incremental(fetched, 6)
    row["response"]["sessionId"] = 0
    return last(rows, fetched, row)


@alters(EVICTION, "session-not-wanted")
def a_session_for_a_fetch_that_wants_none(rows: list[Row]) -> Row:
    row = next(r for r in fetches(rows) if r["request"]["sessionEpoch"] == -1)
    row["response"]["sessionId"] = 4711
    return row


@alters(EVICTION, "session-id-taken")
def two_sessions_with_one_id(rows: list[Row]) -> Row:
    one, other = session(rows, 0), session(rows, 1)
    for row in other:
        row["response"]["sessionId"] = row["response"]["sessionId"] and one[0]["response"]["sessionId"]
        row["request"]["sessionId"] = row["request"]["sessionId"] and one[0]["response"]["sessionId"]
    late = max(one[0], other[0], key=rows.index)
    for row in [*one[1:], *other[1:]]:
        rows.remove(row)
    return late


@alters(EVICTION, "session-id-kept")
def a_new_session_with_the_old_ones_id(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    again = opened_again(rows, fetched)
    again["request"]["sessionId"] = again["response"]["sessionId"]
    return again


@alters(EVICTION, "session-shared")
def a_session_is_used_by_another_client(rows: list[Row]) -> Row:
    row = incremental(session(rows, 0))
    row["requestHeader"]["clientId"] = "somebody-else"
    row["connection"] = row["connection"].rpartition(":")[0] + ":9"
    return row


@alters(EVICTION, "epoch-invalid")
def an_incremental_fetch_without_a_session(rows: list[Row]) -> Row:
    row = incremental(session(rows, 0))
    again = copy.deepcopy(row)
    again["request"]["sessionId"] = 0
    rows.insert(rows.index(row), again)
    return again


@alters(EVICTION, "epoch-invalid")
def an_incremental_fetch_in_a_session_that_no_broker_gives(rows: list[Row]) -> Row:
    again = an_incremental_fetch_without_a_session(rows)
    again["request"]["sessionId"] = -7
    return again


@alters(EVICTION, "two-in-flight")
def two_fetches_of_a_session_at_once(rows: list[Row]) -> Row:
    fetched = session(rows, 0)
    row = incremental(fetched, 4)
    row["timestamp"] = fetched[fetched.index(row) - 1]["timestamp"]
    return row


@alters(EVICTION, "naming-switched", "naming-accepted")
def names_in_a_session_of_topic_ids(rows: list[Row]) -> Row:
    row = next(r for r in session(rows, 0)[1:] if not r["request"]["topics"] and not r["response"]["responses"])
    row["requestHeader"]["requestApiVersion"] = 12
    return row


@alters(EVICTION, "records-withheld")
def records_are_held_back(rows: list[Row]) -> Row:
    """From the second fetch on the broker says nothing more of a partition that has records, and the client waits."""
    fetched = session(rows, 0)
    first = fetched[0]["response"]["responses"][0]
    index = first["partitions"][0]["partitionIndex"]
    first["partitions"][0]["records"] = None
    for row in fetched[1:]:
        for side, key in (("request", "partition"), ("response", "partitionIndex")):
            topics = row[side]["topics" if side == "request" else "responses"]
            for topic in topics:
                topic["partitions"] = [part for part in topic["partitions"] if part[key] != index]
    return fetched[3]


@alters(EVICTION, "change-untold")
def a_high_watermark_is_told_late(rows: list[Row]) -> Row:
    """One session was told of a high watermark; another, asking after that, only in its next but one answer."""
    fetched, other = session(rows, 0), session(rows, 2)
    topic = fetched[0]["response"]["responses"][0]
    index = topic["partitions"][0]["partitionIndex"]
    high = max(p["highWatermark"] for r in fetched + other for t in r["response"]["responses"] for p in t["partitions"])
    quiet = [r for r in fetched[1:] if not r["response"]["responses"] and not r["response"]["errorCode"]]
    early = quiet[3]
    herald = copy.deepcopy(quiet[1])
    herald["connection"] = herald["connection"].rpartition(":")[0] + ":9"
    herald["request"] = {**fetched[0]["request"], "sessionEpoch": -1}
    herald["response"] = {**fetched[0]["response"], "sessionId": 0}
    herald["response"] = copy.deepcopy(herald["response"])
    herald["response"]["responses"][0]["partitions"][0]["highWatermark"] = high + 5
    rows.insert(rows.index(early), herald)
    late = fetched[fetched.index(early) + 1]
    add_answer(late, topic["topicId"], index, high=high + 5)
    return late


@pytest.mark.parametrize(("name", "capture", "alter", "rules"), ALTERATIONS, ids=[a[0] for a in ALTERATIONS])
def test_an_alteration_is_found(name: str, capture: str, alter: Alter, rules: set[str]) -> None:
    rows = rows_of(capture)
    frame = alter(rows)
    found, _, _ = follow(rows)
    at_frame = {
        f.rule
        for f in found
        if f.connection == frame["connection"] and f.correlation_id == frame["requestHeader"]["correlationId"]
    }
    assert rules <= at_frame, [(f.rule, f.text) for f in found]


@pytest.mark.parametrize("under_way", [True, False])
def test_a_fetch_is_judged_by_the_time_at_which_it_was_sent(under_way: bool) -> None:
    """A client closes its session while a fetch is under way, whose answer comes behind that to the closing one."""
    rows = rows_of(EVICTION)
    closing = next(r for r in fetches(rows) if r["request"]["sessionEpoch"] == -1 and r["request"]["sessionId"])
    late = copy.deepcopy(closing)
    late["request"]["sessionEpoch"] = 9
    late["requestHeader"]["correlationId"] += 1000
    late["timestamp"] = "2000-01-01T00:00:00Z" if under_way else closing["timestamp"]
    rows.insert(rows.index(closing) + 1, late)
    found, _, _ = follow(rows)
    rules = {f.rule for f in found if f.correlation_id == late["requestHeader"]["correlationId"]}
    assert ("closed-session-used" in rules) == (not under_way)


def test_every_rule_is_broken_by_an_alteration() -> None:
    assert set().union(*(rules for *_, rules in ALTERATIONS)) == set(RULES) - DRAFT_ONLY


def test_a_frame_is_one_fetch_only() -> None:
    rows = rows_of(EVICTION)
    frames = {(row["connection"], row["requestHeader"]["correlationId"]) for row in rows if is_fetch(row)}
    assert len(frames) == len(fetches(rows))
