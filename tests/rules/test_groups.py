"""Groups and their members."""

from tests.diagnose.captured import diagnosed, only, told


def test_a_member_that_leaves_and_joins_again() -> None:
    found = only("rebalance-storm-shipments")
    assert found.finding == "rebalance-storm"
    told(found, group="shipments-workers", client=["worker-1", "worker-2", "worker-3"])
    assert found.evidence["leaver"] == "worker-3"
    assert all(each.explained_by == "rebalance-storm" for each in diagnosed("rebalance-storm-shipments").explained)


def test_a_member_that_fails_at_a_record_each_time() -> None:
    """A sink of Connect, whose task is started anew each two seconds, beside one that is well."""
    found = only("rebalance-storm-sink")
    told(found, group="connect-bad", client=["connector-consumer-bad-0"])
    assert found.text.endswith("; each time connector-consumer-bad-0 reads loop-0 from offset 0 again")
    assert found.advice.startswith("look at the records of loop-0 from offset 0 on")
    assert "again" not in only("rebalance-storm-shipments").text.partition("again and again")[2]


def test_a_cooperative_member_that_comes_and_goes_is_a_storm_and_a_group_that_grows_is_none() -> None:
    """franz-go: each change of a cooperative group may cost two rounds."""
    found = only("rebalance-storm-shipping")
    told(found, group="shipping", client=["ship-1", "ship-2", "ship-flap"])
    assert (found.finding, found.evidence["leaver"]) == ("rebalance-storm", "ship-flap")
    assert (found.evidence["leaves"], found.evidence["most_leaves"]) == (8, 6), "two others leave once, at the end"
    assert found.text.endswith("; ship-flap left 6 times")
    grown = diagnosed("healthy-growing-group")
    assert grown.judged and not grown.findings


def test_a_member_that_is_alive_and_does_nothing() -> None:
    found = only("consumer-stuck-invoices")
    assert found.finding == "consumer-stuck"
    told(found, client="invoice-writer-1", group="invoice-writer")
    assert found.evidence["commits_after"] == 0 and found.evidence["produced"] > 0


def test_a_member_that_polls_and_reads_nothing_is_stuck_too_though_it_commits_as_it_leaves() -> None:
    """librdkafka: paused, it goes on polling; the other member of the group reads on."""
    found = only("stuck-parcel-sorter")
    assert found.finding == "consumer-stuck"
    told(found, client="parcel-sorter-1", group="parcel-sorter")
    assert found.evidence["resumed"] is False and found.severity == "critical"


def test_a_member_that_fetches_ahead_and_commits_no_more_is_stuck() -> None:
    """sarama: its Fetches go on until its buffer is full."""
    found = only("stuck-mail-archive")
    assert (found.finding, found.severity) == ("consumer-stuck", "critical") and "fetched ahead" in found.text
    told(found, client="mail-arc", group="mail-arc")


def test_two_processes_with_one_instance_id() -> None:
    found = only("duplicate-static-member-trades")
    assert found.finding == "duplicate-static-member"
    told(found, group="trade-sync", client=["trade-sync-a", "trade-sync-b"])


def test_a_commit_for_each_record() -> None:
    found = only("commit-per-record-letters")
    assert found.finding == "commit-per-record"
    told(found, client="letter-print-1", group="letter-print")


def test_a_commit_for_each_record_that_names_where_the_batch_ends() -> None:
    """aiokafka: the positions of all partitions, which stand at the end of what was fetched."""
    found = only("commit-audit-sink")
    assert found.finding == "commit-per-record"
    told(found, client="audit-sink-1", group="audit-sink")


def test_a_coordinator_that_never_comes_is_of_a_group_or_of_a_transactional_id() -> None:
    told(only("coordinator-group"), group="routes", client="parcel-route-1", transactionalId=None)
    found = only("coordinator-txn")
    told(found, transactionalId="ledger-tx-1", client="ledger-writer", group=None)
    assert "__transaction_state" in found.advice


def test_a_member_that_polls_too_late_leaves_and_comes_back() -> None:
    found = only("poll-interval-sorters")
    assert found.finding == "poll-interval-exceeded"
    told(found, client="mail-sorter", group="sorters")
    assert found.evidence["left_by_itself"] == found.evidence["joined_again"] == 3
