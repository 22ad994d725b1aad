"""`kcli decode pcap` as a script and a person see it."""

import json
import os
import pty
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.capture.messages import metadata
from tests.capture.wires import DATA, SAMPLES, Wire, pcap
from tests.processes import ended

TXN = str(SAMPLES / "java44-txn.pcap")
Capture = pytest.CaptureFixture[str]


def rows(capsys: Capture, *arguments: str) -> list[dict[str, object]]:
    assert main(["decode", "pcap", *arguments, "--format", "jsonl", "--quiet"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_lines_of_json(capsys: Capture) -> None:
    found = rows(capsys, TXN)
    assert len(found) == 78 and all(row["response"] for row in found)


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (["--api", "Produce"], 8),
        (["--api", "produce", "--api", "3"], 16),
        (["--client-id", "broker-1-txn-marker-sender"], 8),
        (["--errors"], 8),
        (["--topic", "pay-out"], 4),
        (["--api", "Fetch", "--topic", "pay-in"], 2),
        (["--port", "21000"], 78),
        (["--since", "2026-11-21T01:22:00.3Z"], 13),
        (["--until", "2026-11-21T01:21:58.9Z"], 1),
    ],
)
def test_filters(capsys: Capture, filters: list[str], count: int) -> None:
    assert len(rows(capsys, TXN, *filters)) == count


def test_filtered_lines_are_the_same_lines(capsys: Capture) -> None:
    chosen = [row for row in rows(capsys, TXN) if row["requestHeader"]["requestApiKey"] == 0]  # type: ignore[index]
    assert rows(capsys, TXN, "--api", "Produce") == chosen


def test_the_summary_is_on_standard_error(capsys: Capture) -> None:
    assert main(["decode", "pcap", TXN, "--format", "jsonl"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("78 exchanges (") and "every byte accounted for" in said.err
    assert main(["decode", "pcap", TXN, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_capture_without_a_packet_is_said_to_be_empty(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "nothing.pcap").write_bytes((SAMPLES / "kcat-codecs.pcap").read_bytes()[:24])
    assert main(["decode", "pcap", str(tmp_path / "nothing.pcap")]) == 0
    said = capsys.readouterr()
    assert not said.out and said.err.startswith("0 exchanges, 0 connections;\n0 packets, ")


def test_the_table(capsys: Capture) -> None:
    assert main(["decode", "pcap", TXN]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[1].startswith("2026-11-21T01:21:58.865082Z  c1    lab-java             ApiVersions 5 ")
    assert main(["decode", "pcap", TXN, "--time", "relative"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("   +0.517 s  c1    lab-java             ApiVersions 5 ")
    assert f"Next:\n  kcli decode pcap {TXN} --errors\n" in said.err
    assert main(["decode", "pcap", TXN, "--records", "full", "--api", "Produce", "--quiet"]) == 0
    assert "pay-in[0] 0" in capsys.readouterr().out


def test_the_tree(capsys: Capture) -> None:
    assert main(["decode", "pcap", TXN, "--format", "tree", "--api", "EndTxn", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert text.count("END_TXN v5 request") == 8 and "transactionalId" in text


UNUSED = ("kcli.capture.kafka.connection", "kcli.cli.decode.pcap.table", "kcli.grammar.files.network", "rich", "shutil")


@pytest.mark.parametrize(("form", "used"), [("jsonl", set()), ("table", {"kcli.cli.decode.pcap.table"})])
def test_a_start_imports_what_it_uses(form: str, used: set[str]) -> None:
    capture = str(SAMPLES / "kcat-codecs.pcap")
    run = f"from kcli.cli.main import main; main(['decode', 'pcap', {capture!r}, '--format', {form!r}])"
    script = f"import sys; {run}; print(*sorted(set({UNUSED!r}) & set(sys.modules)), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) & set(UNUSED) == used


def test_parquet_of_exchanges_loads_nothing_that_only_tables_of_records_need(tmp_path: Path) -> None:
    words = ["decode", "pcap", str(SAMPLES / "kcat-codecs.pcap"), "--format", "parquet", "-o", str(tmp_path / "out")]
    script = f"import sys; from kcli.cli.main import main; main({words}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "pyarrow.parquet" in loaded
    assert not {"kcli.records.columns", "kcli.records.damage"} & loaded


def test_an_output_file(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    for form in ("jsonl", "table", "tree", "parquet"):
        assert main(["decode", "pcap", TXN, "--format", form, "-o", str(out)]) == 0
        assert out.stat().st_size > 5_000
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--api", "Fetcch", TXN], 2, "did you mean Fetch?"),
        (["--since", "soon", TXN], 2, "soon: no time"),
        (["--records", "all", TXN], 2, "'all'"),
        ([], 2, "FILE"),
        (["/nowhere/at/all.pcap"], 3, "/nowhere/at/all.pcap: No such file or directory"),
        ([__file__], 3, "not a capture: starts with"),
        ([str(SAMPLES / "orders-0")], 3, "no capture in this directory"),
        ([TXN, "/nowhere/at/all.pcap"], 3, "/nowhere/at/all.pcap: No such file or directory"),
        (["--schema", "nothing", TXN], 2, "nothing"),
    ],
)
def test_what_goes_wrong_is_one_line(arguments: list[str], code: int, message: str, capsys: Capture) -> None:
    assert main(["decode", "pcap", *arguments]) == code
    said = capsys.readouterr()
    assert message in said.err and said.err.count("\n") == 1 and said.err.startswith("kcli: ")


def test_a_cut_file_is_read_and_then_told(cut: Callable[[str], str], capsys: Capture) -> None:
    path = cut(TXN)
    assert main(["decode", "pcap", path, "--format", "jsonl"]) == 3
    said = capsys.readouterr()
    assert said.out.count('"requestHeader"') == 78 and said.out.count('"event":"truncated"') == 1
    assert "; every byte before the damage accounted for." in said.err
    assert said.err.splitlines()[-1] == (
        f"kcli: {path}: the file ends in the middle of a packet, 75 bytes into it, at 0xf568"
    )


def test_a_pipe_is_shown_live() -> None:
    command = [sys.executable, "-m", "kcli.cli", "decode", "pcap", "-", "--format", "jsonl"]
    data = Path(TXN).read_bytes()
    pipe = subprocess.PIPE
    with ended(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)) as process:
        assert process.stdin and process.stdout
        process.stdin.write(data[:3000])
        process.stdin.flush()
        assert b'"API_VERSIONS"' in process.stdout.readline()
        process.stdin.write(data[3000:])
        process.stdin.close()
        assert process.stdout.read().count(b"\n") == 77


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    more_than_a_pipe_holds = f"{TXN} --format tree"
    command = f"{sys.executable} -m kcli.cli decode pcap {more_than_a_pipe_holds} | head -1"
    run = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert run.stdout.count(b"\n") == 1 and run.stderr == b""


def test_a_terminal_gets_colour_unless_it_says_no() -> None:
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        main_end, other = pty.openpty()
        command = [sys.executable, "-m", "kcli.cli", "decode", "pcap", TXN, "--errors"]
        kept = (
            {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"} | environment
        )
        with ended(subprocess.Popen(command, stdout=other, stderr=subprocess.DEVNULL, env=kept)) as process:
            os.close(other)
            text = b""
            while True:
                try:
                    piece = os.read(main_end, 65536)
                except OSError:
                    break
                if not piece:
                    break
                text += piece
            os.close(main_end)
        assert process.returncode == 0
        assert (b"\x1b[31m" in text) == coloured and b"java44-txn.pcap  62.9 kB" in text


@pytest.mark.parametrize("form", ["jsonl", "table", "tree"])
def test_damaged_captures_end_in_the_contracts_form(form: str, tmp_path: Path, capsys: Capture) -> None:
    """Cut anywhere, bytes changed anywhere: exit 0 or 3, and nothing but lines of kcli's on standard error."""
    chance = random.Random(form)
    path = tmp_path / "damaged"
    sources = [Path(TXN), SAMPLES / "ipv6.pcapng", DATA / "snaplen-96.pcap", SAMPLES / "old-librdkafka-on-3.9.pcap"]
    for number in range(40):
        data = bytearray(sources[number % 4].read_bytes())
        if number % 3 == 0:
            del data[chance.randrange(len(data)) :]
        else:
            for _ in range(chance.choice((1, 20, 200))):
                data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        code = main(["decode", "pcap", str(path), "--format", form])
        said = capsys.readouterr()
        assert code in (0, 3) and "Traceback" not in said.err and "NOT accounted" not in said.err
        assert (code == 3) == said.err.splitlines()[-1].startswith("kcli: ")


def test_a_client_whose_first_request_is_broken_is_kafkas_where_its_server_is_known_to_be_a_broker(
    tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(Wire().open().client(metadata(1)[0][:-2] + b"\xff\xff").close().packets))
    [unknown] = rows(capsys, str(path))
    assert unknown["event"] == "not-kafka"
    for known in (["--port", "9092"], ["--to-brokers"]):
        failure, exchange, _end = rows(capsys, str(path), *known)
        assert failure["event"] == "undecodable"
        assert str(failure["reason"]).startswith("request 1: MetadataRequest v12: _tags: needs")
        assert exchange["requestHeader"]["requestApiKeyName"] == "METADATA"  # type: ignore[index]


def test_another_protocol_is_not_kafka_on_a_port_of_brokers_either(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(Wire().open().client(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n").close().packets))
    assert [row["event"] for row in rows(capsys, str(path), "--port", "9092")] == ["not-kafka"]
