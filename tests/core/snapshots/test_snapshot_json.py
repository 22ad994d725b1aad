from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("kcli.core.snapshots.snapshot_json")

from kcli.core.records.batches import HEADER_SIZE
from kcli.core.snapshots.snapshot_json import JsonLines
from kcli.snapshots.json_lines import RecordLines
from tests.snapshots.made import headers, snapshot

DATA = snapshot()
BATCH = headers(DATA)[1]
BODY = DATA[BATCH.position + HEADER_SIZE : BATCH.end]


def gathered(maker: JsonLines, body: bytes = BODY, count: int = BATCH.record_count) -> tuple[list[Any], list[Any]]:
    lines, rows = [], []
    for piece in maker.lines(body, 1, count):
        if isinstance(piece, tuple):
            rows.append(piece)
        else:
            lines += [json.loads(line) for line in bytes(piece).splitlines()]
    return lines, rows


def test_lines_of_a_body() -> None:
    lines, rows = gathered(JsonLines(RecordLines().node))
    assert rows == []
    assert [line["offset"] for line in lines] == list(range(1, 1 + BATCH.record_count))
    assert lines[0] == {
        "offset": 1,
        "type": "FEATURE_LEVEL_RECORD",
        "version": 0,
        "data": {"name": "metadata.version", "featureLevel": 30},
    }


def test_the_node_of_a_kind_is_asked_for_once() -> None:
    asked = []

    def node(key: int, version: int) -> tuple[bytes, Any] | None:
        asked.append((key, version))
        return None if key == 3 else RecordLines().node(key, version)

    maker = JsonLines(node)
    lines, rows = gathered(maker)
    assert [row[1] for row in rows] == [3, 3]
    assert len(lines) + len(rows) == BATCH.record_count
    assert len(asked) == len(set(asked))
    assert gathered(maker)[0] == lines


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_body_that_is_cut(cut: int) -> None:
    _, rows = gathered(JsonLines(RecordLines().node), BODY[:-cut])
    assert [row[5] for row in rows] == ["record"]


def test_a_body_with_more_behind_it() -> None:
    _, rows = gathered(JsonLines(RecordLines().node), BODY + b"xyz")
    assert [row[5] for row in rows] == ["surplus"]


def test_small_pieces() -> None:
    pieces = list(JsonLines(RecordLines().node, 1).lines(BODY, 1, BATCH.record_count))
    assert len(pieces) == BATCH.record_count
