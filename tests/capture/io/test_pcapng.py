"""What the writer writes, kcli's readers read: packets, times, link types, lengths."""

from pathlib import Path

from kcli.capture.io import ranges
from kcli.capture.io.pcapng import interface_block, packet_ends, section_block

START = 1_700_000_000_123_456_789


def test_packets_come_back(tmp_path: Path) -> None:
    links = 1, 113
    out = section_block() + b"".join(map(interface_block, links))
    sent = [(START + number, (1, 113, 1)[number % 3], b"x" * number, number + 5) for number in range(20)]
    for ns, link, data, length in sent:
        head, tail = packet_ends(links.index(link), ns, len(data), length)
        out += head + data + tail
    path = tmp_path / "made.pcapng"
    path.write_bytes(out)
    assert [(row.ns, row.link, row.data, row.length) for row in ranges.rows(str(path))] == sent


def test_a_capture_without_packets_is_one(tmp_path: Path) -> None:
    path = tmp_path / "made.pcapng"
    path.write_bytes(section_block())
    assert list(ranges.rows(str(path))) == []
