"""A folder of drafts: each finding with file, line, message and field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcli.errors import InputError
from kcli.schemas.catalog import catalog
from kcli.schemas.draft_check import DraftFinding, check_folder
from kcli.schemas.store import to_raw
from tests.schemas.drafts import drafts

DRAFTS = dict(drafts())


def test_a_finding_names_file_line_message_and_field(tmp_path: Path) -> None:
    file = tmp_path / "Draft.json"
    text = DRAFTS["misspelt key of a field"]
    file.write_text(f"// a licence,\n// of two lines\n{text}")
    line = text[: text.index('"Note"')].count("\n") + 2
    found = [each for each in check_folder(tmp_path, catalog(), "4.4") if each.rule == "key-unknown"]
    reason = '"nullableVersion" is no key of a field; did you mean nullableVersions?'
    assert found == [DraftFinding(str(file), line, "DraftRequest", "note", "key-unknown", reason)]
    assert str(found[0]) == f"{file}:{line}: DraftRequest: note: {reason} [key-unknown]"


def test_a_released_version_that_changes_is_found_in_its_line(tmp_path: Path) -> None:
    raw = {key: value for key, value in to_raw(catalog().message("FetchResponse")).items() if key != "releases"}
    raw["fields"][3]["fields"][2]["fields"][2]["type"] = "int32"
    (tmp_path / "FetchResponse.json").write_text(json.dumps(raw, indent=1))
    found = [each for each in check_folder(tmp_path, catalog(), "4.4") if each.rule == "released-type"]
    assert [(each.path, each.text) for each in found] == [
        ("responses.partitions.highWatermark", "int32, but it was int64 in v4-18, which 4.4 speaks")
    ]
    lines = (tmp_path / "FetchResponse.json").read_text().splitlines()
    assert "highWatermark" in lines[found[0].line]


def test_pairs_and_keys(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(DRAFTS["sound"].replace("900", "1"))
    (tmp_path / "b.json").write_text(DRAFTS["sound"].replace("900", "1"))
    found = {each.rule for each in check_folder(tmp_path, catalog(), "4.4")}
    assert found == {"key-taken", "message-twice", "no-counterpart"}


@pytest.mark.parametrize("depth", [40, 200, 330, 2000])
def test_structs_in_structs_in_structs(tmp_path: Path, depth: int) -> None:
    """Whatever a parser, a rule or a grammar gives up first."""
    inner = '{"name": "A", "type": "int32", "versions": "0+"}'
    for number in range(depth):
        inner = f'{{"name": "S", "type": "S{number}", "versions": "0+", "fields": [{inner}]}}'
    head = '"name": "D", "type": "data", "validVersions": "0-32767", "flexibleVersions": "none"'
    (tmp_path / "deep.json").write_text(f'{{{head}, "fields": [{inner}]}}')
    assert check_folder(tmp_path, catalog(), "4.4")


def test_a_folder_without_definitions_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "dialect.json").write_text("{}")
    with pytest.raises(InputError, match="no message definitions"):
        check_folder(tmp_path, catalog(), "4.4")


@pytest.mark.parametrize(
    "text", ["", "[]", '{"fields": [[[', "[" * 100_000, '{"a": ' + "9" * 5000 + "}", "\0", '{"name": 5}']
)
def test_other_files_are_findings(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert check_folder(tmp_path, catalog(), "4.4")
