"""A capture of KIP-227's third draft breaks no rule; altered, the rule that was broken is named, at its frame."""

import copy
import gzip
import json
from collections.abc import Callable

import pytest

from kcli.schemas.apikeys import INCREMENTAL_FETCH
from kcli.sessions.draft_exchange import UUID_MISMATCH
from kcli.sessions.session_findings import RULES
from tests.sessions.captured import DATA, Row, follow

# What the final design has no use for: `test_incremental_checks` breaks all others.
DRAFT_ONLY = {"set-changed", "set-accepted", "not-begun-anew"}


def rows() -> list[Row]:
    with gzip.open(DATA / "draft/rebalance.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


class Client:
    """The rows of the first connection: a full fetch, incremental ones, another full fetch, incremental ones."""

    def __init__(self, every: list[Row]) -> None:
        self.rows = [row for row in every if row["connection"] == every[0]["connection"]]
        fulls = [at for at, row in enumerate(self.rows) if row["requestHeader"]["requestApiKey"] == 1]
        self.full, self.next_full = (self.rows[at] for at in fulls)
        self.more, self.later = self.rows[1 : fulls[1]], self.rows[fulls[1] + 1 :]


def header_row(full: Row, **changes: object) -> Row:
    """A partition of the full fetch's response in the form of an incremental response."""
    topic = full["response"]["responses"][0]
    part = {**topic["partitions"][0], **changes}
    names = ("errorCode", "highWatermark", "lastStableOffset", "logStartOffset")
    reported = {"partitionId": part["partitionIndex"], "aborted": [], **{name: part[name] for name in names}}
    return {"topicName": topic["topic"], "partitions": [{"header": reported, "records": None}]}


def asked_row(full: Row, index: int, offset: int) -> Row:
    part = {"partitionId": str(index), "fetchOffset": offset, "startOffset": -1, "maxBytes": 1 << 20}
    return {"topicName": full["request"]["topics"][0]["topic"], "partitions": [part]}


def refuse(row: Row) -> None:
    row["response"] = {"throttleTimeMs": 0, "errorCode": UUID_MISMATCH, "uuid": 0, "topics": []}


def former_uuid(c: Client) -> Row:
    uuid = c.full["response"]["uuid"]
    c.later[0]["request"]["uuid"] = c.later[0]["response"]["uuid"] = uuid
    return c.later[0]


def former_uuid_refused(c: Client) -> Row:
    refuse(former_uuid(c))
    return c.later[0]


def uuid_after_a_mismatch(c: Client) -> Row:
    refuse(c.more[1])
    refuse(c.more[2])
    return c.more[2]


def another_partition(c: Client) -> Row:
    c.more[1]["request"]["topics"] = [asked_row(c.full, 99, 0)]
    return c.more[1]


def another_partition_refused(c: Client) -> Row:
    refuse(another_partition(c))
    return c.more[1]


def no_answer_and_on(c: Client) -> Row:
    c.more[1]["response"] = None
    del c.more[1]["latencyMs"], c.more[1]["responseBytes"]
    return c.more[2]


def uuid_granted_again(c: Client) -> Row:
    c.next_full["response"]["uuid"] = c.full["response"]["uuid"]
    return c.next_full


def other_uuid_in_an_answer(c: Client) -> Row:
    c.more[1]["response"]["uuid"] += 1
    return c.more[1]


def full_without_a_partition(c: Client) -> Row:
    c.full["response"]["responses"][0]["partitions"].pop()
    return c.full


def unasked_answered(c: Client) -> Row:
    c.more[1]["response"]["topics"] = [header_row(c.full, partitionIndex=77)]
    return c.more[1]


def unchanged_answered(c: Client) -> Row:
    c.more[1]["response"]["topics"] = [header_row(c.full)]
    return c.more[1]


def answered_twice(c: Client) -> Row:
    c.more[1]["response"]["topics"] = [header_row(c.full), header_row(c.full)]
    return c.more[1]


def asked_twice(c: Client) -> Row:
    c.more[0]["request"]["topics"] *= 2
    return c.more[0]


def mismatch_with_partitions(c: Client) -> Row:
    refuse(c.more[1])
    c.more[1]["response"]["topics"] = [header_row(c.full)]
    return c.more[1]


def jump(c: Client) -> Row:
    c.more[1]["request"]["topics"] = [asked_row(c.full, 0, 1_000_000)]
    return c.more[1]


def asked_again(c: Client) -> Row:
    c.more[1]["request"]["topics"] = copy.deepcopy(c.more[0]["request"]["topics"])
    return c.more[1]


def two_in_flight(c: Client) -> Row:
    c.more[1]["timestamp"] = c.more[0]["timestamp"]
    return c.more[1]


def somebody_elses_uuid(c: Client) -> Row:
    c.more[1]["requestHeader"]["clientId"] = "another"
    return c.more[1]


def records_withheld(c: Client) -> Row:
    c.full["response"]["responses"][0]["partitions"][0]["highWatermark"] += 50
    return c.more[2]


ALTERATIONS: list[tuple[Callable[[Client], Row], set[str]]] = [
    (former_uuid, {"closed-session-used", "closed-session-answered"}),
    (former_uuid_refused, {"closed-session-used"}),
    (uuid_after_a_mismatch, {"closed-session-used"}),
    (another_partition, {"set-changed", "set-accepted", "added-unanswered"}),
    (another_partition_refused, {"set-changed"}),
    (no_answer_and_on, {"not-begun-anew"}),
    (uuid_granted_again, {"session-id-taken"}),
    (other_uuid_in_an_answer, {"session-id-changed"}),
    (full_without_a_partition, {"full-incomplete"}),
    (unasked_answered, {"not-asked-answered"}),
    (unchanged_answered, {"unchanged-answered"}),
    (answered_twice, {"answered-twice", "unchanged-answered"}),
    (asked_twice, {"asked-twice", "asked-again"}),
    (mismatch_with_partitions, {"error-with-partitions"}),
    (jump, {"position-jump"}),
    (asked_again, {"asked-again"}),
    (two_in_flight, {"two-in-flight"}),
    (somebody_elses_uuid, {"session-shared"}),
    (records_withheld, {"records-withheld"}),
]


@pytest.mark.parametrize(("alter", "rules"), ALTERATIONS, ids=[alter.__name__ for alter, _ in ALTERATIONS])
def test_an_alteration_is_found_at_its_frame_and_no_other_rule_is(
    alter: Callable[[Client], Row], rules: set[str]
) -> None:
    every = rows()
    frame = alter(Client(every))
    found, _, _ = follow(every)
    place = frame["connection"], frame["requestHeader"]["correlationId"]
    assert {f.rule for f in found if (f.connection, f.correlation_id) == place} == rules


def test_every_rule_of_the_draft_alone_is_broken() -> None:
    assert set(RULES) >= DRAFT_ONLY
    assert set().union(*(rules for _, rules in ALTERATIONS)) >= DRAFT_ONLY


def test_a_capture_of_the_draft_is_clean_and_told() -> None:
    found, ended, tracker = follow(rows())
    assert found == []
    assert (tracker.fetches, len(ended), tracker.sessionless) == (36, 6, {})
    first, then = ended[0], ended[2]
    assert (first.end, first.fetches, first.full, first.size, first.first) == ("replaced", 7, 1, 0, 3)
    assert first.successor is not None
    assert first.successor[0] == then.session_id
    assert [session.end for session in ended].count("capture end") == 4


@pytest.mark.parametrize("start", range(1, 30, 3))
def test_a_capture_that_begins_in_mid_stream_is_clean(start: int) -> None:
    found, _, _ = follow(rows()[start:])
    assert found == []


@pytest.mark.parametrize("every", [3, 5, 7])
def test_a_capture_with_gaps_that_are_marked_is_clean(every: int) -> None:
    marked = [
        {"event": "gap", "connection": row["connection"], "timestamp": row["timestamp"]} if at % every == 1 else row
        for at, row in enumerate(rows())
    ]
    assert follow(marked)[0] == []


def test_a_mismatch_and_the_full_fetch_that_follows_break_no_rule() -> None:
    every = rows()
    client = Client(every)
    refuse(client.more[-1])
    found, ended, _ = follow(every)
    assert found == []
    session = next(each for each in ended if each.session_id == client.full["response"]["uuid"])
    assert (session.end, session.end_error) == ("error", UUID_MISMATCH)
    assert session.successor is not None
    assert session.successor[0] == client.next_full["response"]["uuid"]


def test_a_full_fetch_without_a_uuid_begins_no_session() -> None:
    every = [row for row in rows() if row["requestHeader"]["requestApiKey"] != INCREMENTAL_FETCH][:1]
    every[0]["response"]["uuid"] = 0
    found, ended, tracker = follow(every)
    assert (found, ended, len(tracker.sessionless)) == ([], [], 1)
