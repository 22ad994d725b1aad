"""The line between clients and brokers."""

from __future__ import annotations

from tests.diagnose.captured import only, told


def test_a_long_line_is_told_by_its_host() -> None:
    found = only("slow-network-reports")
    assert found.finding == "slow-network"
    told(found, host="10.99.1.2")
    assert found.evidence["trip_ms"] > 130 and found.evidence["others_ms"] < 1


def test_silent_connections_that_a_middlebox_forgot() -> None:
    found = only("idle-connection-cut-barrier")
    assert found.finding == "idle-connection-cut"
    told(found, client="barrier-gate", host=["10.99.1.2"])


def test_a_closed_window_is_the_clients() -> None:
    found = only("slow-reader-catalog")
    assert found.finding == "slow-reader"
    told(found, client="catalog-export-1")
