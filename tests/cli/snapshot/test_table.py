import pytest

from kcli.cli.snapshot.table import bar, survey_table, wrapped
from kcli.snapshots.reading.file_survey import survey
from tests.snapshots.files import LAST_431, damaged, log_file


def table(path: str) -> list[str]:
    file = log_file(path)
    return survey_table(survey(memoryview(file.read_bytes()), file.name), "F.checkpoint")


def test_one_screen() -> None:
    lines = table(LAST_431)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 120
    assert lines[-3:] == ["Next:", "  kcli snapshot image F.checkpoint", "  kcli snapshot verify F.checkpoint"]
    (row,) = [line for line in lines if "PartitionRecord v2" in line]
    assert "297" in row
    assert "█" * 24 in row


def test_a_segment() -> None:
    first, second, *_ = table("431-single/n1/__cluster_metadata-0/00000000000000000053.log")
    assert first.startswith("metadata log segment from offset 53   offsets 53-426   2026-11-21")
    assert second == "374 records, 27.3 kB, 3 batches, CRCs good"


def test_damage_shows() -> None:
    for case, text in (
        ("no-footer", "NO FOOTER"),
        ("bit-flip-crc-field", "1 CRC WRONG"),
        ("unknown-type", "1 NOT READ"),
        ("compressed-gzip", "compressed: gzip"),
    ):
        file = damaged(case)
        assert text in "\n".join(survey_table(survey(memoryview(file.read_bytes()), file.name), "F"))


def test_words() -> None:
    assert (bar(0, 0), bar(1, 1000), bar(1000, 1000)) == ("▏", "▏", "█" * 24)
    assert (bar(1000, 1000, 5), bar(7, 1000, 0)) == ("█" * 5, "")
    assert wrapped("a   bb   ccc", 7) == ["a   bb", "  ccc"]
    assert wrapped("one two three", 8) == ["one two", "  three"]


@pytest.mark.parametrize("width", [60, 100, 200])
def test_a_type_is_a_line_however_narrow(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = table(LAST_431)
    assert max(map(len, lines)) <= width
    assert next(line for line in lines if "PartitionRecord v2" in line).endswith("kB")
