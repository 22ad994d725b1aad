"""Findings of live traffic."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import zstandard

from kcli.cli.capture.live_findings import put_note
from kcli.cli.main import main
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


def test_else_it_is_a_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    put_note(b'{"finding": "slow-broker", "severity": "critical", "text": "broker 3\\u001b", "advice": "look at it"}')
    assert capsys.readouterr().err == "kcli: critical slow-broker: broker 3\\x1b; do: look at it\n"
