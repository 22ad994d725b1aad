"""`kcli down-convert` as a script sees it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.options.inputs import Size
from kcli.records import FetchSend, Slice, cut_slice, down_convert
from kcli.records.builder import build_batch, build_marker
from tests.records.vectors import named


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(named("idempotent"))
    return path


def convert(*arguments: object) -> int:
    return main(["down-convert", *map(str, arguments)])


def test_a_segment(segment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert convert(segment, "--to-magic", 1, "-o", out) == 0
    assert out.read_bytes() == b"".join(down_convert(segment.read_bytes(), 1))
    assert convert(segment, segment, "--to-magic", 0, "-o", out, "--chunk-size", "1k") == 0
    assert out.read_bytes() == b"".join(down_convert(segment.read_bytes(), 0)) * 2


@pytest.mark.parametrize("tail", ["kafka", "kip"])
def test_what_a_broker_sends(segment: Path, tmp_path: Path, tail: str) -> None:
    out = tmp_path / "out"
    extra = ["--fetch-size", 900, "--first-offset", 7, "--tail", tail]
    assert convert(segment, "--to-magic", 1, "-o", out, *extra) == 0
    part = cut_slice(Slice.of(segment.read_bytes()), 900, 7)
    assert out.read_bytes() == b"".join(FetchSend(part, 1, 7, tail=tail)) and out.stat().st_size == 900


def test_first_offset_begins_at_its_batch(segment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert convert(segment, "--to-magic", 1, "-o", out, "--first-offset", 7) == 0
    assert int.from_bytes(out.read_bytes()[:8], "big") == 7
    assert convert(segment, "--to-magic", 1, "-o", out, "--first-offset", 700) == 0 and out.read_bytes() == b""
    assert convert(segment, "--to-magic", 1, "-o", out, "--first-offset", 10**30) == 0 and out.read_bytes() == b""


def test_zstd_is_refused_behind_what_could_be_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "z.log", tmp_path / "out"
    path.write_bytes(named("zstd-after-others"))
    assert convert(path, "--to-magic", 1, "-o", out) == 3
    error = capsys.readouterr().err
    assert "UNSUPPORTED_COMPRESSION_TYPE" in error and str(path) in error and error.count("\n") == 1
    assert error.endswith(f"; {out} is incomplete\n") and out.stat().st_size > 2000


@pytest.mark.parametrize("name", ["zero-tail", "length-negative", "count-more", "lz4-corrupt", "value-length-long"])
def test_damage_is_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.log"
    path.write_bytes(named(name))
    assert convert(path, "--to-magic", 1, "-o", tmp_path / "out") == 3
    error = capsys.readouterr().err
    assert error.startswith(f"kcli: {path}: ") and "0x" in error and error.count("\n") == 1


def test_a_cut_batch_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.log"
    path.write_bytes(named("idempotent")[:-9])
    assert convert(path, "--to-magic", 1, "-o", tmp_path / "out") == 0
    assert "left out" in capsys.readouterr().err
    assert convert(path, "--to-magic", 1, "-o", tmp_path / "out", "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_a_plan(segment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(segment, "--to-magic", 1, "--plan", "--format", "json") == 0
    row = json.loads(capsys.readouterr().out)
    size = len(b"".join(down_convert(segment.read_bytes(), 1)))
    assert (row["bytesBefore"], row["bytesAfter"], row["records"]) == (segment.stat().st_size, size, 20)
    assert row["peakBytesWhole"] == row["bytesBefore"] + size and not row["estimated"] and row["refused"] is None
    headed = tmp_path / "h.log"
    headed.write_bytes(named("none-append") + named("zstd-create"))
    assert convert(headed, "--to-magic", 0, "--plan") == 0
    out = capsys.readouterr().out
    assert "18 records lose their headers" in out and "stops:" in out
    assert "(the conversion's exit code is 3)" in out


def test_a_plan_counts_what_is_dropped_and_what_becomes_plain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Control batches go; records of an aborted transaction can't be told from others any more."""
    path, offset, parts = tmp_path / f"{0:020d}.log", 0, []
    for producer, commit in ((7, False), (8, True), (7, True)):
        rows = [(1, None, b"v", ())] * 3
        parts.append(build_batch(rows, offset, producer_id=producer, producer_epoch=0, transactional=True))
        parts.append(build_marker(commit, 1, offset + 3, producer, 0, 0))
        offset += 4
    path.write_bytes(b"".join(parts))
    assert convert(path, "--to-magic", 1, "--plan", "--format", "json") == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["controlBatchesDropped"], row["abortedRecordsPlain"], row["exit"]) == (3, 3, 0)


@pytest.mark.parametrize(
    ("text", "size"), [("7", 7), ("128k", 131072), ("1M", 1 << 20), ("2 GiB", 2 << 30), ("9" * 30, 1 << 62)]
)
def test_sizes(text: str, size: int) -> None:
    assert Size().convert(text, None, None) == size


def test_usage(segment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert(segment, "--to-magic", 2, "-o", tmp_path / "out") == 2
    assert convert(segment, "--to-magic", 1, "-o", tmp_path / "out", "--chunk-size", "0") == 2
    assert convert(segment, "--to-magic", 1, "-o", tmp_path / "out", "--chunk-size", "many") == 2
    assert convert(tmp_path / "none", "--to-magic", 1, "-o", tmp_path / "out") == 3
    (tmp_path / "empty").mkdir()
    assert convert(tmp_path / "empty", "--to-magic", 1, "-o", tmp_path / "out") == 3
    assert "no log segment (*.log) in this directory" in capsys.readouterr().err


def test_a_directory_is_its_segments(segment: Path, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert convert(segment, "--to-magic", 1, "-o", whole) == 0
    (tmp_path / "folder").mkdir()
    for name in ("00000000000000000000.log", "00000000000000000999.log"):
        (tmp_path / "folder" / name).write_bytes(segment.read_bytes())
    (tmp_path / "folder" / "leader-epoch-checkpoint").write_text("0")
    assert convert(tmp_path / "folder", "--to-magic", 1, "-o", parts) == 0
    assert parts.read_bytes() == whole.read_bytes() * 2


@pytest.mark.parametrize("extra", [[], ["--fetch-size", "700"]])
def test_a_pipe(segment: Path, extra: list[str]) -> None:
    command = [sys.executable, "-m", "kcli.cli", "down-convert", "-", "--to-magic", "1", *extra]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        command, input=segment.read_bytes(), capture_output=True, check=True, env=environment, timeout=60
    )
    data = segment.read_bytes()
    expected = FetchSend(cut_slice(Slice.of(data), 700), 1) if extra else down_convert(data, 1)
    assert run.stdout == b"".join(expected)
