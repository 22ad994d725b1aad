"""`kcli schema vectors` as a script sees it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.schemas.dialects import SHIPPED
from tests.greeting import greeting


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert main(["schema", "vectors", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_line_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = lines(capsys, greeting(tmp_path))
    assert found[0] == {
        "message": "GreetRequest", "version": 0, "case": "defaults", "hex": "0100", "json": {"name": ""},
    }  # fmt: skip
    assert {(each["message"], each["version"]) for each in found} == {
        (name, version) for name in ("GreetRequest", "GreetResponse") for version in (0, 1)
    }
    nulls = [each for each in found if each["case"] == "text: null"]
    assert [(each["version"], each["hex"], each["json"]) for each in nulls] == [
        (1, "000000ffffffffffffffff00", {"errorCode": 0, "text": None, "mark": -1})
    ]


def test_of_a_draft_of_kafkas_own_message_its_versions(capsys: pytest.CaptureFixture[str]) -> None:
    draft = str(SHIPPED / "kip-1018")
    assert {each["version"] for each in lines(capsys, draft)} == {18}
    assert {each["version"] for each in lines(capsys, draft, "17")} == {17}
    assert len({each["version"] for each in lines(capsys, "FetchRequest", "--dialect", draft)}) == 19


def test_an_api_in_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    found = lines(capsys, "ApiVersions", "3")
    assert {(each["message"], each["version"]) for each in found} == {
        ("ApiVersionsRequest", 3), ("ApiVersionsResponse", 3)
    }  # fmt: skip
    assert all(each["hex"] is not None for each in found)


def test_records_are_there_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = [each for each in lines(capsys, "ProduceRequest", "9") if str(each["case"]).endswith("records: a batch")]
    assert "AAAAAAAAAAAAAAA5" in json.dumps(found["json"])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["Fetsch"], "Fetsch: no such message or API; did you mean Fetch?"),
        (["Fetch", "99"], "FetchRequest has no version 99 (versions 0-18)"),
        ([".", "--dialect", "kip-1018"], ".: a folder of definitions, so --dialect can't be another"),
    ],
)
def test_what_there_is_not(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "vectors", *words]) == 2
    assert text in capsys.readouterr().err


def test_a_reader_that_stops_early() -> None:
    command = f"{sys.executable} -m kcli.cli schema vectors Fetch | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
