"""Records spliced into an encoded response: the bytes are those the codec would have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.broker.fetch.records_slot import SLOT, fill_slots, length_of
from kcli.broker.storage.file_pool import LogFile
from kcli.broker.storage.segment import Slice
from kcli.grammar import messages


@pytest.mark.parametrize("version", [4, 11, 12, 18])
@pytest.mark.parametrize("sizes", [[20_000], [1, 127, 128, 16_383, 16_384], [300_000, 0, 5]])
def test_the_bytes_are_the_codecs(tmp_path: Path, version: int, sizes: list[int]) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 1200)
    file = LogFile(path)
    codec = messages.response(1, version)
    name = {"topicId": "B" * 21 + "A"} if version >= 13 else {"topic": "t"}

    def body(records: list[bytes]) -> dict[str, object]:
        rows = [{"partitionIndex": at, "errorCode": 0, "records": each} for at, each in enumerate(records)]
        return {"responses": [name | {"partitions": rows}]}

    slices = [Slice(file, at, size) for at, size in enumerate(sizes)]
    made = fill_slots(codec.write(body([SLOT] * len(sizes))), slices, version >= 12)
    sent = b"".join(each if isinstance(each, bytes) else b"".join(each) for each in made.pieces)
    assert sent == codec.write(body([each.read() for each in slices]))


@pytest.mark.parametrize(("size", "compact"), [(0, "01"), (126, "7f"), (127, "8001"), (16_383, "808001")])
def test_lengths(size: int, compact: str) -> None:
    assert length_of(size, True).hex() == compact
    assert length_of(size, False) == size.to_bytes(4, "big")
