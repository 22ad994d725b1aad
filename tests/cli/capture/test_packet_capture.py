"""tcpdump's output in whole packets, and what it says at its end."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from kcli.cli.capture import packet_capture
from kcli.cli.capture.packet_capture import (
    PacketBlock,
    PacketCapture,
    PieceReader,
    capture_filter,
    capture_words,
    why_ended,
)
from kcli.errors import NetworkError, UsageError


def test_pieces_are_whole_packets_wherever_the_stream_is_cut(samples: Path) -> None:
    data = (samples / "kcat-codecs.pcap").read_bytes()
    for step in (1, 17, 24, 1000, len(data)):
        reader, pieces = PieceReader(), list[PacketBlock]()
        for start in range(0, min(len(data), 4000 if step == 1 else len(data)), step):
            if (piece := reader.feed(data[start : start + step])) is not None:
                pieces.append(piece)
                alone = PieceReader()
                assert alone.feed(reader.header + piece.packets) == PacketBlock(piece.packets, piece.time)
        whole = reader.header + b"".join(piece.packets for piece in pieces)
        assert data.startswith(whole)
        assert step == 1 or whole == data


def test_what_is_captured() -> None:
    assert capture_filter([]) == "tcp"
    assert capture_filter([9092, 9093]) == "tcp and (port 9092 or port 9093)"
    assert capture_filter([], ["10.0.0.7", "fd00::/8"]) == "tcp and (host 10.0.0.7 or net fd00::/8)"
    assert capture_filter([1], ["kafka-1.example", "::1"]) == "tcp and (port 1) and (host kafka-1.example or host ::1)"
    for host in ("", "a b", "a or udp", "-i", "a)", "10.0.0.0/8/8", "!a", "a\nb"):
        with pytest.raises(UsageError, match="a name, an address, or a network"):
            capture_filter([], [host])


def test_tcpdump_or_dumpcap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs tcpdump or dumpcap"):
        capture_words("lo", [])
    for name in ("dumpcap", "tcpdump"):
        tool(tmp_path, name, "")
        words = capture_words("lo", [9092])
        assert words[0] == str(tmp_path / name)
        assert words[words.index("-i") + 1] == "lo"
        assert words[words.index("-w") + 1] == "-"
        assert words[-1] == "tcp and (port 9092)"


def tool(folder: Path, name: str, script: str) -> Path:
    """A program of that name."""
    made = folder / name
    made.write_text(f"#!/bin/sh\n{script}\n")
    made.chmod(0o755)
    return made


async def taken(packets: PacketCapture, stops: bool = False) -> bytes:
    found = b""
    async for piece in packets.pieces():
        found += piece.packets
        if stops:
            packets.stop()
    return packets.reader.header + found


@pytest.mark.parametrize(
    ("said", "dropped"),
    [
        ("12 packets captured\n15 packets received by filter\n3 packets dropped by kernel", 3),
        ("Packets received/dropped on interface 'any': 10/4 (pcap:4/dumpcap:0/flushed:0/ps_ifdrop:0)", 4),
        ("Packets received/dropped on interface 'Loopback: lo': 10/4 (pcap:4/dumpcap:0/flushed:0) (28.6%)", 4),
        ("1 packet captured\n1 packet dropped by kernel", 1),
        ("", 0),
    ],
)
def test_what_the_kernel_dropped(said: str, dropped: int, samples: Path, tmp_path: Path) -> None:
    file = samples / "kcat-codecs.pcap"
    packets = PacketCapture([str(tool(tmp_path, "x", f'cat "{file}"; cat >&2 <<E\n{said}\nE'))])
    assert asyncio.run(taken(packets)) == file.read_bytes()
    assert packets.dropped == dropped


def test_it_stops(samples: Path, tmp_path: Path) -> None:
    file = samples / "kcat-codecs.pcap"
    script = f'trap "echo 2 packets dropped by kernel >&2; exit 0" INT; cat "{file}"; while :; do sleep 0.05; done'
    packets = PacketCapture([str(tool(tmp_path, "x", script))])
    assert asyncio.run(taken(packets, stops=True)) == file.read_bytes()
    assert packets.dropped == 2


def test_one_that_may_not_capture(tmp_path: Path) -> None:
    script = 'echo "tcpdump: eth0: You don\'t have permission to perform this capture on that device" >&2; exit 1'
    with pytest.raises(NetworkError, match="You don't have permission"):
        asyncio.run(taken(PacketCapture([str(tool(tmp_path, "x", script))])))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("kill -KILL $$", "ended by SIGKILL"),
        ("exit 7", "ended with exit code 7"),
        (
            "cat >&2 <<E\ntcpdump: listening on x\ntcpdump: link is gone\n1 packet dropped by kernel\nE\nexit 1",
            "x: tcpdump: link is gone$",
        ),
    ],
)
def test_one_that_fails_later(script: str, why: str, samples: Path, tmp_path: Path) -> None:
    file = samples / "kcat-codecs.pcap"
    packets = PacketCapture([str(tool(tmp_path, "x", f'cat "{file}"; {script}'))])
    got = 0

    async def take() -> None:
        nonlocal got
        async for piece in packets.pieces():
            got += len(piece.packets)

    with pytest.raises(NetworkError, match=why):
        asyncio.run(take())
    assert got == file.stat().st_size - len(packets.reader.header)
    assert packets.dropped == ("dropped" in script)


def test_whoever_takes_packets_fails(samples: Path, tmp_path: Path) -> None:
    """The capture ends with it, whatever it still has to say, and leaves nothing behind."""
    file = samples / "kcat-codecs.pcap"
    script = f'trap "exit 0" INT; while :; do cat "{file}"; done'
    packets = PacketCapture([str(tool(tmp_path, "x", script))])

    async def take() -> None:
        async with contextlib.aclosing(packets.pieces()) as pieces:
            async for _ in pieces:
                raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        asyncio.run(take())
    assert packets.process.returncode == 0


def test_what_is_dropped_meanwhile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packet_capture, "ASK_S", 0.05)
    dropped: list[int] = []
    script = """
n=0; trap 'n=$((n + 2)); echo "tcpdump: 9 packets captured, $n packets dropped by kernel" >&2' USR1
trap 'exit 0' INT; while :; do sleep 0.02; done"""
    packets = PacketCapture([str(tool(tmp_path, "tcpdump", script))], lambda count: stop_at(packets, dropped, count))
    asyncio.run(taken(packets))
    assert dropped == [2, 4] and packets.dropped >= 4


def stop_at(packets: PacketCapture, dropped: list[int], count: int) -> None:
    dropped.append(count)
    if len(dropped) == 2:
        packets.stop()


def test_how_a_tool_that_says_nothing_ended() -> None:
    assert [why_ended("", code) for code in (0, 1, -9)] == [
        "ended with exit code 0", "ended with exit code 1", "ended by SIGKILL",
    ]  # fmt: skip
