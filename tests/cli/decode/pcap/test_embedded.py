"""`decode pcap --format jsonl --embedded`."""

import json
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.decode.pcap.embedded import EmbeddedLines
from kcli.cli.main import main


def without(value: Any) -> Any:
    if isinstance(value, list):
        return [without(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: without(each) for name, each in value.items() if name not in ("_metadata", "_assignment")}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_lines_have_more_in_them_and_nothing_less(jobs: str, samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["decode", "pcap", "--format", "jsonl", "-q", str(samples / "java44-consume-classic.pcap")]
    assert main(words) == 0
    plain = capsys.readouterr().out
    assert main([*words, "--embedded", "--jobs", jobs]) == 0
    more = capsys.readouterr().out
    rows = [json.loads(line) for line in more.splitlines()]
    assert [without(row) for row in rows] == [json.loads(line) for line in plain.splitlines()]
    shown = [row for row in rows if row.get("requestHeader", {}).get("requestApiKeyName") == "SYNC_GROUP"]
    assert shown and all(row["response"]["_assignment"]["type"] == "ConsumerProtocolAssignment" for row in shown)
    assert '"_metadata":{"type":"ConsumerProtocolSubscription","version":3' in more
    assert [line for line in plain.splitlines() if '"FETCH"' in line] == [
        line for line in more.splitlines() if '"FETCH"' in line
    ]


def test_events_and_answers_that_are_missing() -> None:
    lines = EmbeddedLines(None)
    missing = b'{"requestHeader":{"requestApiKey":14},"request":{"assignments":[]},"response":null}\n'
    for line in (b'{"event":"gap"}\n', missing):
        assert lines.line(line) == line


def test_other_formats_have_no_use_for_it(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "pcap", "--embedded", str(samples / "ipv6.pcapng")]) == 2
    assert "--embedded: needs --format jsonl" in capsys.readouterr().err
