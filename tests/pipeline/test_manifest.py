"""Manifests: what they may say, and that captures which they vouch for are read once."""

import hashlib
import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.errors import InputError
from kcli.pipeline.context import Options
from kcli.pipeline.manifest import LONGEST, captures_of
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.storage import StoredFile, gather
from tests.pipeline.outputs import Here, assert_decoded, rows_of
from tests.pipeline.test_run import rotated


def said(path: Path, **more: object) -> str:
    return json.dumps({"path": str(path), "size": path.stat().st_size, "mtime": path.stat().st_mtime} | more)


def named(*lines: str | bytes) -> list[StoredFile]:
    text = b"\n".join(each.encode() if isinstance(each, str) else each for each in lines)
    return captures_of(io.BytesIO(text), "list")


def test_a_line_is_a_path_or_json(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = samples / "ipv6.pcapng"
    monkeypatch.chdir(samples)
    [plain] = gather([str(path)])
    vouched = replace(plain, vouched=True)
    assert named(str(path)) == named("", "  ipv6.pcapng\r", str(path)) == [plain]
    assert named(said(path, etag="x")) == named(said(path, mtime="2026-11-21T08:00:00Z")) == [vouched]
    assert named(json.dumps({"path": str(path), "size": 5})) == named(json.dumps({"path": str(path)})) == [plain]
    assert named(said(path), str(samples / "tls.pcap"))[1].vouched is False
    assert named() == []


def test_what_is_in_a_store_elsewhere_is_not_looked_up() -> None:
    """There is no such bucket, and nobody asks for it."""
    uri = "s3://fleet/b1/a.pcap?region=us-east-1"
    assert named(json.dumps({"path": uri, "size": 7, "mtime": 1.5})) == [StoredFile(uri, 7, 1.5, vouched=True)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("/no/where.pcap", "/no/where.pcap: No such file"),
        ("/", "/: not a file"),
        ("{", "not JSON of a capture: line 1, column 2"),
        ("{" * 60_000, "not JSON of a capture"),
        ('{"a":' * 12_000, "nested too deep"),
        ("{}", "no path"),
        ('{"path": 5}', "no path"),
        ('{"path": "a\\u0000b"}', "no path"),
        ('{"path": "a", "size": -1}', "size: a number of bytes expected"),
        ('{"path": "a", "size": true}', "size: a number of bytes expected"),
        ('{"path": "a", "mtime": "yesterday"}', "mtime: "),
        ('{"path": "a", "mtime": NaN}', "mtime: "),
        ('{"path": "ftp2://a/b", "size": 1, "mtime": 1}', "ftp2://a/b: "),
        (b"a\xff", "byte 1 is not UTF-8"),
        ("x" * (LONGEST * 3), "longer than 65,536 bytes"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(line: str | bytes, why: str) -> None:
    with pytest.raises(InputError) as refused:
        named("", line, "never/read")
    assert str(refused.value).startswith("list: line 2: ")
    assert why in str(refused.value)


def run(output: Path, *lines: str) -> tuple[int, int, list[int]]:
    made = run_pipeline(Here(), named(*lines), Options(str(output)))
    return made.files, made.skipped, made.redone


def test_captures_that_are_vouched_for_are_not_opened_for_a_fingerprint(
    samples: Path, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come in any order over runs, and grow, like all others."""
    first, second = rotated(samples, tmp_path, 2)
    monkeypatch.setattr(hashlib, "blake2b", None)
    assert run(output, said(second)) == (1, 0, [])
    assert run(output, said(first), said(second)) == (2, 1, [1])
    assert run(output, said(second), str(first)) == (0, 2, [])
    assert_decoded(output, [samples / "java44-txn.pcap"])


def test_one_that_has_changed_since_is_not_taken_for_the_same(samples: Path, tmp_path: Path, output: Path) -> None:
    first, second = rotated(samples, tmp_path, 2)
    assert run(output, said(second))[0] == 1
    second.write_bytes(bytes(second.stat().st_size))
    os.utime(second, (5, 5))
    made = run_pipeline(Here(), named(said(first)), Options(str(output)))
    assert made.redone == [] and f"{second}: gone or changed since run 1" in made.notes[0]


WORDS = ["pipeline", "run", "--engine", "local", "--table-format", "parquet", "--quiet"]


def test_a_manifest_on_standard_input(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*WORDS, "--output", str(tmp_path / "out"), "--manifest", "-"]
    lines = f"{said(samples / 'ipv6.pcapng')}\n{samples / 'kcat-codecs.pcap'}\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert main(words) == 0
    assert_decoded(tmp_path / "out", [samples / "ipv6.pcapng", samples / "kcat-codecs.pcap"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main([each for each in words if each != "--quiet"]) == 0
    assert capsys.readouterr().err == "nothing new: 0 files were read before\n"
    assert main([*words, "--stream"]) == 2
    assert main([*WORDS[:-1], "--output", str(tmp_path / "new")]) == 2
    assert "--input or --manifest is missing" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\x1b[31m\n")))
    assert main(words) == 3
    assert capsys.readouterr().err.startswith("kcli: standard input: line 1: \\x1b[31m: No such file")


def test_a_stream_reads_its_manifest_again(samples: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list"
    listed.write_text(said(samples / "ipv6.pcapng"))
    words = [*WORDS, "--output", str(tmp_path / "out"), "--manifest", str(listed), "--stream", "--idle", "0"]
    assert main([*words, "--settle", "0"]) == 0
    assert rows_of(tmp_path / "out", "exchanges")
    page = [*words, "--report", str(listed)]
    assert main(page) == 2
