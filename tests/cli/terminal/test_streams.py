"""Streams that the shell has closed, or that nobody can write to: the right exit code, and no traceback."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.cli.terminal.streams import write_all
from kcli.named_file import NamedFile
from tests.processes import ended

KCLI = f"{sys.executable} -m kcli.cli"
REFUSED = "kcli: standard output: Bad file descriptor\n"
FULL = "kcli: standard output: No space left on device\n"


def shell(command: str, samples: Path) -> tuple[int, str, str]:
    """A command with `kcli` and `SAMPLE` in it: exit code, standard output, standard error."""
    text = command.replace("SAMPLE", str(samples / "ipv6.pcapng"))
    done = subprocess.run(
        ["bash", "-c", f'kcli() {{ {KCLI} "$@"; }}; {text}'], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("kcli decode pcap SAMPLE --quiet --format jsonl >&-", 3, REFUSED),
        ("kcli decode pcap SAMPLE --quiet --format tree >&-", 3, REFUSED),
        ("kcli schema list >&-", 3, REFUSED),
        ("kcli --help >&-", 3, REFUSED),
        ("kcli decode pcap SAMPLE --quiet > /dev/full", 3, FULL),
        ("kcli schema list > /dev/full", 3, FULL),
        ("kcli decode pcap SAMPLE --quiet -o /dev/null >&-", 0, ""),
        ("kcli decode pcap - <&-", 3, "kcli: standard input: not a capture: empty"),
        ("kcli decode request <&-", 3, "kcli: standard input: no bytes: a message expected"),
        ("kcli decode pcap none 2>&-", 3, ""),
        ("kcli decode pcap none 2> /dev/full", 3, ""),
        ("kcli decode pcap none <&- >&- 2>&-", 3, ""),
        ("kcli decode pcap SAMPLE <&- >&- 2>&-", 3, ""),
        ("kcli decode pcap none 2>&1 | true; exit ${PIPESTATUS[0]}", 3, ""),
        ("kcli decode pcap SAMPLE 2>&1 >/dev/null | true; exit ${PIPESTATUS[0]}", 0, ""),
        ("kcli decode pcap SAMPLE --quiet | true; exit ${PIPESTATUS[0]}", 0, ""),
    ],
)
def test_a_stream_that_is_not_there(command: str, code: int, said: str, samples: Path) -> None:
    done, _, errors = shell(command, samples)
    assert (done, errors[: len(said)] if said else errors) == (code, said)
    assert errors.count("\n") <= 1


def test_a_full_disk_is_named_beside_another_error(samples: Path) -> None:
    done, _, errors = shell("printf '\\0\\1\\0\\13\\0\\0' | kcli decode request --format tree > /dev/full", samples)
    first, second, *rest = errors.splitlines(keepends=True)
    assert (done, first, rest) == (3, FULL, []) and "needs 4 bytes" in second


def test_notes_that_nobody_reads_cost_no_data(samples: Path) -> None:
    plain = shell("kcli decode pcap SAMPLE", samples)
    assert plain[2].endswith("\n")
    assert shell("kcli decode pcap SAMPLE 2>&-", samples) == (0, plain[1], "")
    assert shell("kcli decode pcap SAMPLE 2> /dev/full", samples) == (0, plain[1], "")


@pytest.mark.parametrize("form", ["table", "jsonl", "tree"])
@pytest.mark.parametrize("left_out", [1, 17, 4001])
def test_an_interrupt_leaves_no_byte_unexplained(form: str, left_out: int, samples: Path) -> None:
    """Ctrl-C while a pipe is read, in the middle of a packet."""
    data = (samples / "java44-txn.pcap").read_bytes()[:-left_out]
    words = [*KCLI.split(), "decode", "pcap", "-", "--format", form]
    with ended(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)) as kcli:
        assert kcli.stdin
        assert kcli.stdout
        assert kcli.stderr
        kcli.stdin.write(data)
        kcli.stdin.flush()
        kcli.stdout.read(1)
        kcli.send_signal(signal.SIGINT)
        kcli.stdout.read()
        said = kcli.stderr.read().decode()
        kcli.stdin.close()
    assert kcli.returncode == 130
    assert "please report" not in said
    assert "Traceback" not in said
    assert "interrupted: " in said


@pytest.mark.parametrize("most", [1, 3, 5000, 1 << 20])
def test_many_pieces_whatever_the_system_takes_at_once(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def writev(file: int, pieces: list[memoryview]) -> int:
        calls.append(len(pieces))
        return os.write(file, b"".join(pieces)[:most])

    monkeypatch.setattr(os, "writev", writev)
    pieces = [memoryview(b"%d\n" % number * (number % 3)) for number in range(2500)]
    with io.BufferedWriter(NamedFile(str(tmp_path / "out"), "out")) as out:
        out.write(b"first\n")
        write_all(out, pieces)
        write_all(out, [])
    assert (tmp_path / "out").read_bytes() == b"first\n" + b"".join(pieces)
    assert max(calls) <= 1024 and (most < 1 << 20 or len(calls) == 3)


def test_what_can_not_be_written_has_the_name() -> None:
    with NamedFile("/dev/full", "disk") as full, pytest.raises(OSError, match="No space left on device: 'disk'"):
        full.write_all([memoryview(b"text")])
    plain = io.BytesIO()
    write_all(plain, [memoryview(b"a"), memoryview(b"b")])
    assert plain.getvalue() == b"ab"
