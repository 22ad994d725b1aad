"""`kcli schema check` as a script sees it."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.schemas.dialects import SHIPPED
from tests.schemas.drafts import drafts

DRAFTS = dict(drafts())


def test_a_sound_draft_is_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "DraftRequest.json").write_text(DRAFTS["sound"])
    answer = {
        "apiKey": 900,
        "type": "response",
        "name": "DraftResponse",
        "validVersions": "0-2",
        "flexibleVersions": "1+",
    }
    (tmp_path / "DraftResponse.json").write_text(json.dumps(answer))
    assert main(["schema", "check", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("", "no findings (beside the messages of Kafka 4.4)\n")
    assert main(["schema", "check", str(tmp_path), "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "Draft.txt"
    file.write_text(DRAFTS["gap in tags"])
    assert main(["schema", "check", str(file), "--format", "jsonl"]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(row["file"], row["rule"]) for row in rows} == {(str(file), "no-counterpart"), (str(file), "tag-gap")}
    assert main(["schema", "check", str(SHIPPED / "kip-1018" / "FetchRequest.json"), "--against", "3.9"]) == 0


def test_findings_are_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Draft.json").write_text(DRAFTS["gap in tags"])
    assert main(["schema", "check", str(tmp_path), "--format", "jsonl"]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["rule"] for row in rows] == ["no-counterpart", "tag-gap"]
    assert set(rows[1]) == {"file", "line", "message", "path", "rule", "text"}
    assert main(["schema", "check", str(tmp_path), "-q"]) == 1
    assert capsys.readouterr().out == ""


def test_against_a_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fetch v18 came with 4.1: before, a KIP could still mean another one."""
    assert main(["schema", "check", str(SHIPPED / "kip-1018")]) == 1
    assert "FetchRequest: topics.partitions.highWatermark: " in capsys.readouterr().out
    assert main(["schema", "check", str(SHIPPED / "kip-1018"), "--against", "3.9"]) == 0
    assert main(["schema", "check", str(tmp_path), "--against", "1.0"]) == 2
    assert main(["schema", "check", str(tmp_path)]) == 3
