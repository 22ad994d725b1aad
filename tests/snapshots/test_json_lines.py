import json

import pytest

from kcli.core.snapshots.snapshot_json import JsonLines
from kcli.snapshots.json_lines import CHUNK, RecordLines
from tests.records.test_secrets import SCRAM, batch
from tests.snapshots.files import all_files, damaged, dumped, without_ours
from tests.snapshots.made import headers, snapshot, with_crc


def rows_of(data: bytes, maker: RecordLines | None = None, log: bool = False) -> list[dict[str, object]]:
    maker = maker or RecordLines(secrets=True)
    text = b"".join(bytes(piece) for piece in maker.lines(memoryview(data), log=log))
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("number", range(len(all_files())))
def test_every_record_is_what_kafka_s_own_dump_says(number: int) -> None:
    file, dump = all_files()[number]
    rows, truth = rows_of(file.read_bytes()), list(dumped(dump))
    assert [(row["offset"], row["type"]) for row in rows] == [each[:2] for each in truth]
    for row, (_, _, version, data) in zip(rows, truth, strict=True):
        if data is not None:
            assert (row["version"], without_ours(row["data"])) == (version, data)


def test_records_that_the_kernel_leaves_have_the_same_text() -> None:
    """Here it leaves all of them."""
    for file, _ in all_files()[::7]:
        data = file.read_bytes()
        for log in (False, True):
            interpreted = RecordLines(names=log)
            interpreted.kernel = JsonLines(lambda *_: None, CHUNK, False)
            assert rows_of(data, interpreted, log) == rows_of(data, RecordLines(names=log), log)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("unknown-type", "unknown record type 99"),
        ("unknown-version", "TopicRecord v7 is unknown"),
        ("unknown-frame-version", "unknown frame version"),
        ("null-value", "no value"),
        ("crc-fixed-extra-byte", "1 bytes after the end"),
        ("crc-fixed-bad-length", "needs 4 bytes"),
        ("unknown-control-type", "unknown control record type 77"),
    ],
)
def test_what_can_t_be_read_is_a_line_with_its_reason(case: str, reason: str) -> None:
    maker = RecordLines()
    rows = rows_of(damaged(case).read_bytes(), maker)
    (bad,) = [row for row in rows if row["type"] is None]
    assert reason in str(bad["reason"])
    assert list(bad) == ["offset", "type", "apiKey", "version", "data", "reason"]
    assert set(dict(bad["data"])) == {"base64"}  # type: ignore[call-overload]
    assert len(maker.problems) == 1
    assert len(rows) > 480  # everything else is there


def test_a_record_with_a_key_is_read_and_said() -> None:
    (row,) = [each for each in rows_of(damaged("with-key").read_bytes()) if "reason" in each]
    assert row["type"] == "TOPIC_RECORD"


def test_unknown_tags_are_kept() -> None:
    (row,) = [each for each in rows_of(damaged("unknown-tagged-field").read_bytes()) if each["offset"] == 191]
    assert row["data"]["_unknownTaggedFields"] == [{"tag": 50, "data": "eHl6"}]  # type: ignore[index]


def test_a_wrong_checksum_is_a_problem_and_the_records_still_come() -> None:
    maker = RecordLines()
    assert len(rows_of(damaged("bit-flip-crc-field").read_bytes(), maker)) == 487
    assert maker.problems == ["at byte 166: the batch's checksum is wrong"]


@pytest.mark.parametrize("secrets", [False, True])
def test_under_a_wrong_checksum_a_type_is_not_known_for_sure(secrets: bool) -> None:
    """One bit in a SCRAM record's type, and its keys were shown as those of a broker's registration."""
    data = bytearray(batch(SCRAM))
    data[data.index(b"\1\x0b\0", 61) + 1] = 0
    (row,) = rows_of(bytes(data), RecordLines(secrets=secrets))
    assert (row["type"], row["apiKey"]) == (None, 0)
    assert list(dict(row["data"])) == (["base64"] if secrets else ["redacted"])  # type: ignore[call-overload]


def test_bytes_that_are_no_batch_are_an_event() -> None:
    maker = RecordLines()
    *_, last = rows_of(damaged("trailing-garbage").read_bytes(), maker)
    assert (last["event"], last["position"], last["bytes"]) == ("unreadable", 38369, 64)
    *_, event, _ = rows_of(damaged("magic-1").read_bytes(), RecordLines())
    assert event["position"] == 166


def test_pieces_are_whole_lines_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.snapshots.json_lines.CHUNK", 500)
    data = all_files()[-1][0].read_bytes()
    pieces = [bytes(piece) for piece in RecordLines().lines(memoryview(data))]
    assert all(piece.endswith(b"\n") for piece in pieces)
    assert max(map(len, pieces)) < 3000
    assert len(b"".join(pieces).splitlines()) == sum(batch.record_count for batch in headers(data))


def test_a_checksum_that_was_set_right_again() -> None:
    data = snapshot()
    assert with_crc(data, headers(data)[1]) == data


def test_a_key_and_a_version_of_five_bytes_are_kafkas_ints() -> None:
    """A column of int32 holds them, in SQL and in the pipeline."""
    line = json.loads(RecordLines().unread_line(7, 9395240959, (1 << 35) - 1, memoryview(b""), "odd"))
    assert (line["apiKey"], line["version"]) == (805306367, -1)
