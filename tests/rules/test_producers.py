"""Producers, records and transactions."""

from __future__ import annotations

import pytest

from tests.diagnose.captured import diagnosed, only, told


@pytest.mark.parametrize(
    ("capture", "finding", "subject"),
    [
        ("tiny-batches-clickstream", "tiny-batches", {"client": "clickstream-web"}),
        ("clock-skew-basement", "clock-skew", {"client": "basement-probe", "topic": "basement"}),
        ("transactional-id-clash-refunds", "transactional-id-clash", {"transactionalId": "refunds-tx"}),
        ("topic-recreated-quotes", "topic-recreated", {"topic": "quotes"}),
        (
            "hanging-transaction-settlement",
            "hanging-transaction",
            {"client": "settlement-writer", "transactionalId": "settlement-tx-1", "partition": "settlement-0"},
        ),
        # two answers to read_committed readers, 8 s apart, and the write that began it
        (
            "hanging-settler",
            "hanging-transaction",
            {"client": "settler", "transactionalId": "settle-1", "partition": "audit-2"},
        ),
        # one answer: franz-go, whose batch before was taken by a leader that an unclean election replaced
        ("sequence-gap-once", "sequence-gap", {"client": "gink", "topic": "duo3"}),
        # Java: no record fails, and the offsets go back by 898
        ("sequence-gap-java", "sequence-gap", {"client": "ink", "topic": "duo"}),
        # Java: its commits fail for want of the topic, and are no commits of each record
        ("topic-recreated-commits", "topic-recreated", {"topic": "reborn"}),
        # begun before the capture: others that write behind it and end are not its writer
        ("hanging-begun-before", "hanging-transaction", {"partition": "book-1", "client": None}),
        # the capture begins in mid-stream: the topic's name comes from a commit of what was fetched by its id
        ("hot-partition-events", "hot-partition", {"client": "events-gw", "partition": "events-6"}),
    ],
)
def test_what_a_producer_does(capture: str, finding: str, subject: dict[str, str]) -> None:
    found = only(capture)
    assert found.finding == finding
    told(found, **subject)


def test_records_written_twice_behind_requests_that_nobody_answered() -> None:
    [found] = [each for each in diagnosed("duplicate-writes").findings if each.finding == "duplicate-writes"]
    told(found, client="payout-batch", topic="payouts")
    assert found.evidence["records"] >= found.evidence["batches"] >= 3 and "byte for byte" not in found.text


def test_the_first_answer_came_when_the_client_had_given_up() -> None:
    [hasty, found] = diagnosed("duplicates-seats").findings
    assert hasty.finding == "request-timeout-too-short" and found.finding == "duplicate-writes"
    told(found, client="seat-sync", topic="seats")
    assert found.evidence["batches"] == 4 and "byte for byte" in found.text


def test_an_answer_that_the_capture_lacks_is_no_retry() -> None:
    """A tap that loses one packet in a hundred: offsets grow by what was written, whoever heard of it."""
    found = diagnosed("tap-loses-answers")
    assert found.judged and not found.findings


def test_a_transaction_that_hangs_explains_what_waits_for_it_alone() -> None:
    """The capture begins in mid-stream, the reader's Fetches tell neither a name nor an offset: its commits do."""
    found = [each for each in diagnosed("hanging-and-lagging").findings if each.severity != "info"]
    named = {(each.finding, str(each.subject["topic"])) for each in found}
    assert named == {("hanging-transaction", "book"), ("lagging-consumer", "orders")}
