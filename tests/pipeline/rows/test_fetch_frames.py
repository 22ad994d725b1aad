"""Frames without records, and back at their full size."""

from pathlib import Path
from typing import Any

import numpy
import pytest

from kcli.capture.kafka.exchange import Exchange
from kcli.core.sessions.fetches import filled
from kcli.pipeline.rows.fetch_frames import FRAMED
from tests.capture.decoding import as_values, pieces
from tests.oracle.odd import make_all_odd
from tests.pipeline.outputs import rows_of, run_here

ROOT = Path(__file__).parents[3]
CAPTURES = ("samples/java44-consume-classic.pcap", "samples/kcat-codecs.pcap", "tests/capture/data/mid-stream.pcap.zst")


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("name", CAPTURES)
def test_frames_come_back_at_their_size(name: str, odd: bool, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no records is what it was; of odd exchanges all is."""
    items = [each for part in pieces(as_values([str(ROOT / name)])) for each in part]
    framed = {
        (each.connection, each.request_ns, each.correlation_id): each
        for each in items if isinstance(each, Exchange) and each.api_key in FRAMED
    }  # fmt: skip
    if odd:
        make_all_odd(monkeypatch)
    run_here([ROOT / name], output, shares=1)
    rows, shorter = rows_of(output, "fetch_frames"), 0
    for row in rows:
        number = int.from_bytes(row["request"][4:8], "big", signed=True)
        item = framed.pop((row["connection"], row["request_ns"], number))
        assert (row["request"], row["response_ns"]) == (item.request_frame, item.response_ns)
        if row["response"] is None:
            assert item.response_frame is None
            continue
        whole = filled(row["response"], row["cuts"])
        assert len(whole) == len(item.response_frame or b"")
        again = Exchange(item.link, item.request_ns, row["request"], item.response_ns, whole, item.bodies)
        assert shapes(again.response) == shapes(item.response)
        assert all(size >= 61 for _, size in numpy.frombuffer(row["cuts"], numpy.int64).reshape(-1, 2).tolist())
        shorter += len(row["response"]) < len(whole)
    assert rows and not framed
    assert bool(shorter) is not odd


def shapes(value: Any) -> Any:
    """A value with the sizes of its records."""
    if isinstance(value, dict):
        return {name: shapes(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shapes(each) for each in value]
    return len(value) if isinstance(value, (bytes, memoryview)) else value


def test_without_cuts_a_response_is_whole() -> None:
    assert filled(b"x", b"") == b"x"
    assert filled(b"ab", numpy.array([1, 3], numpy.int64).tobytes()) == b"a\0\0\0b"
