"""A folder of drafts: each finding with file, line, message and field."""

import json
from pathlib import Path

import pytest

from kcli.errors import InputError, SchemaError
from kcli.schemas.catalog import catalog
from kcli.schemas.checks.draft_check import DraftFinding, check_folder
from kcli.schemas.table_files import to_raw
from tests.greeting import greeting
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


SETTINGS = [
    ("{", ["json"]),
    ("[]", ["json"]),
    ('{} "more"', ["json"]),
    ('{"apiKeys": {"Greet": "x"}}', ["setting apiKeys.Greet"]),
    ('{"apiKeys": {"Greet": 3}}', ["key-taken apiKeys.Greet"]),
    ('{"apiKeys": {"Gret": 30001}}', ["api-unknown apiKeys.Gret"]),
    ('{"error": {}}', ["unknown-setting error"]),
    ('{"errors": {"3": "FOO"}}', ["error-taken errors.3"]),
    ('{"errors": {"30227": 5}, "apiKeys": 3}', ["setting apiKeys", "setting errors.30227"]),
    ('{"apiKeys": {"Greet": 30001}, "errors": {"3": "UNKNOWN_TOPIC_OR_PARTITION", "30227": "BAD_MOOD"}}', []),
]


@pytest.mark.parametrize(("text", "wrong"), SETTINGS)
def test_the_settings_are_judged_as_they_are_read(tmp_path: Path, text: str, wrong: list[str]) -> None:
    """What check finds keeps the dialect from being read, but for a key that is passed over and text behind."""
    folder = greeting(tmp_path)
    (tmp_path / "dialect.json").write_text(text)
    found = check_folder(tmp_path, catalog(), "4.4")
    assert sorted(f"{each.rule} {each.path}".strip() for each in found) == wrong
    assert {each.file for each in found} <= {str(tmp_path / "dialect.json")}
    try:
        refused = catalog(folder) is None
    except InputError:
        refused = True
    assert refused == any(not each.startswith("unknown-setting") and "more" not in text for each in wrong)


def test_a_setting_is_found_in_its_line(tmp_path: Path) -> None:
    greeting(tmp_path)
    (tmp_path / "dialect.json").write_text('{"source": "a KIP",\n "apiKeys":\n  {"Greet": 3}}')
    (found,) = check_folder(tmp_path, catalog(), "4.4")
    assert str(found).endswith("dialect.json:3: apiKeys.Greet: API key 3 is that of Metadata [key-taken]")


def greet_with(folder: Path, message: str, **changes: object) -> None:
    greeting(folder)
    path = folder / f"{message}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_request_and_response_have_one_key(tmp_path: Path) -> None:
    greet_with(tmp_path, "GreetResponse", apiKey=30200)
    (found,) = check_folder(tmp_path, catalog(), "4.4")
    wrong = "GreetResponse: API key 30200, but GreetRequest has 30100"
    assert (found.file, str(found).partition(": ")[2]) == (
        str(tmp_path / "GreetResponse.json"),
        f"{wrong} [keys-differ]",
    )
    with pytest.raises(SchemaError, match=wrong):
        catalog(str(tmp_path))


@pytest.mark.parametrize(
    ("written", "said"),
    [("boolean", "did you mean bool?"), ("strng", "did you mean string?"), ("item", "begins with a capital letter")],
)
def test_a_type_that_was_meant_is_named(tmp_path: Path, written: str, said: str) -> None:
    greet_with(tmp_path, "GreetRequest", fields=[{"name": "Name", "type": written, "versions": "0+"}])
    [found] = check_folder(tmp_path, catalog(), "4.4")
    assert f"'{written}' is no type; " in str(found) and said in str(found)


def test_a_mate_with_another_mistake_is_no_mate_that_is_missing(tmp_path: Path) -> None:
    field = {"name": "Name", "type": "strng", "versions": "0+"}
    greet_with(tmp_path, "GreetRequest", fields=[field])
    assert [each.rule for each in check_folder(tmp_path, catalog(), "4.4")] == ["type-unknown"]
    (tmp_path / "GreetRequest.json").write_text("{")
    assert [each.rule for each in check_folder(tmp_path, catalog(), "4.4")] == ["json"]
    (tmp_path / "GreetRequest.json").unlink()
    assert [each.rule for each in check_folder(tmp_path, catalog(), "4.4")] == ["no-counterpart"]


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
