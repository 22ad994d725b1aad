"""`kcli sql` as a command: files in, rows out, and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.processes import ended

pytest.importorskip("duckdb")
COUNT = "SELECT client_id, count(*) AS n FROM exchanges GROUP BY ALL ORDER BY n DESC"


def test_a_question(samples: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["sql", COUNT, str(samples / "java44-txn.pcap")]) == 0
    captured = capsysbinary.readouterr()
    assert captured.out.splitlines()[1] == b"lab-java                       57" and captured.err == b"3 rows\n"
    assert main(["sql", COUNT, str(samples / "java44-txn.pcap"), "--format", "jsonl", "--quiet"]) == 0
    captured = capsysbinary.readouterr()
    assert json.loads(captured.out.splitlines()[0]) == {"client_id": "lab-java", "n": 57} and captured.err == b""


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "csv", "parquet"])
def test_answers_in_files(form: str, samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"before")
    words = ["sql", COUNT, str(samples / "java44-txn.pcap"), "--format", form, "-o", str(out)]
    assert main([*words, "-q"]) == 0
    whole = out.read_bytes()
    assert b"lab-java" in whole
    assert main(["sql", "SELECT nosuch FROM exchanges", *words[2:]]) == 2
    assert out.read_bytes() == whole


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["SELECT 1"], 2, "FILE|DIR...: missing"),
        ([], 2, "FILE|DIR...: missing"),
        (["selec", "{capture}"], 2, "query: Parser Error: syntax error at or near"),
        (["SELECT 1", "{missing}"], 3, "missing.pcap: No such file or directory"),
        (["SELECT 1", "{capture}", "{missing}"], 3, "missing.pcap: No such file or directory"),
        (["FROM exchanges", "{garbage}"], 3, "not a capture"),
        (["SELECT 1", "{empty}"], 3, "holds no capture, log segment, snapshot or Parquet table"),
        (["FROM exchanges", "{capture}", "-o", "{capture}"], 2, "is the input"),
        (["{capture}", "-o", "{out}"], 2, "QUERY: missing"),
        (["COPY (SELECT 1) TO '{out}'", "{capture}"], 2, "query: COPY changes things or settings"),
    ],
)
def test_what_is_wrong_is_one_line(
    words: list[str], code: int, why: str, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {name: tmp_path / name for name in ("garbage", "out", "empty")} | {"missing": tmp_path / "missing.pcap"}
    places["capture"] = samples / "ipv6.pcapng"
    places["garbage"].write_bytes(b"GIF89a" * 10)
    places["empty"].mkdir()
    assert main(["sql", *(word.format(**places) for word in words)]) == code
    said = capsys.readouterr().err
    assert why in said and said.count("\n") == 1 and not places["out"].exists()


def test_what_could_be_read_is_answered(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((samples / "java44-txn.pcap").read_bytes()[:-10])
    out = tmp_path / "out"
    assert main(["sql", "SELECT count(*) AS n FROM exchanges", str(cut), "--format", "csv", "-o", str(out)]) == 3
    assert out.read_text() == "n\n78\n" and "ends in the middle of a packet" in capsys.readouterr().err


def test_a_question_by_name(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(samples / "old-librdkafka-on-3.9.pcap")
    assert main(["sql", "--question", "refused", path, path, "--format", "csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("client,address,software,used,") and "rdkafka" in lines[1]
    assert main(["sql", "--question", "refused"]) == 2
    assert main(["sql", "--question", "nothing", path]) == 2


DATED = (
    "exchanges", "fetch_partitions", "produce_partitions", "record_batches", "remote_fetches", "throttling",
    "undecodable",
)  # fmt: skip


def test_times_leave_out_exchanges_before_tables_are_made(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(samples / "java44-txn.pcap")

    def rows(query: str, *times: str) -> list[str]:
        assert main(["sql", query, capture, "--format", "jsonl", "-q", *times]) == 0
        return capsys.readouterr().out.splitlines()

    first = json.loads(rows("SELECT min(timestamp)::TEXT AS first FROM exchanges", "--until", "+9999")[0])["first"]
    middle = rows(f"SELECT strftime(TIMESTAMPTZ '{first}' + INTERVAL 1 SECOND, '%Y-%m-%dT%H:%M:%S.%f') AS at")[0]
    at = json.loads(middle)["at"] + "Z"
    for table in DATED:
        all_of, kept = f"SELECT * FROM {table} ORDER BY ALL", f"SELECT * FROM {table} WHERE timestamp {{}} ORDER BY ALL"
        assert rows(all_of, "--since", at) == rows(kept.format(f">= TIMESTAMPTZ '{at}'"))
        assert rows(all_of, "--until", at) == rows(kept.format(f"<= TIMESTAMPTZ '{at}'"))
    counts = "SELECT (SELECT sum(requests) FROM connections) AS a, (SELECT sum(exchanges) FROM lineage) AS b"
    said = [json.loads(rows(counts, *times)[0]) for times in (("--since", at), ("--until", at), ())]
    for column in "ab":
        before, behind, all_ = (each[column] for each in said)
        assert 0 < before < all_ and before + behind == all_
    assert rows("SELECT exchange_bytes FROM lineage", "--since", at) == rows("SELECT exchange_bytes FROM lineage")


def test_times_are_those_of_captures(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(samples / "orders-0" / "00000000000000000000.log")
    assert main(["sql", "FROM records", log, str(samples / "java44-txn.pcap"), "--since", "+1"]) == 2
    assert f"{log}: no capture; --since and --until are for captures" in capsys.readouterr().err


def test_the_list_needs_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--list"]) == 0
    assert "connections: Each connection with a request, and each undecrypted TLS connection" in capsys.readouterr().out


def test_without_duckdb_it_says_what_to_install(
    samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["sql", "SELECT 1", str(samples / "ipv6.pcapng")]) == 2
    assert capsys.readouterr().err == "kcli: kcli sql needs duckdb (pip install 'kcli-kafka[sql]')\n"


def kcli(*words: str) -> list[str]:
    return [sys.executable, "-m", "kcli.cli", *words]


def test_standard_input_and_a_quiet_end(samples: Path) -> None:
    with (samples / "java44-txn.pcap").open("rb") as capture:
        done = subprocess.run(
            kcli("sql", COUNT, "-", "--format", "csv"), stdin=capture, capture_output=True, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.startswith(b"client_id,n\nlab-java,57\n")
    with (samples / "java44-txn.pcap").open("rb") as capture:
        twice = kcli("sql", "SELECT 1 FROM exchanges x JOIN exchanges y USING (api)", "-")
        done = subprocess.run(twice, stdin=capture, capture_output=True, check=False)
    assert done.returncode == 2 and b"standard input can be read once" in done.stderr and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("query", ["SELECT count(*) FROM {}", "SELECT a.range, count(*) FROM {} GROUP BY 1"])
def test_ctrl_c_ends_a_long_query(query: str, samples: Path) -> None:
    query = query.format("range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 5")
    with ended(
        subprocess.Popen(
            kcli("sql", query, str(samples / "ipv6.pcapng")), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    ) as process:
        try:
            end = time.monotonic() + 60
            # the engine's own threads, and that which waits for them
            while len([*Path(f"/proc/{process.pid}/task").iterdir()]) < 3 and time.monotonic() < end:
                time.sleep(0.05)
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
            assert process.stderr is not None and process.stderr.read() == b""
        finally:
            process.kill()


@pytest.mark.parametrize(
    "words", [[""], ["", "FILE"], ["FILE", ""], ["SELECT 1", ""], [" ", "FILE"], ["SELECT 1", "FILE", ""]]
)
def test_an_empty_word_is_no_folder(words: list[str], samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["sql", *(str(samples / "java44-txn.pcap") if each == "FILE" else each for each in words)])
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    expected = {2: "kcli: QUERY: empty (", 3: "kcli: '': No such file or directory\n"}
    assert said.err.startswith(expected[code]) and code == (3 if words[0].strip() else 2)
