"""Logins, rights, certificates and listeners."""

from __future__ import annotations

from tests.diagnose.captured import only, told


def test_refused_logins_are_told_once_and_not_as_churn() -> None:
    found = only("auth-failure-ledger")
    assert (found.finding, found.severity) == ("auth-failure", "critical")
    told(found, client="ledger-sync")
    assert found.evidence["good"] == 0 and found.evidence["mechanisms"] == ["PLAIN"]
    assert "user" not in found.subject  # it stands beside the password


def test_a_topic_that_does_not_exist() -> None:
    found = only("unknown-topic-returns")
    assert found.finding == "unknown-topic"
    told(found, client="returns-api", topic="returns-v2")


def test_a_certificate_that_has_expired_is_the_brokers() -> None:
    found = only("expired-certificate-clinic")
    assert found.finding == "expired-certificate"
    told(found, broker=["127.0.0.1:26800"])
    assert found.evidence["alerts"] == ["certificate_expired"] and found.evidence["sender"] == "client"


def test_an_advertised_address_where_nobody_listens() -> None:
    found = only("wrong-advertised-listener-kitchen")
    assert found.finding == "wrong-advertised-listener"
    assert "127.0.0.1:26499" in found.subject["broker"]
    assert set(found.subject["client"]) <= {"kitchen-screen-1", "kitchen-tablet"}
