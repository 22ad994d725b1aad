"""Which captures nobody writes any more."""

import re
from pathlib import Path

import pytest

from kcli.errors import UsageError
from kcli.pipeline.series import series_of, series_pattern, settled
from kcli.pipeline.storage import StoredFile


@pytest.mark.parametrize(
    ("files", "now", "whole"),
    [
        ([("a.pcap1", 10), ("a.pcap2", 20)], 21, ["a.pcap1"]),
        ([("a.pcap1", 10), ("a.pcap2", 20)], 80, ["a.pcap1", "a.pcap2"]),
        ([("a.pcap", 10), ("b.pcap", 20)], 21, []),
        ([("d_10:15.pcap", 10), ("d_10:20.pcap", 15)], 16, ["d_10:15.pcap"]),
        ([("broker1.pcap", 10), ("broker2.pcap", 20)], 21, []),
        ([("broker-1.pcap.gz", 10), ("broker-12.pcap.gz", 20)], 21, []),
        ([("broker1.pcap1", 10), ("broker2.pcap1", 15), ("broker2.pcap2", 20)], 21, ["broker2.pcap1"]),
        (
            [("k_00001_20261121101500.pcapng", 10), ("k_00002_20261121111500.pcapng", 20)], 21,
            ["k_00001_20261121101500.pcapng"],
        ),
    ],
)  # fmt: skip
def test_captures_that_are_whole(files: list[tuple[str, int]], now: int, whole: list[str]) -> None:
    stored = [StoredFile(f"/x/{name}", 1, at) for name, at in files]
    assert [Path(each.uri).name for each in settled(stored, now)] == whole


@pytest.mark.parametrize(
    ("name", "series"),
    [
        ("a.pcap", "a.pcap"), ("a.pcap12", "a.pcap"), ("a.pcap3.zst", "a.pcap"), ("a_00012.pcapng", "a_.pcapng"),
        ("node7-2026-11-21_10:15:00.pcap", "node7-.pcap"), ("s3-20261121T101500.pcap", "s3-.pcap"),
        ("kafka-0.pcap", "kafka-0.pcap"), ("notes", "notes"),
    ],
)  # fmt: skip
def test_what_files_of_one_rotation_have_in_common(name: str, series: str) -> None:
    assert series_of(f"/x/{name}") == f"/x/{series}"
    assert series_of(f"s3://b/{name}?region=eu-1") == f"s3://b/{series}"


def test_a_pattern_says_it_in_another_way() -> None:
    first, named = re.compile(r"broker\d+"), re.compile(r"^(\w+)-part")
    assert series_of("/x/dump-broker12-7.pcap", first) == "/x/broker12"
    assert series_of("/x/web-part7.pcap", named) == "/x/web"
    assert series_of("/x/other.pcap", first) == "/x/other.pcap"
    assert series_pattern(None) is None
    with pytest.raises(UsageError, match="--series"):
        series_pattern("(")
