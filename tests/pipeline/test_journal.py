"""The journal of an output folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError
from kcli.pipeline.entry import Entry
from kcli.pipeline.journal import Journal, fingerprint
from kcli.pipeline.storage import StoredFile, gather
from kcli.pipeline.writing import WrittenFile


def entry_with(journal: Journal, name: str, *, passing: bool = False) -> Entry:
    """A run with one file."""
    entry = journal.begin()
    path = Path(journal.folder(entry)) / "lineage" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"rows")
    entry.add([WrittenFile("lineage", None, f"lineage/{name}", 1)], passing=passing)
    return entry


def files(output: Path) -> list[str]:
    return sorted(str(path.relative_to(output)) for path in output.rglob("*") if path.is_file())


def test_a_run_is_published_under_its_number(output: Path) -> None:
    journal = Journal(str(output))
    journal.commit(entry_with(journal, "a"))
    assert files(output) == ["_kcli/journal/00000001.json", "lineage/00000001-a"]
    assert Journal(str(output)).entries == journal.entries


def test_files_that_pass_are_replaced_by_the_next_run(output: Path) -> None:
    journal = Journal(str(output))
    journal.commit(entry_with(journal, "a", passing=True))
    assert journal.permanent("lineage") == []
    entry = entry_with(journal, "b")
    entry.drop = journal.passing()
    journal.commit(entry)
    assert files(output)[-1:] == ["lineage/00000002-b"]
    assert journal.permanent("lineage") == [str(output / "lineage/00000002-b")]


def test_a_run_that_died_before_its_entry_leaves_nothing(output: Path) -> None:
    journal = Journal(str(output))
    entry_with(journal, "a")
    journal.recover()
    assert files(output) == []


def test_a_run_that_died_behind_its_entry_is_published(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(str(output))
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "publish", lambda *_: None)
        journal.commit(entry_with(journal, "a"))
    assert files(output)[0] != "lineage/00000001-a"
    again = Journal(str(output))
    again.recover()
    again.recover()
    assert files(output) == ["_kcli/journal/00000001.json", "lineage/00000001-a"]


def test_two_runs_at_once(output: Path) -> None:
    one, other = Journal(str(output)), Journal(str(output))
    one.commit(entry_with(one, "a"))
    with pytest.raises(InputError, match="run 1 exists already"):
        other.commit(entry_with(other, "b"))


def test_what_is_no_entry_is_one_line(output: Path) -> None:
    (output / "_kcli" / "journal").mkdir(parents=True)
    (output / "_kcli" / "journal" / "00000001.json").write_text('{"no": 1}')
    with pytest.raises(InputError, match=r"00000001.json: not a journal entry of kcli pipeline"):
        Journal(str(output))


@pytest.mark.parametrize(
    "said",
    [
        {"folder": "../out"}, {"folder": ""}, {"drop": ["../../x"]}, {"carry": ["/etc/x"]}, {"files": [{}]},
        {"files": [{"path": "a", "table": "../x", "day": None}]}, {"files": 7},
    ],
)  # fmt: skip
def test_an_entry_names_no_file_elsewhere(said: dict[str, Any], output: Path) -> None:
    (output / "_kcli" / "journal").mkdir(parents=True)
    entry = {"run": 1, "folder": "_kcli/runs/x"} | said
    (output / "_kcli" / "journal" / "00000001.json").write_text(json.dumps(entry))
    with pytest.raises(InputError, match="not a journal entry of kcli pipeline"):
        Journal(str(output))


def test_a_file_is_known_by_its_ends(tmp_path: Path) -> None:
    for name, content in (("a", b"1" * 200_000), ("b", b"1" * 200_000), ("c", b"1" * 199_999 + b"2")):
        (tmp_path / f"{name}.pcap").write_bytes(content)
    marks = [fingerprint(file) for file in gather([str(tmp_path)])]
    assert marks[0] == marks[1] != marks[2]


def test_the_same_content_twice_is_fresh_once(tmp_path: Path, output: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.pcap").write_bytes(b"same")
    found = Journal(str(output)).fresh([StoredFile(str(tmp_path / f"{name}.pcap"), 4, 0) for name in "ab"])
    assert [Path(file.uri).name for file, _ in found] == ["a.pcap"]
