"""Outputs whose suffix says their format, where --format says none."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.capture.wires import SAMPLES
from tests.inside import kcli

TXN = str(SAMPLES / "java44-txn.pcap")
COMMANDS = {
    "sql": ["sql", "SELECT api, api_version FROM exchanges", TXN],
    "records": ["records", TXN],
    "pcap": ["decode", "pcap", TXN],
    "stats": ["stats", TXN],
    "diagnose": ["diagnose", TXN],
}


@pytest.mark.parametrize("name", ["sql", "records", "pcap"])
def test_parquet(tmp_path: Path, name: str) -> None:
    out = tmp_path / "OUT.Parquet"
    kcli(*COMMANDS[name], "-q", "-o", str(out))
    assert pq.read_table(out).num_rows > 0


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson"])
@pytest.mark.parametrize("name", ["sql", "records", "pcap", "stats"])
def test_lines(tmp_path: Path, name: str, suffix: str) -> None:
    out = tmp_path / f"out.{suffix}"
    kcli(*COMMANDS[name], "-o", str(out))
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert rows and all(isinstance(row, dict) for row in rows)


@pytest.mark.parametrize("name", ["sql", "records", "stats"])
def test_csv(tmp_path: Path, name: str) -> None:
    out, wanted = tmp_path / "out.csv", kcli(*COMMANDS[name], "--format", "csv").stdout
    kcli(*COMMANDS[name], "-o", str(out))
    assert out.read_text() == wanted.replace("\r\n", "\n")
    assert "," in wanted


def test_json_of_lines(tmp_path: Path) -> None:
    """A command without json writes lines, one with json an object."""
    lines, whole = tmp_path / "lines.json", tmp_path / "whole.json"
    kcli(*COMMANDS["stats"], "-o", str(lines))
    assert all(json.loads(line) for line in lines.read_text().splitlines())
    kcli(*COMMANDS["diagnose"], "-o", str(whole))
    assert "findings" in json.loads(whole.read_text())


@pytest.mark.parametrize("words", [["-o", "{}.txt"], ["-o", "{}.csv"], ["-o", "{}.jsonl", "--format", "table"]])
def test_what_was_given(tmp_path: Path, words: list[str]) -> None:
    """--format wins over the suffix, in either order; another suffix, or one of another format, changes nothing."""
    wanted = kcli(*COMMANDS["pcap"], "--format", "table", "-q").stdout
    for order in (words, words[2:] + words[:2]):
        given = [word.format(tmp_path / "out") for word in order]
        kcli(*COMMANDS["pcap"], "-q", *given)
        assert Path(given[given.index("-o") + 1]).read_text() == wanted
