"""Brokers that are slow or gone, and replication."""

from tests.diagnose.captured import diagnosed, only, told


def test_a_broker_that_stops_again_and_again() -> None:
    found = only("slow-broker-payments")
    assert (found.finding, found.severity) == ("slow-broker", "critical")
    told(found, broker=["127.0.0.1:24202"])
    assert found.evidence["other_late"] == 0


def test_a_crash_leaves_requests_unanswered_and_hands_nothing_over() -> None:
    found = only("broker-crash-tickets")
    assert found.finding == "broker-crash"
    assert "127.0.0.1:26204" in found.subject["broker"]
    assert found.evidence["unanswered"] >= 2


def test_a_restart_in_order_is_worth_a_word_and_no_warning() -> None:
    found = diagnosed("broker-restart-tickets")
    assert {each.finding for each in found.findings} == {"broker-restart"} and not found.is_grave
    assert all(each.evidence["handed_over"] > 0 for each in found.findings)
    assert ") stopped in order, " in found.findings[0].text and "retries of the clients" in found.findings[0].advice


def test_a_follower_that_is_away_is_named_where_acks_all_is_refused() -> None:
    found = only("under-min-isr-orders")
    assert found.finding == "under-min-isr"
    told(found, topic="orders", client=["order-entry"])
    assert "3" in found.subject["broker"]


def test_writes_that_wait_for_replicas_are_named_beside_those_that_are_refused() -> None:
    found = only("under-min-isr-orders")
    told(found, partition=["orders-0", "orders-1", "orders-2"])
    assert (found.evidence["refused"], found.evidence["unanswered"]) == (8, 5)
    assert ", 5 more without a response or timed out (orders-1); " in found.text


def test_a_broker_that_answers_nobody_as_the_capture_begins() -> None:
    """What it answers at last was waited for, whatever else of its connections began before the capture."""
    found = only("silent-at-first")
    assert found.finding == "silent-broker"
    told(found, broker=["1", "127.0.0.1:43400"])


def test_a_follower_is_known_without_metadata_by_what_it_never_asks() -> None:
    """What it answers late itself, as a leader of others, is no sign against it."""
    found = only("slow-follower-late")
    assert found.finding == "slow-replication"
    told(found, broker=["3"])


def test_a_follower_that_stops_again_and_again_makes_acks_all_wait() -> None:
    found = only("slow-replication-ledger")
    assert (found.finding, found.severity) == ("slow-replication", "critical")
    assert "3" in found.subject["broker"] and found.evidence["clients"] == ["audit-writer", "ledger-writer"]


def test_a_follower_is_known_by_its_pauses_though_they_are_shorter_than_its_wait() -> None:
    """It stops for 0.6 s at a time, with a leader's answer to its Fetch, which may wait for 0.5 s."""
    found = only("slow-follower-book")
    assert found.finding == "slow-replication"
    told(found, broker=["142.9.5.4:18613", "3"])
    assert found.evidence["clients"] == ["book"] and found.evidence["plain_late"] == 0


def test_a_follower_that_is_late_as_a_leader_too_is_the_one_that_acks_all_waits_for() -> None:
    """Three brokers lead and follow each other; the third stops for 0.45 s again and again."""
    found = only("slow-follower-routes")
    assert found.finding == "slow-replication"
    told(found, broker=["127.0.0.1:41404", "3"])
    assert found.evidence["clients"] == ["route-src", "stop-src"] and found.evidence["leaders"] == 3


def test_leaders_that_move_in_waves_without_pauses_between_their_errors() -> None:
    found = only("leader-moves-events")
    assert found.finding == "leader-moves"
    told(found, topic="events")
    assert (found.evidence["episodes"], found.evidence["moves"]) == (7, 21)


def test_a_broker_that_stopped_before_the_capture_takes_connections_and_answers_nobody() -> None:
    found = only("silent-fares")
    assert (found.finding, found.severity) == ("silent-broker", "critical")
    told(found, broker=["127.0.0.1:24502", "2"], client=["fare-api", "fare-view"])
    assert found.evidence["other_answers"] > 500
    assert [each.finding for each in diagnosed("silent-fares").explained] == ["errors-again"]


def test_fetches_that_wait_as_a_broker_falls_silent_are_left_waiting() -> None:
    """It stops for 6.3 s: two followers have asked it just before, and may wait 0.5 s; its producers ask acks=all."""
    found = only("silent-routes")
    assert found.finding == "silent-broker"
    told(found, broker=["127.0.0.1:41402", "2"])
    assert found.evidence["connections"] == 2 and 5 < found.evidence["seconds"] < 7
