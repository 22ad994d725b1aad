"""Findings of live traffic."""

import json
import os
from pathlib import Path

import pytest
import zstandard

from kcli.cli.capture.live_findings import put_note
from kcli.cli.main import main
from kcli.finding import Finding
from kcli.jsontext import dumps
from tests.cli.capture.test_packet_capture import tool
from tests.diagnose.captured import DATA


def test_a_finding_is_an_event_between_the_lines_of_exchanges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    packed = (DATA / "busy-fetch-pricing.pcap.zst").read_bytes()
    file = tmp_path / "in.pcap"
    file.write_bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    tool(tmp_path, "tcpdump", f'cat "{file}"')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert main(["capture", "--findings", "--format", "jsonl", "--api", "JoinGroup", "-q"]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    [found] = [line for line in lines if line.get("event") == "finding"]
    assert found["finding"] == "busy-fetch" and found["subject"]["client"] == "pricing-cache-1"
    assert {line["requestHeader"]["requestApiKeyName"] for line in lines if "event" not in line} == {"JOIN_GROUP"}


def test_else_it_is_a_line_on_standard_error_with_its_times(capsys: pytest.CaptureFixture[str]) -> None:
    times = {"from": "2026-11-21T03:12:40.5Z", "to": "2026-11-21T03:12:58Z"}
    found = Finding("slow-broker", "critical", {"broker": "3"}, times, "look at it", "broker 3\x1b")
    put_note(dumps(found.as_json()).encode())
    said = "kcli: critical slow-broker: broker 3\\x1b; 03:12:40 to 03:12:58Z; do: look at it\n"
    assert capsys.readouterr().err == said
