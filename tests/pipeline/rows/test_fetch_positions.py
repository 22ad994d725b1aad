"""Where fetches stand: the same in windows and runs as in one stretch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kcli.pipeline.rows.fetch_positions import merged, rows_of
from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap
from tests.pipeline.outputs import cut_at, run_here, window_count
from tests.pipeline.outputs import rows_of as table_rows
from tests.pipeline.packets.test_resync import begun

ORDERS = "AAAAAAAAAAAAAAAAAAAAAQ"
UNKNOWN = -(1 << 63)


def incremental() -> Wire:
    """A full fetch of three partitions, then such as name little, answered with other partitions than they name."""
    wire = begun()
    for number in range(40):
        named = range(3) if number == 0 else [number % 3] if number % 9 == 0 else []
        asked = [{"partition": each, "fetchOffset": 100 * number, "partitionMaxBytes": 1000} for each in named]
        reported = [
            {"partitionIndex": each, "highWatermark": 5000 + number, "logStartOffset": number, "records": None}
            for each in (range(3) if number == 0 else [number % 2])
        ]
        session = {"sessionId": 7 if number else 0, "sessionEpoch": number}
        wire.client(request(1, 13, number + 2, session | {"topics": [{"topicId": ORDERS, "partitions": asked}]}))
        answer = {"sessionId": 7, "responses": [{"topicId": ORDERS, "partitions": reported}]}
        wire.server(response(1, 13, number + 2, answer))
    return wire


def rows(output: Path) -> Counter[str]:
    return Counter(map(str, table_rows(output, "fetch_partitions")))


@pytest.fixture
def whole(tmp_path: Path) -> Counter[str]:
    """The rows of one stretch."""
    path = tmp_path / "wire.pcap"
    path.write_bytes(pcap(incremental().packets, nano=True))
    run_here([path], tmp_path / "whole")
    return rows(tmp_path / "whole")


def test_windows_know_what_was_said_before_them(
    tmp_path: Path, output: Path, whole: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packets = incremental().packets
    cut_at(monkeypatch, [packets[at].ns for at in range(20, 80, 13)])
    run_here([tmp_path / "wire.pcap"], output, window_bytes=1)
    assert window_count(output) >= 4
    assert rows(output) == whole


def test_a_run_knows_what_windows_before_it_said(
    tmp_path: Path, output: Path, whole: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packets = incremental().packets
    cut_at(monkeypatch, [packets[at].ns for at in range(20, 80, 13)])
    for number, part in enumerate((packets[:60], packets[60:])):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(pcap(part, nano=True))
        run_here([path], output, window_bytes=1)
    assert window_count(output) >= 3
    assert rows(output) == whole


def test_a_topic_without_a_name(tmp_path: Path, output: Path) -> None:
    """Its number is that of no text: there was a read before the first one."""
    wire = begun()
    for number in range(2):
        asked = [{"topic": "", "partitions": [{"partition": 3, "fetchOffset": number, "partitionMaxBytes": 9}]}]
        wire.client(request(1, 11, number + 2, {"topics": asked}))
        wire.server(response(1, 11, number + 2, {"responses": []}))
    path = tmp_path / "wire.pcap"
    path.write_bytes(pcap(wire.packets))
    run_here([path], output)
    found = table_rows(output, "fetch_partitions")
    assert [(row["topic"], row["partition"], row["effective_offset"]) for row in found] == [(None, 3, 0), (None, 3, 1)]


def test_what_is_said_later_counts() -> None:
    def kept(*positions: tuple[int, ...]) -> bytes:
        return b"".join(each.to_bytes(8, "little", signed=True) for row in positions for each in row)

    before = kept((1, 10, 20, UNKNOWN), (2, 5, 6, 7))
    made = rows_of(merged(before, kept((1, UNKNOWN, 21, 3), (4, 1, 1, 1)))).tolist()
    assert made == [[1, 10, 21, 3], [2, 5, 6, 7], [4, 1, 1, 1]]
    assert merged(b"", b"") == b""
