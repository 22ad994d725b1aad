import pytest

from kcli.snapshots.rules.evidence import Evidence
from kcli.snapshots.rules.examination import examine, has_unknown_tags
from tests.snapshots.files import LAST_431, damaged, log_file


def seen(case: str) -> Evidence:
    file = damaged(case)
    return examine(memoryview(file.read_bytes()), file.name)


def test_a_sound_snapshot() -> None:
    file = log_file(LAST_431)
    found = examine(memoryview(file.read_bytes()), file.name)
    assert (found.batches, found.control_batches, found.is_snapshot, found.end_offset) == (3, [0, 2], True, 487)
    assert [each.name for each in found.controls] == [
        "SNAPSHOT_HEADER",
        "KRAFT_VERSION",
        "KRAFT_VOTERS",
        "SNAPSHOT_FOOTER",
    ]
    assert (len(found.topics), found.partitions.count, len(found.brokers), len(found.controllers)) == (28, 297, 1, 1)
    assert not any(
        map(len, (found.malformed, found.undecoded, found.duplicates, found.strays, found.gaps, found.counts))
    )


@pytest.mark.parametrize(
    ("case", "field", "item"),
    [
        ("bit-flip-crc-field", "bad_checksums", (166, 520196241, 520130705)),
        ("no-header", "gaps", (0, 0, 3)),
        ("batch-missing", "gaps", (42018, 355, 363)),
        ("magic-1", "magics", (166, 1)),
        ("with-key", "malformed", (191, 2, "key")),
        ("unknown-tagged-field", "repeats", (191, "s12.veunhifsv15")),
        ("orphan-partition", "strays", (351, "s12.veunhifsv15")),
    ],
)
def test_what_damage_leaves_behind(case: str, field: str, item: tuple[object, ...]) -> None:
    assert getattr(seen(case), field).items == [item]


def test_a_second_look_gives_every_record() -> None:
    file = log_file(LAST_431)
    found = examine(memoryview(file.read_bytes()), file.name)
    assert sum(1 for row, _ in found.rescan() if row[1] == 3) == 297


def test_tags_are_found_at_any_depth() -> None:
    assert has_unknown_tags({"a": [{"b": 1}, {"_unknownTaggedFields": []}]})
    assert not has_unknown_tags({"a": [1, 2], "b": {"c": None}})
