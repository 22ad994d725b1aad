from __future__ import annotations

import sys

import pytest

from kcli.snapshots.evidence import MOST, Control, Evidence, Noted, examine, has_unknown_tags, make_seen
from tests.snapshots.files import LAST_431, all_files, damaged, log_file
from tests.snapshots.made import NAME, snapshot


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
    assert not any(map(len, (found.odd, found.undecoded, found.duplicates, found.strays, found.gaps, found.counts)))


@pytest.mark.parametrize(
    ("case", "field", "item"),
    [
        ("bit-flip-crc-field", "bad_checksums", (166, 520196241, 520130705)),
        ("no-header", "gaps", (0, 0, 3)),
        ("batch-missing", "gaps", (42018, 355, 363)),
        ("magic-1", "magics", (166, 1)),
        ("with-key", "odd", (191, 2, "key")),
        ("unknown-tagged-field", "repeats", (191, "s12.veunhifsv15")),
        ("orphan-partition", "strays", (351, "s12.veunhifsv15")),
    ],
)
def test_what_damage_leaves_behind(case: str, field: str, item: tuple[object, ...]) -> None:
    assert getattr(seen(case), field).items == [item]


def test_a_file_is_a_snapshot_by_its_content_too() -> None:
    assert seen("wrong-name-log").is_snapshot
    assert not examine(memoryview(all_files()[0][0].read_bytes()), "x.log").is_snapshot


def test_lists_are_bounded() -> None:
    noted = Noted()
    for number in range(MOST + 50):
        noted.add(number)
    assert (len(noted.items), len(noted)) == (MOST, MOST + 50)


def test_a_second_look_gives_every_record() -> None:
    file = log_file(LAST_431)
    found = examine(memoryview(file.read_bytes()), file.name)
    assert sum(1 for row, _ in found.rescan() if row[1] == 3) == 297


def test_seen_the_fast_way_and_the_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = [hash(("x", number % 3000)) for number in range(6000)] + [0, 0, -1, -1]
    fast = list(map(make_seen(), hashes))
    monkeypatch.setitem(sys.modules, "kcli.core.codec.hash_set", None)
    assert list(map(make_seen(), hashes)) == fast
    assert fast.count(False) == 3002


def test_tags_are_found_at_any_depth() -> None:
    assert has_unknown_tags({"a": [{"b": 1}, {"_unknownTaggedFields": []}]})
    assert not has_unknown_tags({"a": [1, 2], "b": {"c": None}})


def test_a_log_is_no_snapshot() -> None:
    found = examine(memoryview(snapshot()), "00000000000000000000.log")
    assert found.base == 0
    assert Control(1, 0, 0, 99, 0, None).name == "control type 99"
    assert examine(memoryview(b""), NAME).end_offset is None
