"""Tuples there and back; that they are what Kafka reads is tested in tests/records."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

core = pytest.importorskip("kcli.core.records.record_values")

contents = st.none() | st.binary(max_size=200)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
headers = st.lists(st.tuples(st.text(max_size=9), contents), max_size=3)


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(-(1 << 31), (1 << 31) - 1), int64, contents, contents, headers), max_size=6),
    base_offset=int64,
    base_timestamp=int64,
)
def test_there_and_back(rows: list[tuple[Any, ...]], base_offset: int, base_timestamp: int) -> None:
    placed = [(wrap(base_offset + delta), *rest) for delta, *rest in rows]
    bare = [(*front, [(name.encode(), value) for name, value in pairs]) for *front, pairs in placed]
    data = core.write_records(bare, base_offset, base_timestamp)
    found, problem = core.read_records(data, len(rows), base_offset, base_timestamp, False)
    assert problem is None and found == [(*front, tuple(pairs)) for *front, pairs in placed]
    more = core.read_records(data, len(rows) + 1, base_offset, base_timestamp, False)
    assert more[1] is not None and more[1][0] == 9 and len(more[0]) == len(rows)


def wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def test_header_keys_that_are_no_text_keep_their_bytes() -> None:
    data = core.write_records([(0, 0, None, None, [(b"\xff", None)])], 0, 0)
    ((_, _, _, _, ((key, _),)),), _ = core.read_records(data, 1, 0, 0, False)
    assert key.encode("utf-8", "surrogateescape") == b"\xff"


def test_values_of_other_types_are_refused() -> None:
    with pytest.raises(TypeError):
        core.write_records([(0, 0, "text", None, [])], 0, 0)
