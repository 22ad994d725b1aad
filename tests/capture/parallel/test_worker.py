"""The lines of all shares, put in order, are all lines."""

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.filters import Filter
from kcli.capture.io import capture_file
from kcli.capture.parallel.worker import Counts, Share
from kcli.capture.sinks import LineSink
from kcli.errors import InputError
from tests.capture.decoding import as_lines
from tests.capture.wires import DATA, SAMPLES, Packet, packets_of, pcap

Part = tuple[bytes, bytes, bytes]
MINUTE = 60_000_000_000


def one(paths: list[str], **options: Any) -> tuple[bytes, CaptureDecoder[LineSink]]:
    """What one process writes."""
    lines = bytearray()
    whole = as_lines(paths, lines.extend, **options)
    with contextlib.suppress(InputError):
        for _ in whole.read():
            pass
    return bytes(lines), whole


def part_of(source: Share) -> Part:
    """What a process has made of a stretch."""
    parts: list[Part] = []
    source.capture.engine.order.take(lambda *part: parts.append(tuple(map(bytes, part))))  # type: ignore[arg-type]
    return parts[0]


class Together:
    """Processes that read a capture together; nobody tells them names of topics."""

    def __init__(self, paths: list[str], count: int, **options: Any) -> None:
        from kcli.core.capture.line_merger import LineMerger
        from kcli.core.capture.segment_dealer import SegmentDealer

        self.first, *self.others = self.all = [Share(as_lines(paths, **options)) for _ in range(count)]
        self.dealer = SegmentDealer(count)
        self.rooms = [bytearray(1 << 22) for _ in self.others]
        self.lines = bytearray()
        self.merger = LineMerger(self.lines.extend)
        self.first.take_share(count, self.dealer)
        for other in self.others:
            other.take_share(count)
        self.dealer.open(self.rooms)

    def read(self) -> bytes | None:
        """All lines; None: they could not be made together."""
        with contextlib.suppress(InputError):
            for _ in self.first.stretches():
                if not self.pass_on(last=False):
                    return None
        if not self.pass_on(last=True):
            return None
        for other in self.others:
            other.capture.tally.add_steady(other.capture.engine)
            self.first.include(other.share_counts)
        return bytes(self.lines)

    def pass_on(self, *, last: bool) -> bool:
        for other, room, size in zip(self.others, self.rooms, self.dealer.sizes(), strict=True):
            other.receive_dealt(memoryview(room)[:size], last=last)
        self.dealer.open(self.rooms)
        return self.merger.merge([part_of(each) for each in self.all]) is not None


def assert_same(paths: list[Any], count: int, **options: Any) -> bytes:
    names = [str(path) for path in paths]
    lines, whole = one(names, **options)
    together = Together(names, count, **options)
    first = together.first
    assert together.read() == lines
    assert first.share_counts == Counts(
        whole.tally,
        whole.passed,
        whole.engine.connections,
        whole.engine.ignored,
        whole.engine.duplicate,
        whole.engine.stray,
    )
    assert first.capture.tally.unaccounted(first.capture.engine) == whole.tally.unaccounted(whole.engine) == 0
    return lines


@pytest.mark.parametrize("count", [2, 3, 40])
@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["java44-txn.pcap"], {}),
        (["java44-consume-classic.pcap", "java44-txn.pcap"], {"chosen": Filter(apis=frozenset({1, 3}))}),
        (["kcat-codecs.pcap", "old-librdkafka-on-3.9.pcap"], {"records": "full"}),
        (["sasl-plain-scram.pcap", "tls.pcap"], {}),
        (["ipv6.pcapng"], {"ports": [21300]}),
    ],
)
def test_together_they_are_all(
    names: list[str], options: dict[str, Any], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture_file, "PIECE", 8192)
    assert assert_same([SAMPLES / name for name in names], count, **options)


def busy(seed: int) -> list[Packet]:
    """Packets of many connections, some lost, repeated, late, or of connections that fall silent."""
    chance = random.Random(seed)
    made: list[Packet] = []
    for name in ("java44-txn.pcap", "kcat-codecs.pcap", "java44-consume-classic.pcap", "sasl-plain-scram.pcap"):
        packets = packets_of(SAMPLES / name)
        start = packets[0].ns
        for copy in range(3):
            later = chance.choice([0, 1, 20 * MINUTE])
            for packet in packets:
                data = bytearray(packet.data)
                data[29] ^= copy  # another address at one end; the other end's packets
                data[33] ^= copy
                ns = 1_700_000_000_000_000_000 + (packet.ns - start) + later
                for _ in range(chance.choices([0, 1, 2], [0.05, 0.93, 0.02])[0]):
                    made.append(Packet(ns + chance.choice([0, 0, 0, 700_000_000]), bytes(data), packet.length))
    return sorted(made, key=lambda packet: packet.ns)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_lost_late_or_silent_stands_where_it_would(seed: int, tmp_path: Path) -> None:
    data = bytearray(pcap(busy(seed)))
    chance = random.Random(seed)
    for _ in range(20):
        data[chance.randrange(24, len(data))] ^= 1 << chance.randrange(8)
    file = tmp_path / "busy.pcap"
    file.write_bytes(data)
    lines = assert_same([file, DATA / "kraft-boot.pcap.zst"], 2 + seed)
    assert b'"event"' in lines


@pytest.mark.parametrize(("memory", "exceeded"), [(1 << 28, False), (2000, True)])
def test_too_much_for_a_share_is_said(memory: int, exceeded: bool) -> None:
    together = Together([str(SAMPLES / "java44-txn.pcap")], 2, memory=memory)
    together.read()
    assert any(each.capture.engine.order.exceeded for each in together.all) is exceeded


def test_what_holds_too_much_reads_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_file, "PIECE", 4096)
    path = str(SAMPLES / "java44-txn.pcap")
    whole, ended = Together([path], 1), Together([path], 1, memory=2000)
    whole.read()
    ended.read()
    assert 0 < ended.first.capture.engine.packets < whole.first.capture.engine.packets


def test_secrets_in_a_capture_may_be_those_of_any_connection() -> None:
    source = Share(as_lines([str(SAMPLES / "tls.pcap")]))
    source.take_share(2)
    source.capture.handover.add_secrets(b"# nothing")
    assert source.capture.engine.order.exceeded
