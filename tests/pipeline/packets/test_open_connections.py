"""Connections that go on: whatever the moment at which one capture ends and the next begins, nothing changes."""

from pathlib import Path
from typing import Any

import pytest

from tests.capture.messages import api_versions, metadata, produce, sasl_handshake
from tests.capture.wires import Packet, Wire, frame, pcap
from tests.pipeline.outputs import assert_decoded, rows_of, run_here, unaccounted


def talk() -> Wire:
    """Pipelined requests, frames over packet borders, a gap, packets out of order, SASL tokens, bytes left at the
    end."""
    wire = Wire().open()
    for number, (asked, answer) in enumerate([sasl_handshake(1, 0), (frame(b"token-1"), frame(b"token-2"))]):
        wire.client(asked).server(answer)
        assert number < 2
    first, second, third = metadata(2), produce(3, records=b"r" * 300), api_versions(4)
    wire.client(first[0] + second[0][:50]).client(second[0][50:]).client(third[0])
    wire.server(first[1][:9]).server(first[1][9:] + second[1]).server(third[1])
    lost = wire.add(1, 16, b"lost" * 5)
    wire.packets.remove(lost)
    for number in (5, 6, 7):
        wire.client(metadata(number)[0])
        wire.server(metadata(number)[1])
    wire.packets[-1], wire.packets[-2] = wire.packets[-2], wire.packets[-1]
    wire.client(metadata(8)[0])
    return wire


@pytest.mark.parametrize(
    ("at", "tasks"),
    [
        *((at, {}) for at in range(1, 20)),
        *((at, {"shares": 2}) for at in range(1, 20, 3)),
    ],
)
def test_a_cut_at_any_packet_changes_nothing(at: int, tasks: dict[str, Any], tmp_path: Path, output: Path) -> None:
    packets: list[Packet] = talk().packets
    paths = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    for path, part in zip(paths, (packets[:at], packets[at:]), strict=True):
        path.write_bytes(pcap(part, nano=True))
        run_here([path], output, **tasks)
    whole = tmp_path / "whole.pcap"
    whole.write_bytes(pcap(packets, nano=True))
    assert_decoded(output, [whole])
    assert unaccounted(output) == 0
    assert sum(row["carried_bytes"] for row in rows_of(output, "lineage") if row["scope"] != "file") == 0
