"""`kcli replay`: what it prints, its exit codes, its options."""

import asyncio
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kcli.broker.broker import Broker
from kcli.broker.embedded import EmbeddedBroker
from kcli.cli.main import main
from kcli.grammar import frames
from kcli.proxy.recording import Recorder
from kcli.schemas.errors import error_name
from tests.capture.wires import SAMPLES
from tests.greeting import GREET, greeting

KCAT, TXN = str(SAMPLES / "kcat-codecs.pcap"), str(SAMPLES / "java44-txn.pcap")
Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *words: str) -> tuple[int, str, str]:
    code = main(["replay", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_table_of_both_sides(capsys: Capture) -> None:
    code, out, err = run(capsys, KCAT, "--speed", "max", "-q")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("77 requests sent") and lines[0].endswith("no differences")
    at = next(number for number, line in enumerate(lines) if line.startswith("Produce"))
    assert lines[at].split()[:3] == ["Produce", "captured", "7"]
    assert lines[at + 1].split()[:2] == ["live", "7"]


def test_a_part_of_the_time(capsys: Capture) -> None:
    """As a capture of this time alone, of producers that began before it."""
    code, out, _ = run(capsys, TXN, "--speed", "max", "-q", "--format", "jsonl", "--since", "01:22:00")
    rows = {row["api"]: row for row in map(json.loads, out.splitlines())}
    assert code == 0
    main(["stats", TXN, "-q", "--format", "jsonl", "--since", "01:22:00", "--client", "lab-java*"])
    counts = {row["api"]: row["exchanges"] for row in map(json.loads, capsys.readouterr().out.splitlines())}
    for api, name in (("Produce", "PRODUCE"), ("EndTxn", "END_TXN")):
        assert 0 < rows[api]["captured"]["exchanges"] == rows[api]["live"]["exchanges"] == counts[name]
    code, out, err = run(capsys, TXN, "--until", "+1ms", "-q")
    assert (code, out) == (3, "") and "no request that can be replayed between --since and --until" in err
    code, out, err = run(capsys, TXN, "--where", "true")
    assert (code, out) == (2, "") and "--since and --until choose requests" in err


def test_what_is_left_out_is_said(capsys: Capture) -> None:
    code, out, err = run(capsys, TXN, "--speed", "max")
    assert (code, out.splitlines()[0].endswith("no differences")) == (0, True)
    assert "left out: 19 exchanges of brokers among themselves" in err


def test_lines_for_scripts_and_differences_in_full(capsys: Capture) -> None:
    """Transactions that nothing has begun."""
    options = ("--only", "EndTxn", "--speed", "max", "--format", "jsonl", "--show-difference", "1")
    code, out, _ = run(capsys, TXN, *options)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    (row,) = [row for row in rows if "skipped" in row]
    assert row["captured"]["exchanges"] == row["live"]["exchanges"] == 8
    assert row["differences"][0] == "errors: 1 PRODUCER_FENCED, live 5 INVALID_TXN_STATE"
    (pair,) = [row for row in rows if "difference" in row]
    assert pair["captured"]["response"]["errorCode"] == 0
    assert error_name(pair["live"]["response"]["errorCode"]) == "INVALID_TXN_STATE"


def test_one_object(capsys: Capture) -> None:
    code, out, _ = run(capsys, KCAT, "--speed", "max", "--format", "json", "--only", "Produce,Metadata", "--skip", "3")
    assert code == 0
    assert [row["api"] for row in json.loads(out)["apis"]] == ["Produce"]


def test_pairs_on_a_screen(capsys: Capture) -> None:
    _, out, _ = run(capsys, TXN, "--speed", "max", "-q", "--only", "EndTxn", "--show-difference", "20")
    assert "  differs: EndTxn: errors: 1 PRODUCER_FENCED, live 5 INVALID_TXN_STATE" in out
    assert "EndTxn: errors [], live ['INVALID_TXN_STATE']" in out
    assert "  live: {" in out


def test_standard_input_is_read_twice(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(KCAT).read_bytes())))
    code, out, _ = run(capsys, "-", "--speed", "max", "-q", "--only", "Produce")
    assert code == 0
    assert out.startswith("7 requests sent")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ([KCAT, "--only", "Produze"], 2, "no such API; did you mean Produce?"),
        ([KCAT, "--speed", "0"], 2, "--speed 0"),
        ([KCAT, "--client-id", "nobody"], 3, "no request that can be replayed"),
        ([KCAT, "--bootstrap", "127.0.0.1:1"], 4, "refused the connection"),
        ([str(SAMPLES / "README.md")], 3, "README.md"),
    ],
)
def test_what_can_not_be_done(words: list[str], code: int, text: str, capsys: Capture) -> None:
    found, _, err = run(capsys, *words)
    assert found == code
    assert text in err


def test_a_damaged_capture_is_replayed_as_far_as_it_goes(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "cut.pcap"
    file.write_bytes(Path(KCAT).read_bytes()[:40_000])
    code, out, err = run(capsys, str(file), "--speed", "max", "--compare", "none")
    assert code == 3
    assert "requests sent" in out
    assert "cut.pcap" in err


def test_an_interrupt_shows_what_was_seen_so_far() -> None:
    """The capture lasts 9 s; it is interrupted when the first request has come to the broker."""
    command = [sys.executable, "-m", "kcli.cli", "replay", KCAT, "--speed", "0.01", "--format", "json"]
    code = (
        "import signal, sys\n"
        "from kcli.replay.traffic.outcome import Outcome\n"
        "add = Outcome.add\n"
        "def first(self, *given):\n"
        "    add(self, *given)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "Outcome.add = first\n"
        "from kcli.cli.main import main\n"
        f"sys.exit(main({command[3:]!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False, env=os.environ)
    assert done.returncode == 130, done.stderr
    assert sum(row["live"]["exchanges"] for row in json.loads(done.stdout)["apis"]) >= 1
    assert b"Traceback" not in done.stderr


def test_filled_topics_and_a_capture_of_the_replay(tmp_path: Path, capsys: Capture) -> None:
    """Its fetches read what was there before the capture, which nothing in it writes."""
    old, out = str(SAMPLES / "old-librdkafka-on-3.9.pcap"), tmp_path / "out.pcapng"
    code, _, err = run(capsys, old, "--speed", "max")
    assert code == 1
    assert "the cluster lacks records that the capture's fetches found, in mv2[0], mv2[1] (--fill writes them)" in err
    code, said, err = run(capsys, old, "--speed", "max", "--fill", "--record", str(out), "--format", "jsonl")
    assert code == 0, said
    assert "filled 2 partitions with 480 records\n" in err
    rows = {row["api"]: row["live"]["exchanges"] for row in map(json.loads, said.splitlines())}
    assert main(["stats", str(out), "--format", "jsonl", "-q"]) == 0
    saved = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(rows.values()) == sum(row["exchanges"] for row in saved) == 49


def test_a_capture_of_the_replay_has_standard_output_for_itself(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    out = tmp_path / "out.pcapng"
    main(["replay", KCAT, "--speed", "max", "--record", "-"])
    written, said = capsysbinary.readouterr()
    assert b"requests sent" in said
    out.write_bytes(written)
    assert main(["stats", str(out), "-q"]) == 0


def test_a_capture_is_not_written_over_itself(capsys: Capture) -> None:
    code, _, err = run(capsys, KCAT, "--record", KCAT)
    assert code == 2
    assert err.startswith("kcli: --record ") and "is the input" in err


def greeted(path: Path, dialect: str) -> str:
    """A capture of one exchange of a draft's own API."""
    header = {"requestApiKey": GREET, "requestApiVersion": 1, "correlationId": 7, "clientId": "me"}
    asked = frames.encode_request(header, {"name": "x", "times": [1]}, dialect)
    answer = frames.encode_response({"correlationId": 7}, GREET, 1, {"errorCode": 0, "text": "yes"}, dialect)
    kept: list[bytes] = []

    async def write() -> None:
        recorder = Recorder(kept.append)
        recording = recorder.begin(("10.0.0.1", 5000), ("10.0.0.2", 9092), "")
        recording.data(0, len(asked).to_bytes(4, "big") + asked)
        recording.data(1, len(answer).to_bytes(4, "big") + answer)
        recording.end(0)
        recording.end(1)
        recorder.flush()

    asyncio.run(write())
    path.write_bytes(b"".join(kept))
    return str(path)


@pytest.mark.parametrize(
    ("answers", "compare", "code", "text"),
    [
        ([], "errors", 0, "no differences"),
        ([], "strict", 1, "text: 'yes', live 'hi'"),
        ([{"api": "Greet", "request": {"times": [1]}, "answer": {"text": "yes"}}], "strict", 0, "no differences"),
        ([{"api": "Greet", "answer": {"errorCode": 41}}], "errors", 1, "live 1 NOT_CONTROLLER"),
    ],
)
def test_a_draft_is_replayed(
    answers: list[Any], compare: str, code: int, text: str, tmp_path: Path, capsys: Capture
) -> None:
    dialect = greeting(tmp_path / "greet")
    capture = greeted(tmp_path / "greet.pcapng", dialect)
    with EmbeddedBroker(Broker(dialect=dialect, answers=answers)) as broker:
        words = ("--dialect", dialect, "--compare", compare, "--bootstrap", broker.bootstrap_servers)
        found, out, _ = run(capsys, capture, "--speed", "max", "--port", "9092", *words)
    assert (found, text in out) == (code, True), out


def test_a_broker_without_the_draft_is_said_to_lack_it(tmp_path: Path, capsys: Capture) -> None:
    dialect = greeting(tmp_path / "greet")
    capture = greeted(tmp_path / "greet.pcapng", dialect)
    with EmbeddedBroker(Broker()) as broker:
        words = ("--dialect", dialect, "--bootstrap", broker.bootstrap_servers, "--port", "9092")
        _, out, err = run(capsys, capture, "--speed", "max", *words)
    assert "the broker does not have this API" in out
    assert "does not speak the dialect" in err


def test_a_free_running_replay_says_how_fast_it_was(capsys: pytest.CaptureFixture[str], samples: Path) -> None:
    words = ["replay", str(samples / "java44-consume-classic.pcap"), "--fill", "-q", "--free-running"]
    assert main([*words, "--speed", "50", "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    pace, fetches = said["pace"], next(each for each in said["apis"] if each["api"] == "Fetch")
    assert pace["sent"] == 22 and min(pace["asked_rate"], pace["rate"]) > 0
    assert pace["late_p99_ms"] >= pace["late_p50_ms"]
    assert fetches["live"]["records"] == fetches["captured"]["records"] == 660
    assert not any(api["differences"] for api in said["apis"])
    assert main([*words, "--speed", "50"]) == 0
    assert "not compared\nasked " in (shown := capsys.readouterr().out) and " ms (p99)" in shown
    assert main([*words, "--speed", "max", "--format", "json"]) == 0
    pace = json.loads(capsys.readouterr().out)["pace"]
    assert (pace["asked_rate"], pace["late_p50_ms"]) == (None, None) and pace["rate"] > 0
