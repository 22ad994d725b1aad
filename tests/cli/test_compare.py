"""`kcli compare`."""

import json
from pathlib import Path

import pytest
import zstandard

from kcli.cli.main import main

Capture = pytest.CaptureFixture[str]
DATA = Path(__file__).parents[1] / "compare" / "data"
BEFORE, AFTER = (str(DATA / f"linger-{ms}.pcap.zst") for ms in (0, 20))


def test_a_change_is_a_line_and_the_end_says_what_was_compared(capsys: Capture) -> None:
    assert main(["compare", BEFORE, AFTER, "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"before          {BEFORE}: 5.0 s, 3,237 exchanges, 1 broker, ")
    assert any(
        line.startswith("better          records of a Produce to orders: 1.03 -> 2.89 records") for line in lines
    )
    assert lines[-1].endswith("2 better, 1 changed; the rest within noise.")
    sides = "before and after begin after"
    assert lines[-3:-1] == [
        f"not seen        newest versions that brokers offer: {sides} the clients had asked",
        f"not seen        software of clients: {sides} some of them had named it",
    ]


def test_worse_is_exit_code_1_and_each_format_says_so(capsys: Capture) -> None:
    assert main(["compare", AFTER, BEFORE, "-q", "--format", "jsonl"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"verdict": "worse", "measure": "batching"}.items() <= lines[0].items()
    assert lines[0]["of"] == {"topic": "orders"} and lines[0]["before"] > lines[0]["after"] and lines[0]["p"] < 0.01
    assert any(each.get("kind") == "finding" for each in lines)


def test_json_also_has_what_stayed_the_same(capsys: Capture) -> None:
    assert main(["compare", BEFORE, BEFORE, "-q", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not found["worse"] and found["changes"] and {each["verdict"] for each in found["changes"]} == {"same"}
    assert found["before"] == found["after"] and not found["differences"] and not found["not_comparable"]


def test_where_nothing_can_be_compared_the_exit_code_says_so(capsys: Capture, samples: Path) -> None:
    short = str(samples / "java44-txn.pcap")
    assert main(["compare", short, short, "-q"]) == 3
    said = capsys.readouterr()
    assert "too short" in said.out and "\nkcli: nothing could be compared: before is 2.1 s long" in said.err


def test_a_file_that_is_not_there_is_one_line(capsys: Capture) -> None:
    assert main(["compare", BEFORE, "none.pcap", "-q"]) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_of_a_side_without_an_exchange_nothing_is_gone(capsys: Capture, tmp_path: Path, samples: Path) -> None:
    bare = tmp_path / "bare.pcap"
    bare.write_bytes((samples / "java44-txn.pcap").read_bytes()[:24])
    assert main(["compare", BEFORE, str(bare), "-q"]) == 3
    said = capsys.readouterr()
    [before, after, why, end] = said.out.splitlines()
    assert after.endswith("0.0 s, 0 exchanges, 0 brokers, 0 clients") and "5 clients" in before
    assert why.startswith("not comparable  after is 0.0 s long") and end.startswith("No measure could be compared")
    assert said.err == f"kcli: {bare}: no Kafka request in it, nothing to judge: no packet\n"


def test_connections_that_are_not_read_are_named(capsys: Capture, samples: Path) -> None:
    """TLS without its keys, on one side alone."""
    main(["compare", BEFORE, str(samples / "tls.pcap"), "-q"])
    said = capsys.readouterr().out
    assert "not comparable  after, not read: 9 connections of TLS" in said and "before, not read" not in said


def test_what_a_damaged_side_lacks_is_said(capsys: Capture, tmp_path: Path) -> None:
    """It is compared all the same."""
    path = tmp_path / "damaged.pcap"
    with zstandard.open(BEFORE) as file:
        whole = file.read()
    path.write_bytes(whole[:-100])
    assert main(["compare", BEFORE, str(path), "-q"]) == 3
    said = capsys.readouterr()
    assert "not comparable  after, not read: a part of a damaged file: " in said.out
    assert "no change beyond noise" in said.out and said.err.startswith(f"kcli: {path}: the file ends")


def test_one_file_for_both_sides_is_noted(capsys: Capture, tmp_path: Path) -> None:
    assert main(["compare", BEFORE, BEFORE, "-q"]) == 0
    assert capsys.readouterr().err == f"kcli: before and after have the same file: {BEFORE}\n"
