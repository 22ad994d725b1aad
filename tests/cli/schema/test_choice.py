"""Which messages a word on the command line means."""

from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.schema.choice import chosen, named, with_versions
from kcli.errors import UsageError
from kcli.schemas.catalog import catalog
from tests.greeting import greeting


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("Fetch", ["FetchRequest", "FetchResponse"]),
        ("1", ["FetchRequest", "FetchResponse"]),
        ("LIST_OFFSETS", ["ListOffsetsRequest", "ListOffsetsResponse"]),
        ("fetch-request", ["FetchRequest"]),
        ("PartitionRecord", ["PartitionRecord"]),
    ],
)
def test_a_message_or_both_of_an_api(word: str, names: list[str]) -> None:
    assert named(catalog(), word) == names


def test_a_folder_means_all_that_it_defines(tmp_path: Path) -> None:
    folder = greeting(tmp_path)
    dialect, _, found = chosen(folder, 1, None)
    assert (dialect, [each.name for each in found]) == (folder, ["GreetRequest", "GreetResponse"])
    _, _, found = chosen("Greet", None, folder)
    assert [each.name for each in found] == ["GreetRequest", "GreetResponse"]


def test_a_message_goes_before_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    greeting(tmp_path / "fetch")
    monkeypatch.chdir(tmp_path)
    assert [each.name for each in chosen("fetch", None, None)[2]] == ["FetchRequest", "FetchResponse"]
    assert [each.name for each in chosen("./fetch", None, None)[2]] == ["GreetRequest", "GreetResponse"]
    with pytest.raises(UsageError, match="no such message or API"):
        chosen("", None, None)


def test_a_version_that_there_is_not() -> None:
    with pytest.raises(UsageError, match=r"FetchRequest has no version 99 \(versions 0-18\)"):
        with_versions([catalog().message("FetchRequest")], 99)
    assert with_versions([catalog().message("FetchRequest")], None) == [catalog().message("FetchRequest")]


def test_a_version_that_only_the_request_has_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = greeting(tmp_path)
    draft = next(Path(folder).rglob("GreetRequest.json"))
    draft.write_text(draft.read_text().replace('"0-1"', '"0-2"'))
    _, _, found = chosen(folder, 2, None)
    assert [each.name for each in found] == ["GreetRequest"]
    assert capsys.readouterr().err == "kcli: GreetResponse has no version 2 (versions 0-1)\n"
    assert main(["schema", "show", "Greet", "2", "--dialect", folder, "-q"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("GreetRequest v2") and not shown.err
    with pytest.raises(UsageError, match="GreetRequest has no version 3"):
        chosen(folder, 3, None)
