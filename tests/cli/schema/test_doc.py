"""`kcli schema doc` as a script sees it."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.schema.doc import code_of, text_of
from tests.greeting import greeting


def document(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["schema", "doc", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = document(capsys, greeting(tmp_path))
    assert [line for line in lines if line.startswith("#")] == ["# GreetRequest", "# GreetResponse"]
    assert "request 30100, versions 0-1, flexible 0+." in lines
    assert "| `text` | `string` | 0+ | nullable 1+, default hi |" in lines
    assert "| 1 | `text` changed: string nullable default hi; `mark` added: int64 default -1 |" in lines
    assert "| compact string | array of int32     | varint count, then of each:    |" in lines
    assert lines[-1].startswith("varint: an unsigned varint")


def test_a_message_of_kafka_with_a_version_more_has_each_field_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", "show", "FetchRequest", "--format", "json"]) == 0
    raw = json.loads(capsys.readouterr().out)
    (topics,) = (each for each in raw["fields"] if each["name"] == "Topics")
    (partitions,) = (each for each in topics["fields"] if each["name"] == "Partitions")
    partitions["fields"].append({"name": "RemoteMaxBytes", "type": "int32", "versions": "19+"})
    raw["validVersions"] = "4-19"
    (tmp_path / "FetchRequest.json").write_text(json.dumps(raw))
    lines = document(capsys, str(tmp_path))
    fields = [line.split("|")[1].strip() for line in lines if line.startswith("| `")]
    assert len(set(fields)) == len(fields) > 20 and "`topics.partitions.remoteMaxBytes`" in fields
    assert "request 1, versions 4-19, flexible 12+." in lines
    assert "| 19 | `topics.partitions.remoteMaxBytes` added: int32 |" in lines
    assert "FetchRequest v3:" in document(capsys, str(tmp_path), "3")


def test_a_version_of_an_api(capsys: pytest.CaptureFixture[str]) -> None:
    lines = document(capsys, "ApiVersions", "0")
    assert "ApiVersionsRequest v0: no bytes." in lines
    assert "ApiVersionsResponse v0:" in lines
    assert "| `apiKeys.apiKey` | `int16` | 0+ |  |" in lines
    assert "| int16     | array of ApiVersion |" in lines


def test_what_a_definition_says_is_no_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    greeting(tmp_path)
    path = tmp_path / "GreetRequest.json"
    raw = json.loads(path.read_text())
    raw["fields"][0]["about"] = "<b>*x*</b> | [a](b)\n# y"
    path.write_text(json.dumps(raw))
    text = "\n".join(document(capsys, str(tmp_path)))
    assert "\\<b\\>\\*x\\*\\</b\\> \\| \\[a\\](b)\\n# y |" in text


def test_text_and_code() -> None:
    assert text_of("a_b|c") == "a\\_b\\|c"
    assert code_of("a`b|c") == "a'b/c"


def test_what_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "doc", "Fetch", "99"]) == 2
    assert "FetchRequest has no version 99 (versions 0-18)" in capsys.readouterr().err
