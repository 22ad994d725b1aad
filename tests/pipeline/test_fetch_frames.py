"""Frames without records: the core's and those made row by row, and back at their full size."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.kafka.exchange import Exchange
from kcli.pipeline import row_source
from kcli.pipeline.fetch_frames import FRAMED, filled, frame_row, without_records
from tests.pipeline.outputs import rows_of, run_here

ROOT = Path(__file__).parents[2]
CAPTURES = ("samples/java44-consume-classic.pcap", "samples/kcat-codecs.pcap", "tests/capture/data/mid-stream.pcap.zst")


@pytest.mark.parametrize("name", CAPTURES)
def test_the_core_makes_the_rows_that_are_made_one_by_one(
    name: str, output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(monkeypatch, [ROOT / name], output, shares=1)

    def slower(
        self: Any, put: Any, wanted: Any = row_source.EVERY_TABLE, put_batch: Any = None, **options: Any
    ) -> None:
        begin(self, put, wanted, None, **options)

    begin = row_source.RowSource.__init__
    with monkeypatch.context() as patch:
        patch.setattr(row_source.RowSource, "__init__", slower)
        run_here(patch, [ROOT / name], tmp_path / "slower", shares=1)
    ours, theirs = (sorted(rows_of(each, "fetch_frames"), key=str) for each in (output, tmp_path / "slower"))
    assert ours == theirs
    assert ours


@pytest.mark.parametrize("name", CAPTURES)
def test_frames_come_back_at_their_size(name: str) -> None:
    """What is no records is what it was."""
    items = [each for part in CaptureDecoder([str(ROOT / name)]).pieces() for each in part]
    framed = [each for each in items if isinstance(each, Exchange) and each.api_key in FRAMED and each.response_frame]
    shorter = 0
    for item in framed:
        *_, request, response, cuts = frame_row(item, 0)
        whole = filled(response, cuts)
        assert (request, len(whole)) == (item.request_frame, len(item.response_frame or b""))
        again = Exchange(item.link, item.request_ns, request, item.response_ns, whole, item.bodies)
        assert shapes(again.response) == shapes(item.response)
        shorter += len(response) < len(whole)
    assert shorter


def shapes(value: Any) -> Any:
    """A value with the sizes of its records."""
    if isinstance(value, dict):
        return {name: shapes(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shapes(each) for each in value]
    return len(value) if isinstance(value, (bytes, memoryview)) else value


def test_short_records_stay_and_empty_ones_are_none() -> None:
    records = [b"a" * 60, None, b"", b"b" * 61, b"c" * 200]
    response = b"head" + b"-".join(each or b"" for each in records) + b"tail"
    short, cuts = without_records(response, records)
    assert short == b"head" + b"a" * 60 + b"---" + b"-" + b"tail"
    assert [size for _, size in numpy.frombuffer(cuts, numpy.int64).reshape(-1, 2).tolist()] == [61, 200]
    whole = filled(short, cuts)
    assert len(whole) == len(response)
    assert whole.replace(b"\0", b"") == short
    assert all(a <= b for a, b in pairwise(numpy.frombuffer(cuts, numpy.int64)[::2].tolist()))
    assert filled(b"x", b"") == b"x"
