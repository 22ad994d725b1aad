"""What definitions say of fields besides their bytes."""

from pathlib import Path

from kcli.schemas.definition import build
from kcli.schemas.vectors.notes import NOTES, notes_of, notes_text, read_notes
from tests.schemas.definitions import field, message

RAW = message(
    "Draft",
    field("A", about="What A is.", ignorable=True, mapKey=False),
    field("B", "[]Inner", fields=[field("C", entityType="brokerId")]),
    field("D", "[]Shared"),
    field("E", "Inner"),
    commonStructs=[{"name": "Shared", "versions": "0+", "fields": [field("F", about="f")]}],
)


def test_notes_go_by_the_paths_of_fields() -> None:
    assert notes_of(RAW) == {
        "a": {"ignorable": True, "about": "What A is."},
        "b.c": {"entityType": "brokerId"},
        "d.f": {"about": "f"},
        "e.c": {"entityType": "brokerId"},
    }


def test_a_file_holds_the_facts_of_fields_that_are_there(tmp_path: Path) -> None:
    notes = notes_of(RAW) | {"gone": {"ignorable": True}}
    (tmp_path / NOTES).write_text(notes_text([build(RAW)], {"Draft": notes, "Other": notes}))
    facts = {"a": {"ignorable": True}, "b.c": {"entityType": "brokerId"}, "e.c": {"entityType": "brokerId"}}
    assert read_notes(tmp_path) == {"Draft": facts}
    assert read_notes(tmp_path / "none") == {}
