"""Captures as they come: each once, also when a batch is done again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline.journal import Journal
from kcli.pipeline.run import Options, Work
from kcli.pipeline.storage import StoredFile
from kcli.pipeline.streaming import settled, stream
from tests.pipeline.outputs import assert_decoded, unaccounted
from tests.pipeline.test_run import rotated


@pytest.mark.parametrize(
    ("files", "now", "whole"),
    [
        ([("a.pcap1", 10), ("a.pcap2", 20)], 21, ["a.pcap1"]),
        ([("a.pcap1", 10), ("a.pcap2", 20)], 80, ["a.pcap1", "a.pcap2"]),
        ([("a.pcap", 10), ("b.pcap", 20)], 21, []),
        ([("d_10:15.pcap", 10), ("d_10:20.pcap", 15)], 16, ["d_10:15.pcap"]),
    ],
)
def test_captures_that_are_whole(files: list[tuple[str, int]], now: int, whole: list[str]) -> None:
    stored = [StoredFile(f"/x/{name}", 1, at) for name, at in files]
    assert [Path(each.uri).name for each in settled(stored, now)] == whole


def test_a_stream_that_dies_and_starts_again_is_the_batch_run(
    spark: Any, samples: Path, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    paths = rotated(samples, tmp_path, 3)
    commit = Journal.commit

    def place(path: Path, at: int) -> None:
        path.rename(source / path.name)
        os.utime(source / path.name, (at, at))

    def die_behind_the_entry(journal: Journal, entry: Any) -> None:
        commit(journal, entry)
        raise MemoryError

    monkeypatch.setattr(Work, "derive", lambda self: None)  # has tests of its own, and takes long
    place(paths[0], 100)
    with monkeypatch.context() as dying:
        dying.setattr(Journal, "commit", die_behind_the_entry)
        with pytest.raises(Exception, match="MemoryError"):
            stream(spark, [str(source)], Options(str(output)), 1, settle=0, idle=4)
    assert Journal(str(output)).last == 1
    place(paths[1], 101)
    place(paths[2], 102)
    made = stream(spark, [str(source)], Options(str(output)), 1, settle=0, idle=4)
    assert made.files == 2
    assert_decoded(output, [samples / "java44-txn.pcap"])
    assert unaccounted(output) == 0
