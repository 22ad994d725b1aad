"""`kcli capture`, with a tcpdump that plays a sample."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.cli.capture.test_packet_capture import tool
from tests.processes import ended, on_full_disk


@pytest.fixture
def plays(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """tcpdump plays this capture and ends."""
    file = samples / "kcat-codecs.pcap"
    folder = tmp_path / "bin"
    folder.mkdir()
    tool(folder, "tcpdump", f'echo "$@" > {tmp_path}/words; cat "{file}"; echo 3 packets dropped by kernel >&2')
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return file.read_bytes()


def test_what_comes_is_shown_and_saved(plays: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.pcap"
    arguments = ["-i", "eth7", "--format", "jsonl", "--api", "Produce", "-o", str(out)]
    assert main(["capture", *arguments]) == 0
    shown, said = capfd.readouterr()
    assert {json.loads(line)["requestHeader"]["requestApiKeyName"] for line in shown.splitlines()} == {"PRODUCE"}
    assert "the kernel dropped 3 packets" in said and said.endswith(f"\nNext: kcli {out}\n")
    assert out.read_bytes() == plays
    assert (tmp_path / "words").read_text().startswith("-i eth7 ")


def test_a_port_is_for_capturing_and_showing(plays: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", "--port", "1", "--format", "jsonl", "-q"]) == 0
    assert capfd.readouterr() == ("", "")
    assert (tmp_path / "words").read_text().strip().endswith("tcp and (port 1)")


def test_the_latest_in_a_directory(plays: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "recorder"
    assert main(["capture", "--last", "10m", "--size", "1G", "-o", str(folder), "-q"]) == 0
    assert b"".join(path.read_bytes() for path in folder.iterdir()) == plays
    assert main(["decode", "pcap", str(folder), "--format", "jsonl", "-q"]) == 0
    assert capfd.readouterr().out.count("PRODUCE") > 3


def test_what_is_held_around_an_exchange_is_saved(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And nothing where there is none."""
    file = samples / "kcat-codecs.pcap"
    tool(tmp_path, "tcpdump", f'cat "{file}"')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    for when, saved in (("api = 'Produce'", True), ("latency_ms > 1e9", False)):
        folder = tmp_path / when[:3]
        assert main(["capture", "--last", "10m", "-o", str(folder), "-q", "--when", when]) == 0
        moments = [path for path in folder.iterdir() if path.is_dir()]
        said = capfd.readouterr().err
        assert ("are saved in" in said) == saved == bool(moments)
        for moment in moments:
            assert b"".join(path.read_bytes() for path in moment.iterdir()) == file.read_bytes()


PLAYS_ON = 'trap "exit 0" INT; cat "{0}"; while :; do sleep 0.05; tail -c +25 "{0}"; done'


def test_a_capture_that_is_killed_has_what_came_before(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = samples / "kcat-codecs.pcap"
    tool(tmp_path, "tcpdump", f'cat "{file}"; kill -KILL $$')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    for name, options in (("out", ["-q"]), ("recorder", ["-q", "--last", "1m"])):
        path = tmp_path / name
        assert main(["capture", "-o", str(path), *options]) == 4
        assert capfd.readouterr().err == f"kcli: {tmp_path}/tcpdump: ended by SIGKILL\n"
        kept = path.read_bytes() if path.is_file() else b"".join(each.read_bytes() for each in path.iterdir())
        assert kept == file.read_bytes()


def test_it_does_not_go_on_without_what_looks_for_moments(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tool(tmp_path, "tcpdump", PLAYS_ON.format(samples / "kcat-codecs.pcap"))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert main(["capture", "-o", str(tmp_path / "x"), "--last", "1m", "-q", "--when", "api::int > 3"]) == 3
    cause, end = capfd.readouterr().err.splitlines()
    assert "Conversion Error" in cause
    assert "--when" in end


def test_a_directory_that_takes_no_more(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tool(tmp_path, "tcpdump", PLAYS_ON.format(samples / "kcat-codecs.pcap"))
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "x"
    words = ["capture", "-o", str(folder), "--last", "1m", "-q", "--when", "latency_ms > 1e9"]
    done = on_full_disk(words, 20_000)
    (path,) = folder.iterdir()
    assert (done.returncode, done.stderr) == (3, f"kcli: {path}: File too large\n")
    assert 24 <= path.stat().st_size <= 20_000, "whole packets, as many as fit"


def test_it_ends_when_nobody_looks_any_more(samples: Path, tmp_path: Path) -> None:
    tool(tmp_path, "tcpdump", PLAYS_ON.format(samples / "kcat-codecs.pcap"))
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "kcli.cli", "capture", "--format", "jsonl", "-q"]
    pipe = subprocess.PIPE
    with ended(subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment)) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def test_ctrl_c_ends_it(samples: Path, tmp_path: Path) -> None:
    file = samples / "kcat-codecs.pcap"
    tool(tmp_path, "tcpdump", f'trap "exit 0" INT; cat "{file}"; while :; do sleep 0.05; done')
    command = [sys.executable, "-m", "kcli.cli", "capture", "--format", "jsonl"]
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    pipe = subprocess.PIPE
    with ended(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())  # shown while it goes on
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.count("\n") > 3
    assert "every byte accounted for" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--last", "10m"], 2, "-o DIR is missing"),
        (["--last", "soon", "-o", "x"], 2, "a duration expected"),
        (["--last", "0s", "-o", "x"], 2, "a duration expected"),
        (["--when", "latency_ms > 1"], 2, "--last or --size is missing"),
        (["--last", "1m", "-o", "x", "--when", "no_such > 1"], 2, "--when: no_such > 1"),
        (["-o", "-", "--format", "table"], 2, "can't both go to standard output"),
        (["-o", "/no/such/folder/x"], 3, "/no/such/folder/x"),
    ],
)
def test_what_makes_no_sense(
    arguments: list[str],
    code: int,
    complaint: str,
    plays: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert main(["capture", *arguments]) == code
    assert list(Path().iterdir()) == []
    said = capsys.readouterr().err
    assert complaint in said
    assert "Traceback" not in said


def test_one_that_may_not_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tool(tmp_path, "tcpdump", "echo tcpdump: eth0: no such device >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert main(["capture"]) == 4
    (line,) = capfd.readouterr().err.splitlines()
    assert "no such device" in line


def test_tls_is_read_with_a_key_log(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tool(tmp_path, "tcpdump", f'cat "{samples / "tls.pcap"}"')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    keys = ["--key-log", str(samples / "tls.keys")]
    assert main(["capture", "--format", "jsonl", "-q", *keys]) == 0
    assert capfd.readouterr().out.count('"requestHeader"') == 38
