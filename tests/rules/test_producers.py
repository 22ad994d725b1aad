"""Producers, records and transactions."""

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


@pytest.mark.parametrize(
    ("capture", "told_of", "advised", "evidence"),
    [
        (
            "topic-recreated-quotes",
            "recreated under running clients (deleted once by rdkafka (127.0.0.1:45980), recreated once by rdkafka",
            "first find the job that deletes it: rdkafka at 127.0.0.1:45980; do not",
            {"deletes": 1, "creates": 1, "deleters": ["rdkafka at 127.0.0.1:45980"], "topic_ids": 2},
        ),
        (
            "topic-recreated-commits",
            "(the capture does not show who deleted it): 2 topic ids",
            "first find who deletes it: a capture of all brokers shows that",
            {"deletes": 0, "creates": 0, "deleters": None},
        ),
    ],
)
def test_who_deleted_a_topic(capture: str, told_of: str, advised: str, evidence: dict[str, object]) -> None:
    found = only(capture)
    assert told_of in found.text and found.advice.startswith(advised)
    assert {name: found.evidence.get(name) for name in evidence} == evidence


@pytest.mark.parametrize(
    ("capture", "place", "ends", "advised"),
    [
        (
            "hanging-settler",
            "117.7.3.4:18895 abort --topic audit --partition 2 --start-offset 23",
            "2026-11-26T19:55:11",
            "soon after 19:55:11Z (transaction.timeout.ms 40000), 19.0 s after the end of the capture",
        ),
        (
            "hanging-begun-before",
            "127.0.0.1:43000 abort --topic book --partition 1 --start-offset 656",
            "",
            "wait for its transaction.timeout.ms (default 60000; the capture does not show it)",
        ),
    ],
)
def test_how_a_transaction_ends(capture: str, place: str, ends: str, advised: str) -> None:
    found = only(capture)
    assert f"kafka-transactions.sh --bootstrap-server {place};" in found.advice and advised in found.advice
    assert found.evidence.get("ends_by_itself_at", "")[:19] == ends
    assert found.advice.startswith("wait: " if ends else "wait for ")
