"""Which messages a word on the command line means."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.cli.schema.choice import chosen, known_version, named
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
        known_version(catalog().message("FetchRequest"), 99)
    known_version(catalog().message("FetchRequest"), None)
