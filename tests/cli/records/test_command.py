"""`kcli records` as a script and a person see it."""

import base64
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.records import build_batch
from tests.capture.wires import SAMPLES

DATA = Path(__file__).parents[1] / "data"
TXN = str(SAMPLES / "java44-txn.pcap")
LOG = SAMPLES / "orders-0" / "00000000000000000000.log"
Capture = pytest.CaptureFixture[str]
KEYS = [
    "topic", "partition", "offset", "timestamp", "key", "value", "headers",
    "api", "client_id", "connection", "file",
]  # fmt: skip


def rows(capsys: Capture, *words: str) -> list[dict[str, Any]]:
    assert main(["records", *words, "--format", "jsonl", "-q"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def bytes_of(value: Any) -> bytes | None:
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value and value.encode()


def equal(data: bytes | None, truth: dict[str, Any] | None) -> bool:
    """Whether bytes are those of the lab's form: base64 of short ones, SHA-256 of long ones."""
    if data is None or truth is None:
        return data is None and truth is None
    if "b64" in truth:
        return base64.b64decode(truth["b64"]) == data
    return bool(len(data) == truth["len"]) and hashlib.sha256(data).hexdigest() == truth["sha256"]


def test_they_are_those_that_kafkas_consumer_reads(capsys: Capture) -> None:
    truth = [json.loads(line) for line in (DATA / "records-java44-txn.jsonl").read_text().splitlines()]
    found = {
        (row["topic"], row["partition"], row["offset"]): row
        for row in rows(capsys, TXN, "--distinct")
        if row["offset"] is not None
    }
    assert found.keys() == {(row["topic"], row["partition"], row["offset"]) for row in truth}
    for row in truth:
        mine = found[row["topic"], row["partition"], row["offset"]]
        assert mine["timestamp"] == row["timestamp"]
        assert equal(bytes_of(mine["key"]), row["key"]) and equal(bytes_of(mine["value"]), row["value"])
        headers = [(each["key"], bytes_of(each["value"])) for each in mine["headers"]]
        assert [key for key, _ in headers] == [key for key, _ in row["headers"]]
        assert all(equal(value, answer) for (_, value), (_, answer) in zip(headers, row["headers"], strict=True))


def test_produce_and_fetch_show_the_same(capsys: Capture) -> None:
    found = rows(capsys, str(SAMPLES / "kcat-codecs.pcap"))
    sides: dict[str, dict[Any, Any]] = {"PRODUCE": {}, "FETCH": {}}
    for row in found:
        place = row["topic"], row["partition"], row["offset"]
        sides[row["api"]][place] = [row[name] for name in ("timestamp", "key", "value", "headers")]
    assert sides["PRODUCE"] == sides["FETCH"] and len(sides["FETCH"]) == 1000 and len(found) == 2000


def test_a_row_says_where_it_was_seen(capsys: Capture) -> None:
    first = rows(capsys, TXN)[0]
    assert list(first) == KEYS
    assert (first["api"], first["client_id"], first["file"]) == ("PRODUCE", "lab-java", TXN)
    assert first["connection"].startswith("127.0.0.1:21000-127.0.0.1:")
    both = rows(capsys, TXN, str(SAMPLES / "kcat-codecs.pcap"))
    assert {row["file"] for row in both} == {TXN, str(SAMPLES / "kcat-codecs.pcap")}


def test_transactions(capsys: Capture) -> None:
    fetched = [row for row in rows(capsys, TXN, "--control") if row["api"] == "FETCH"]
    markers = [row["_control"]["type"] for row in fetched if "_control" in row]
    assert set(markers) == {"COMMIT", "ABORT"}
    for partition in (0, 1):
        mine = [row for row in fetched if row["topic"] == "pay-in" and row["partition"] == partition]
        ended = False  # whether the transaction that a record is in was aborted, read from its marker backwards
        for row in reversed(mine):
            if "_control" in row:
                ended = row["_control"]["type"] == "ABORT"
            else:
                assert row.get("aborted", False) is ended
    assert not any("_control" in row for row in rows(capsys, TXN))


def test_a_refused_batch_has_no_offsets(capsys: Capture) -> None:
    found = [row for row in rows(capsys, TXN) if row["offset"] is None]
    assert [(row["api"], row["key"]) for row in found] == [("PRODUCE", "key-1")]


def test_a_segment(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    found = rows(capsys, str(LOG))
    assert [row["offset"] for row in found] == list(range(482))
    assert (
        found[0] | {"topic": "orders", "partition": 0, "api": None, "client_id": None, "connection": None} == found[0]
    )
    assert rows(capsys, str(LOG.parent)) == found, "a directory stands for its segments"

    class Piped(io.BytesIO):
        def fileno(self) -> int:
            raise OSError

    for data, count in ((LOG.read_bytes(), 482), (Path(TXN).read_bytes(), 81)):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Piped(data))))
        piped = rows(capsys, "-")
        assert len(piped) == count and piped[0]["file"] == "standard input"


def test_times_in_a_segment_are_those_of_its_records(capsys: Capture) -> None:
    times = [row["timestamp"] for row in rows(capsys, str(LOG))]
    middle = sorted(times)[len(times) // 2]
    since = rows(capsys, str(LOG), "--since", str(middle / 1000))
    until = rows(capsys, str(LOG), "--until", str(middle / 1000))
    assert [row["timestamp"] for row in since] == [time for time in times if time >= middle]
    assert [row["timestamp"] for row in until] == [time for time in times if time <= middle]
    assert main(["records", str(LOG), "--since", "2222-01-01"]) == 1
    assert "kcli: no record matches" in capsys.readouterr().err


def test_what_is_chosen(capsys: Capture) -> None:
    assert {row["topic"] for row in rows(capsys, TXN, "--topic", "pay-out")} == {"pay-out"}
    assert {row["partition"] for row in rows(capsys, TXN, "--partition", "1")} == {1}
    assert {row["key"] for row in rows(capsys, TXN, "--key", "key-1")} == {"key-1"}
    assert {row["api"] for row in rows(capsys, TXN, "--api", "Fetch")} == {"FETCH"}
    assert len(rows(capsys, TXN, "--errors")) == 1
    assert main(["records", TXN, "--topic", "nothing"]) == 1
    assert "no record matches; topics here: pay-in, pay-out" in capsys.readouterr().err
    assert main(["records", TXN, str(LOG), "--client", "lab-java"]) == 2
    assert "000.log: a log segment; the options that choose exchanges are for captures" in capsys.readouterr().err
    assert len(rows(capsys, TXN, str(LOG), "--topic", "orders")) == 482


def test_values_alone(capsys: Capture) -> None:
    assert main(["records", str(LOG), "--values"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 482 and json.loads(lines[0]) == {"order": 0, "item": "coffee", "quantity": 7, "price": 10.91}
    assert main(["records", str(LOG), "--values", "--format", "parquet"]) == 2


def test_damage(tmp_path: Path, cut: Callable[[str], str], capsys: Capture) -> None:
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"GIF89a" * 50)
    wrong = bytearray(LOG.read_bytes())
    wrong[wrong.index(b"coffee")] ^= 1
    (tmp_path / "wrong.log").write_bytes(wrong)
    found = [str(garbage), cut(TXN), str(tmp_path / "wrong.log"), TXN]
    assert main(["records", *found, "--format", "jsonl"]) == 3
    said = capsys.readouterr()
    assert len(said.out.splitlines()) >= 81 + 482
    for text in ("middle of a packet", "a wrong checksum", "garbage: "):
        assert text in said.err
    assert main(["records", TXN, str(tmp_path / "missing")]) == 3
    said = capsys.readouterr()
    assert said.out == "" and "missing: No such file" in said.err
    (tmp_path / "empty").mkdir()
    assert main(["records", str(tmp_path / "empty")]) == 3
    assert "no capture and no log segment" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["records", "stats"])
def test_a_file_of_a_directory_is_no_output(command: str, tmp_path: Path, capsys: Capture) -> None:
    given = tmp_path / "in.pcap"
    given.write_bytes(Path(TXN).read_bytes())
    assert main([command, str(tmp_path), "-o", str(given)]) == 2
    assert "is the input" in capsys.readouterr().err and given.read_bytes() == Path(TXN).read_bytes()


def test_an_empty_segment_and_other_ports_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "00000000000000000000.log"
    empty.touch()
    for command in (["records"], ["decode", "segment"]):
        assert main([*command, str(empty)]) == 0
        assert capsys.readouterr().err == f"kcli: {empty}: no record batches (empty)\n"
        assert main([*command, str(empty), "-q"]) == 0
        assert capsys.readouterr().err == ""
    capture = str(sorted(SAMPLES.glob("java44*.pcap"))[0])
    assert main(["decode", "pcap", "--port", "1", capture]) == 1
    assert "nothing matches; brokers here: " in capsys.readouterr().err


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("text", ['{"a": 1}\n', "nothing of a log" * 9])
def test_where_nothing_could_be_read_the_output_stays(form: str, text: str, tmp_path: Path, capsys: Capture) -> None:
    """Not even headings come in its place."""
    other, out = tmp_path / "x.log", tmp_path / "out"
    other.write_text(text)
    out.write_text("old")
    for more in ([], ["--distinct"]):  # the core's way, and that of rows
        assert main(["records", str(other), "--format", form, "-o", str(out), *more]) == 3
        assert out.read_text() == "old" and capsys.readouterr().err.count("\n") == 1


def test_values_that_can_not_be_read_are_told(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "v.avsc").write_text('{"type": "record", "name": "V", "fields": [{"name": "n", "type": "long"}]}')
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(build_batch([(5, b"k", b"\x02", ()), (6, b"k", b"", ()), (7, b"k", None, ())]))
    words = ["records", str(log), "--value-schema", str(tmp_path / "v.avsc")]
    for form in (["--values"], ["--format", "csv"]):
        assert main([*words, *form]) == 0
        said = capsys.readouterr()
        assert "1 payload can't be read: not of this schema: it ends too early (each has" in said.err
        assert main([*words, *form, "-q"]) == 0
        assert not capsys.readouterr().err
    assert main([*words, "--format", "jsonl"]) == 0
    said = capsys.readouterr()
    assert "ends too early" in said.out and not said.err
