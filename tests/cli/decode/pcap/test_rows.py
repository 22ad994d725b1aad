"""Rows as they come out of the engine: their labels, their filter, and when they are shown."""

from pathlib import Path

import pytest

from kcli.capture.decoder import CaptureDecoder, DecodeOptions, with_failures
from kcli.capture.filters import Choice, Filter, chosen
from kcli.cli.decode.pcap.rows import TableSink
from kcli.cli.decode.pcap.table import ExchangeTable
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import DATA, SAMPLES

TXN = SAMPLES / "java44-txn.pcap"
FILTERS = [
    chosen(Choice(errors=True)),
    chosen(Choice(api=["Produce", "Fetch"])),
    chosen(Choice(client_id="lab-java")),
    chosen(Choice(client_id="broker-?-*")),
    chosen(Choice(topic="pay-in")),
    chosen(Choice(topic="pay-*")),
    chosen(Choice(connection=":21001")),
    chosen(Choice(error="CONCURRENT_TRANSACTIONS")),
    chosen(Choice(slower_than=5)),
    chosen(Choice(since="2026-11-21T01:22:00.3Z")),
    chosen(Choice(until="2026-11-21T01:21:58.9Z")),
    chosen(Choice(api="Fetch", errors=True, topic="__cluster_metadata")),
]


def rows(path: Path, asked: Filter) -> list[str]:
    """The table's lines, without the headings."""
    lines: list[str] = []
    source = CaptureDecoder([str(path)], TableSink(), DecodeOptions(chosen=asked))
    for _ in source.sink.show(ExchangeTable(lambda *parts: lines.append("".join(parts)))):
        pass
    return lines[1:]


@pytest.mark.parametrize("path", [TXN, DATA / "java44-admin.pcap.gz", DATA / "mid-stream.pcap.zst"])
@pytest.mark.parametrize("asked", FILTERS)
def test_a_filter_leaves_out_lines_and_changes_none(path: Path, asked: Filter) -> None:
    every = rows(path, Filter())
    kept = as_values([str(path)], chosen=asked)
    count = sum(1 for items in pieces(kept) for item in items for _ in with_failures(item))
    some = rows(path, asked)
    assert len(some) == count
    rest = iter(every)
    assert all(line in rest for line in some)  # in the same order, with the same labels
