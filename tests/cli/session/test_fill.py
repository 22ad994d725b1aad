"""`kcli fetch-session replay --fill` before a broker whose topics are empty, or not there."""

import json
from pathlib import Path

import pytest

from kcli.broker.embedded import embedded_broker
from kcli.cli.main import main
from tests.capture.wires import SAMPLES

CONSUMER = str(SAMPLES / "java44-consume-classic.pcap")
Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *words: str) -> tuple[int, list[dict[str, object]], str]:
    code = main(["fetch-session", "replay", CONSUMER, "--speed", "max", "--format", "jsonl", *words])
    said = capsys.readouterr()
    return code, [json.loads(line) for line in said.out.splitlines() if line.startswith("{")], said.err


def test_without_records_one_line_says_so_and_with_them_nothing_differs(capsys: Capture) -> None:
    with embedded_broker() as broker:
        code, _, err = run(capsys, "--bootstrap", broker.bootstrap_servers)
        assert code == 1
        assert "the cluster has no records in 15 partitions that gave some (--fill writes them)\n" in err
        code, rows, err = run(capsys, "--bootstrap", broker.bootstrap_servers, "--fill")
        assert code == 0, (rows, err)
        assert "filled 15 partitions" in err
        assert rows[0]["live"]["recordsBytes"] == rows[0]["captured"]["recordsBytes"] > 0  # type: ignore[index]


def test_records_come_from_captures_only(tmp_path: Path, capsys: Capture) -> None:
    main(["decode", "pcap", CONSUMER, "--format", "jsonl", "-q"])
    lines = tmp_path / "lines.jsonl"
    lines.write_text(capsys.readouterr().out)
    assert main(["fetch-session", "replay", str(lines), "--bootstrap", "127.0.0.1:1", "--fill"]) == 2
    assert "--fill takes records from capture files only" in capsys.readouterr().err
