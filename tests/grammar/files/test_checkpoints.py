"""Checkpoints and partition.metadata, both ways."""

from typing import Any

import pytest

from kcli.errors import DecodeError, EncodeError
from kcli.grammar.files.checkpoints import LEADER_EPOCH_CHECKPOINT, OFFSET_CHECKPOINT, PARTITION_METADATA, Decimal


@pytest.mark.parametrize(
    ("grammar", "data", "value"),
    [
        (LEADER_EPOCH_CHECKPOINT, b"0\n0\n", {"version": 0, "entries": []}),
        (LEADER_EPOCH_CHECKPOINT, b"0\n1\n3 -1\n", {"version": 0, "entries": [{"epoch": 3, "startOffset": -1}]}),
        (
            OFFSET_CHECKPOINT,
            b"0\n2\na.x 0 5\nb 12 9223372036854775807\n",
            {
                "version": 0,
                "entries": [
                    {"topic": "a.x", "partition": 0, "offset": 5},
                    {"topic": "b", "partition": 12, "offset": (1 << 63) - 1},
                ],
            },
        ),
        (PARTITION_METADATA, b"version: 0\ntopic_id: AAAA\n", {"version": 0, "topicId": "AAAA"}),
    ],
)
def test_files(grammar: Any, data: bytes, value: dict[str, Any]) -> None:
    assert grammar.parse(data) == value
    assert grammar.parse(data.removesuffix(b"\n")) | {"_encodings": None} == value | {"_encodings": None}
    assert grammar.build(value) == data


@pytest.mark.parametrize("data", [b"0\r\n1\r\n3 17\r\n", b" 0\n 1 \n3   17", b"0\n1\n\n3 17\n\n", b"00\n01\n03 17\n"])
def test_white_space_and_zeros_are_read_and_numbers_kept(data: bytes) -> None:
    found = LEADER_EPOCH_CHECKPOINT.parse(data)
    assert found["entries"] == [{"epoch": 3, "startOffset": 17}]
    assert LEADER_EPOCH_CHECKPOINT.parse(LEADER_EPOCH_CHECKPOINT.build(found))["entries"] == found["entries"]


def test_a_name_in_odd_bytes_is_kept() -> None:
    data = b"0\n1\n\xff\t 0 5\n"
    found = OFFSET_CHECKPOINT.parse(data)
    assert found["entries"][0]["topic"] == "\ufffd" and OFFSET_CHECKPOINT.build(found) == data


@pytest.mark.parametrize(
    ("grammar", "data", "said"),
    [
        (LEADER_EPOCH_CHECKPOINT, b"", "version: line 1: 0 expected, not ''"),
        (LEADER_EPOCH_CHECKPOINT, b"0\n" + b"9" * 10_000, "line 2: a number expected"),
        (LEADER_EPOCH_CHECKPOINT, b"0\n1\n3\n", r"entries\[0\].epoch: line 3: a number expected, not '3'"),
        (LEADER_EPOCH_CHECKPOINT, b"0\n1\n3 4\n5 6\n", "line 2 says 1 entry, 2 here"),
        (OFFSET_CHECKPOINT, b"0\n1\n" + b"t" * 300 + b" 0 1\n", "line 3: a name expected"),
        (OFFSET_CHECKPOINT, b"0\n1\n 0 1\n", "a number expected"),
        (OFFSET_CHECKPOINT, b"0\n1\na\tb 0 1\n", "line 3: a name expected"),
        (PARTITION_METADATA, b"version: 1\n", "version: line 1: 0 expected, not '1'"),
        (PARTITION_METADATA, b"version: 0\ntopic_id: \n", "topicId: line 2: a name expected"),
    ],
)
def test_what_is_no_such_file(grammar: Any, data: bytes, said: str) -> None:
    with pytest.raises(DecodeError, match=said):
        grammar.parse(data)


@pytest.mark.parametrize(
    ("grammar", "value"),
    [
        (Decimal(), "1"),
        (Decimal(), 1 << 63),
        (LEADER_EPOCH_CHECKPOINT, {"version": 0, "entries": 5}),
        (LEADER_EPOCH_CHECKPOINT, {"version": 1, "entries": []}),
        (OFFSET_CHECKPOINT, {"version": 0, "entries": [{"topic": "a b", "partition": 0, "offset": 0}]}),
        (PARTITION_METADATA, {"version": 0, "topicId": "\ud800"}),
    ],
)
def test_what_has_no_text(grammar: Any, value: object) -> None:
    with pytest.raises(EncodeError):
        grammar.build(value)
