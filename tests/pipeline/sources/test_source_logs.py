"""Segments and snapshots as rows, against kcli's own commands."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from kcli.cli.main import main
from kcli.errors import InputError
from kcli.pipeline.sources.source_logs import SegmentSource, SnapshotSource, folder_of
from kcli.records import build_batch
from tests.pipeline.sources.reading import read


def printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    main(words)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_records_are_those_of_decode_segment(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = read(SegmentSource({"path": str(samples / "orders-0")}))
    (log,) = (samples / "orders-0").glob("*.log")
    answer = printed(["decode", "segment", str(log), "--format", "jsonl", "--records", "full", "--quiet"], capsys)
    offsets = [record["offset"] for batch in answer for record in batch["records"]]
    assert [row["offset"] for row in rows] == offsets == list(range(482))
    assert {(row["topic"], row["partition"]) for row in rows} == {("orders", 0)}
    assert {row["compression"] for row in rows} == {batch["compression"] for batch in answer}
    tombstones = sum(record["value"] is None for batch in answer for record in batch["records"])
    assert sum(row["value"] is None for row in rows) == tombstones == 2
    assert all(row["crc_valid"] for row in rows)


def test_records_of_internal_topics_are_decoded(tmp_path: Path) -> None:
    key = b"\0\1\0\1g\0\1t\0\0\0\3"
    value = b"\0\3" + (7).to_bytes(8, "big") + b"\xff\xff\xff\xff\0\0" + (99).to_bytes(8, "big")
    folder = tmp_path / "__consumer_offsets-12"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(build_batch([(5, key, value, ())]))
    (row,) = read(SegmentSource({"path": str(tmp_path)}))
    record = json.loads(row["record"])
    assert record["type"] == "OFFSET_COMMIT"
    assert (record["key"]["data"]["topic"], record["key"]["data"]["partition"]) == ("t", 3)
    assert record["value"]["data"]["offset"] == 7
    assert (row["topic"], row["partition"]) == ("__consumer_offsets", 12)


def test_a_cut_segment(samples: Path, tmp_path: Path) -> None:
    (log,) = (samples / "orders-0").glob("*.log")
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(log.read_bytes()[:-10])
    assert 0 < len(read(SegmentSource({"path": str(path)}))) < 482
    path.write_bytes(log.read_bytes() + bytes(1000))
    assert len(read(SegmentSource({"path": str(path), "damage": "fail"}))) == 482


def test_snapshots_are_those_of_inspect(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = sorted((samples / "__cluster_metadata-0").glob("*.checkpoint"))[0]
    rows = read(SnapshotSource({"path": str(path)}))
    answer = printed(["snapshot", "inspect", str(path), "--records", "--format", "jsonl"], capsys)
    assert [(row["offset"], row["type"], json.loads(row["data"])) for row in rows] == [
        (each["offset"], each["type"], each["data"]) for each in answer
    ]


def test_a_damaged_snapshot(samples: Path, tmp_path: Path) -> None:
    whole = sorted((samples / "__cluster_metadata-0").glob("*.checkpoint"))[0]
    path = tmp_path / whole.name
    path.write_bytes(whole.read_bytes()[:-50])
    assert read(SnapshotSource({"path": str(path)}))
    with pytest.raises(InputError, match=str(path)):
        read(SnapshotSource({"path": str(path), "damage": "fail"}))


def test_the_folder_is_that_of_the_path() -> None:
    assert folder_of("/x/my-topic-3/0.log") == "my-topic-3"
    assert folder_of("s3://b/t-1/0.log?x=y-9/z") == "t-1"


@pytest.mark.parametrize(
    ("ms", "when"),
    [
        (253_402_300_799_999, datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)),
        (253_402_300_800_000, None),
        ((1 << 63) - 1, None),
        (-1, None),
        (-2, datetime(1969, 12, 31, 23, 59, 59, 998_000, UTC)),
        (-62_135_596_800_001, None),
    ],
)
def test_a_time_that_no_calendar_has_is_none(ms: int, when: datetime | None, tmp_path: Path) -> None:
    """Nor does what a delta leads to beyond 64 bits: it wraps, as in Java."""
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(build_batch([(ms, None, b"v", ()), (ms - 1 if ms < 0 else -1 << 63, None, b"w", ())]))
    first, second = read(SegmentSource({"path": str(path)}))
    assert first["timestamp"] == when
    assert (second["timestamp"] is None) == (ms not in (-1, -2))
