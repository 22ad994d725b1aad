"""Summaries of versions, metadata, authentication and KRaft."""

import pytest

from tests.capture.wires import DATA, SAMPLES
from tests.cli.decode.pcap.summaries.exchanges import summary_of


@pytest.mark.parametrize(
    ("api", "number", "text"),
    [
        ("API_VERSIONS", 0, "apache-kafka-java 4.4.0 -> 77 APIs"),
        ("METADATA", 1, "pay-in -> 1 broker, 1 topic, 2 partitions"),
    ],
)
def test_versions_and_metadata(api: str, number: int, text: str) -> None:
    assert summary_of(SAMPLES / "java44-txn.pcap", api, number) == text


def test_authentication_shows_no_secret() -> None:
    path = SAMPLES / "sasl-plain-scram.pcap"
    assert summary_of(path, "SASL_HANDSHAKE") == "PLAIN -> PLAIN, SCRAM-SHA-512, SCRAM-SHA-256"
    assert summary_of(path, "SASL_AUTHENTICATE") == "19 bytes -> 0 bytes"


def test_votes_and_snapshots() -> None:
    path = DATA / "kraft-boot.pcap.zst"
    assert summary_of(path, "VOTE") == "3 asks about epoch 0 -> granted"
    assert summary_of(path, "FETCH_SNAPSHOT") == "__cluster_metadata 349-1 from 0 -> 21,384 of 21,384 bytes"
