"""Fetches, metadata and connections."""

import pytest

from tests.diagnose.captured import diagnosed, only, told


@pytest.mark.parametrize(
    ("capture", "finding", "subject"),
    [
        ("busy-fetch-pricing", "busy-fetch", {"client": "pricing-cache-1"}),
        ("connection-churn-cron", "connection-churn", {"client": ["cron-push"]}),
        ("throttled-bulk-loader", "throttled", {"client": "bulk-loader"}),
        ("lagging-consumer-pageviews", "lagging-consumer", {"client": "pageview-stats-1", "topic": "pageviews"}),
        ("metadata-storm-portal", "metadata-storm", {"client": "portal-health"}),
        # half of what it gets are descriptions: one that lists all topics 27 times a second, all the same
        ("metadata-storm-probe", "metadata-storm", {"client": "probe"}),
        # seen at the broker, 24 ms away: what goes by between its Fetches is the way there and back
        ("fetch-limits-far", "fetch-limits", {"client": "straw"}),
        ("exporter-load-groups", "exporter-load", {"client": "lag-exporter"}),
        ("down-conversion-tills", "down-conversion", {"client": "till-legacy", "topic": "tills"}),
        ("request-timeout-alerts", "request-timeout-too-short", {"client": "alert-pager-1"}),
    ],
)
def test_what_a_client_does(capture: str, finding: str, subject: dict[str, str]) -> None:
    found = only(capture)
    assert found.finding == finding
    told(found, **subject)


def test_hanging_up_explains_the_rounds_of_its_group() -> None:
    """Each new connection joins anew."""
    found = diagnosed("request-timeout-alerts")
    assert [each.finding for each in found.findings] == ["request-timeout-too-short"]
    explained = {each.finding: each.explained_by for each in found.explained}
    assert explained == {"rebalance-storm": "request-timeout-too-short"}


def test_a_batch_job_a_long_poll_and_a_deployment_are_healthy() -> None:
    found = diagnosed("healthy-batch-night")
    assert not found.findings and found.judged and found.checked > 30


def test_sessions_that_are_opened_and_not_used() -> None:
    """As few as these leave slots for others."""
    [found] = diagnosed("sessions-never-reused").findings
    told(found, client="price-poller")
    assert (found.finding, found.severity) == ("sessions-never-reused", "info")
    assert (found.evidence["incremental"], found.evidence["kept"]) == (0, 410)


def test_small_limits_with_records_behind_them_are_worth_a_word() -> None:
    """The lag falls all the same."""
    [found] = diagnosed("fetch-limits-archive").findings
    assert (found.finding, found.severity) == ("fetch-limits", "info")
    told(found, client="archive-search", topic="archive")
    assert found.evidence["max_bytes"] == 2048


def test_a_consumer_that_fetches_ahead_falls_behind_by_its_commits() -> None:
    """librdkafka: all of the topic is in its memory, and waits there."""
    found = only("lagging-price-model")
    assert found.finding == "lagging-consumer"
    told(found, client="price-model-1", group=["price-model"], topic="prices")


def test_a_consumer_with_a_backlog_falls_behind_further() -> None:
    """sarama, in mid-stream: 2,098 records behind, it reads two thirds of what comes; all is in its memory."""
    found = only("lagging-scorer")
    assert found.finding == "lagging-consumer"
    told(found, client="scorer", group=["scorer"], topic="orders")
    assert found.evidence["by_commits"] is True
    assert found.evidence["first_lag"] < found.evidence["last_lag"]


def test_an_answer_that_the_capture_lacks_was_waited_for() -> None:
    assert "request-timeout-too-short" not in {each.finding for each in diagnosed("tap-loses-fetches").findings}
