"""Summaries of transactions."""

import pytest

from tests.capture.wires import SAMPLES
from tests.cli.decode.pcap.summaries.exchanges import summary_of


@pytest.mark.parametrize(
    ("api", "number", "text"),
    [
        ("INIT_PRODUCER_ID", 0, "pay-1 -> producer 5 epoch 0"),
        ("END_TXN", 0, "pay-1 commits"),
    ],
)
def test_transactions(api: str, number: int, text: str) -> None:
    assert summary_of(SAMPLES / "java44-txn.pcap", api, number) == text
