"""Batches of idempotent producers with other numbers, and old messages as batches of magic 2."""

from kcli.records import build_batch, build_message_set, scan
from kcli.replay.produced_batches import Numbered, counted, producers_in, producers_of, renumbered, to_magic_2

ROWS = [(1_000 + n, b"k%d" % n, b"v" * n, ()) for n in range(5)]
OLD, NEW = Numbered(4, 1, 10), Numbered(900, 0, 3)


def batch(**options: object) -> bytes:
    return build_batch(ROWS, producer_id=4, producer_epoch=1, base_sequence=10, **options)  # type: ignore[arg-type]


def test_a_batch_gets_other_numbers_and_a_sound_checksum() -> None:
    seen: list[tuple[Numbered, int]] = []

    def renumber(old: Numbered, count: int) -> Numbered:
        seen.append((old, count))
        return NEW

    data = batch(codec="lz4") + build_batch(ROWS)
    made = list(scan(renumbered(data, renumber)))
    assert seen == [(OLD, 5)]
    assert (made[0].producer_id, made[0].producer_epoch, made[0].base_sequence) == NEW
    assert [each.crc_valid for each in made] == [True, True]
    assert list(made[0].records()) == list(next(scan(data)).records())
    assert made[1].producer_id == -1


def test_the_same_numbers_leave_the_bytes_as_they_are() -> None:
    data = batch()
    assert renumbered(data, lambda old, _: old) is data


def test_a_wrong_checksum_stays_wrong() -> None:
    data = bytearray(batch())
    data[-1] ^= 1
    assert next(scan(renumbered(bytes(data), lambda *_: NEW))).crc_valid is False


def test_damaged_bytes_are_passed_over() -> None:
    assert renumbered(b"\0" * 40, lambda *_: NEW) == b"\0" * 40
    assert producers_in(batch() + b"\xff" * 100) == {4}
    assert producers_of({"topicData": [{"partitionData": [{"records": batch()}, {"records": None}]}]}) == {4}
    assert [producers_of({"producerId": each}) for each in (-1, 9)] == [set(), {9}]
    compressed = build_message_set([(1, b"k", b"v" * 99)] * 3, codec="lz4")
    assert (counted(compressed), counted(compressed[:-20] + b"\xff" * 20)) == (3, 1)


def test_old_messages_become_one_batch() -> None:
    old = [(time, key, value) for time, key, value, _ in ROWS]
    for magic in (0, 1):
        for codec in ("none", "gzip"):
            data = build_message_set(old, magic=magic, codec=codec)
            made = list(scan(to_magic_2(data)))
            assert [(len(made), made[0].magic, made[0].crc_valid, made[0].codec)] == [(1, 2, True, codec == "gzip")]
            times = [time if magic else -1 for time, *_ in ROWS]
            assert [(row.timestamp, row.key, row.value) for row in made[0].records()] == [
                (time, key, value) for time, (_, key, value, _) in zip(times, ROWS, strict=True)
            ]
    assert counted(build_message_set(old)) == counted(batch()) == 5
    assert to_magic_2(batch()) == batch()
