"""Capture files: compression, damage, the end in mid-packet, standard input."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kcli.capture.api import read_capture
from kcli.capture.io import files
from kcli.capture.io.capture_file import CaptureFile
from kcli.capture.io.files import run_source
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.errors import InputError
from tests.capture.decoding import as_values, pieces
from tests.capture.messages import metadata
from tests.capture.wires import SAMPLES, Wire, pcap, pcapng
from tests.processes import ended

TXN = (SAMPLES / "java44-txn.pcap").read_bytes()


def everything(path: Path) -> tuple[list[Exchange | Event], str | None]:
    """What could be read, and the error at the end."""
    items = []
    try:
        for item in read_capture(path).items():
            items.append(item)
    except InputError as error:
        return items, str(error).removeprefix(f"{path}: ")
    return items, None


def lines(path: Path) -> list[bytes]:
    return [item.line() for item in everything(path)[0]]


def written(folder: Path, data: bytes) -> Path:
    path = folder / "made"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, lambda data: gzip.compress(data[:500]) + gzip.compress(data[500:]), zstandard.compress,
     lambda data: zstandard.compress(data[:500]) + zstandard.compress(data[500:])],
)  # fmt: skip
def test_compressed_files_are_read_as_they_are(tmp_path: Path, engine: str, pack: object) -> None:
    assert lines(written(tmp_path, pack(TXN))) == lines(SAMPLES / "java44-txn.pcap")  # type: ignore[operator]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_files_cut_or_damaged(tmp_path: Path, engine: str, pack: object) -> None:
    packed = pack(TXN)  # type: ignore[operator]
    items, error = everything(written(tmp_path, packed[: len(packed) * 2 // 3]))
    assert error is not None and ("decompressed" in error or "middle of a packet" in error or "empty" in error)
    assert len(items) > 5 or pack is zstandard.compress  # zstd's blocks are bigger than this file
    damaged = bytearray(packed)
    damaged[len(packed) // 2 : len(packed) // 2 + 40] = bytes(40)
    items, error = everything(written(tmp_path, bytes(damaged)))
    assert error is not None
    assert everything(written(tmp_path, packed[:9]))[1] is not None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a capture: empty"),
        (b"\xd4", "not a capture: only 1 byte "),
        (b"GIF89a" + bytes(50), "not a capture: starts with 'GIF89a\\x00\\x00' ("),
        (bytes(100), "not a capture: starts with 00 00 00 00 00 00 00 00 ("),
        (b"\n\r\r\n" + bytes(60), "a section header without its byte-order magic"),
    ],
)
def test_what_is_no_capture_says_so(tmp_path: Path, engine: str, data: bytes, message: str) -> None:
    items, error = everything(written(tmp_path, data))
    assert error is not None and message in error
    assert not [item for item in items if isinstance(item, Exchange)]


def test_a_capture_of_nothing_is_one(tmp_path: Path, engine: str) -> None:
    assert everything(written(tmp_path, pcap([]))) == ([], None)


def test_a_file_that_ends_in_mid_packet(tmp_path: Path, engine: str) -> None:
    items, error = everything(written(tmp_path, TXN[:-7]))
    assert error == "the file ends in the middle of a packet, 75 bytes into it, at 0xf568"
    event = items[0] if isinstance(items[0], Event) else items[-1]
    cut = next(item for item in items if isinstance(item, Event))
    assert (cut.kind, cut.offset, cut.size, cut.connection) == ("truncated", 0xF568, 75, None)
    assert cut.file and event
    assert sum(isinstance(item, Exchange) for item in items) == 78


def test_damage_in_mid_file_is_passed_over_and_said(tmp_path: Path, engine: str) -> None:
    data = bytearray(TXN)
    data[20_000:20_300] = b"\xff" * 300
    items, error = everything(written(tmp_path, bytes(data)))
    assert error is not None and "makes no sense at 0x" in error and "passed over" in error
    assert sum(isinstance(item, Exchange) for item in items) > 60
    assert any(isinstance(item, Event) and item.file and item.kind == "undecodable" for item in items)


def test_damaged_blocks_are_passed_over(tmp_path: Path, engine: str) -> None:
    wire = Wire().open()
    for number in range(1, 12):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    data = bytearray(pcapng(wire.packets))
    start = data.index(wire.packets[9].data) - 28
    data[start + 4 : start + 8] = b"\xff" * 4
    items, error = everything(written(tmp_path, bytes(data)))
    assert error is not None and "block" in error
    assert sum(isinstance(item, Exchange) for item in items) >= 8


def test_a_missing_file_and_a_folder(tmp_path: Path, engine: str) -> None:
    assert everything(tmp_path / "none")[1] == "No such file or directory"
    assert "no capture in this directory" in (everything(tmp_path)[1] or "")


def test_standard_input_is_read_as_it_comes() -> None:
    program = "from kcli import read_capture; [print(i.api_name, flush=True) for i in read_capture(['-']).items()]"
    command = [sys.executable, "-c", program]
    with ended(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as process:
        assert process.stdin and process.stdout
        process.stdin.write(TXN[:3000])
        process.stdin.flush()
        assert process.stdout.readline() == b"API_VERSIONS\n"  # long before the end
        process.stdin.write(TXN[3000:])
        process.stdin.close()
        assert process.stdout.read().count(b"\n") == 77
    assert process.returncode == 0


def test_compressed_standard_input() -> None:
    program = "from kcli import read_capture; print(sum(1 for _ in read_capture(['-']).items()))"
    for data in (gzip.compress(TXN), zstandard.compress(TXN)):
        run = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
        assert run.stdout == b"78\n"


def test_the_buffer_grows_for_a_packet_that_is_bigger(tmp_path: Path) -> None:
    file = CaptureFile(str(written(tmp_path, bytes(3_000_000))))
    while file.fill():
        pass
    assert len(file.data) == 3_000_000
    file.close()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_files_that_take_turns_are_counted_once(tmp_path: Path, engine: str, pack: Callable[[bytes], bytes]) -> None:
    wires = [Wire(client=("10.0.0.1", 40000 + number)).open() for number in range(3)]
    for number in range(50):
        for wire in wires:
            wire.client(metadata(number)[0]).server(metadata(number)[1])
    paths = [tmp_path / f"{number}.pcap" for number in range(len(wires))]
    for path, wire in zip(paths, wires, strict=True):
        path.write_bytes(pack(pcap(wire.packets)))
    moved: list[int] = []
    source = as_values([str(path) for path in paths])
    sizes = [len(source.sink.taken()) for _ in source.read(moved.append)]
    assert [size for size in sizes if size] == [150 - 2, 1, 1]  # one piece of a file each
    assert sum(moved) == sum(path.stat().st_size for path in paths)


def test_turns_follow_time_past_damage(tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wires = [Wire(client=("10.0.0.1", 40000 + number)).open() for number in range(3)]
    for number in range(50):
        for wire in wires:
            wire.client(metadata(number)[0]).server(metadata(number)[1])
    captures = [bytearray(pcap(wire.packets)) for wire in wires]
    captures[1][2000:2300] = b"\xff" * 300
    paths = [str(tmp_path / f"{number}.pcap") for number in range(len(wires))]
    for path, data in zip(paths, captures, strict=True):
        Path(path).write_bytes(data)
    calls: list[Any] = []

    def counted(*args: Any) -> Any:
        calls.append(args)
        return run_source(*args)

    monkeypatch.setattr(files, "run_source", counted)
    items: list[Exchange | Event] = []
    with pytest.raises(InputError, match="bytes passed over"):
        for part in pieces(as_values(paths)):
            items += part
    whole = [item for item in items if isinstance(item, Exchange) and not item.link.client.endswith(":40001")]
    times = [item.response_ns or 0 for item in whole]
    assert len(times) == 100 and times == sorted(times)
    assert [item.file for item in items if isinstance(item, Event) and item.file] == [paths[1]]
    assert len(calls) < 10  # all other turns are short
