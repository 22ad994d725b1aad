"""Exchanges as columns: the same text as lines have, and no row half written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcli.core import COMPILED

if not COMPILED:
    pytest.skip("the core is not built", allow_module_level=True)

import numpy

from kcli.capture.exchanges import Source
from kcli.core.rows import ExchangeRows
from tests.capture.messages import metadata, request, response
from tests.capture.wires import Wire, pcap


class Owner(Source):
    """A source with a sink of rows."""

    def choose_engine(self, ports: Any) -> Any:
        self.told: list[tuple[Any, ...]] = []
        self.flushes = 0
        self.sink = ExchangeRows(
            self.bodies, lambda *each: self.told.append(each), self.flush, told=(1,), slow=(18,), rows=4
        )
        return super().choose_engine(ports)

    def flush(self) -> None:
        self.flushes += 1


def ran(wire: Wire, tmp_path: Path) -> tuple[Owner, tuple[Any, ...]]:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(wire.packets))
    owner = Owner([str(path)])
    owner.slow = [item for items in owner.pieces() for item in items]  # type: ignore[attr-defined]
    return owner, owner.sink.take_columns()


def texts(data: bytes, ends: Any) -> list[str]:
    return [data[start:end].decode() for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def test_rows_have_the_text_of_lines(tmp_path: Path) -> None:
    wire = Wire().open()
    for number in range(3):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    owner, (numbers, ends, header, asked, told, client, links, errors) = ran(wire.close(), tmp_path)
    rows = numpy.frombuffer(numbers, numpy.int64).reshape(-1, 9)
    places = numpy.frombuffer(ends, numpy.int32).reshape(-1, 5)
    lines: list[bytes] = []
    Source([str(tmp_path / "made.pcap")], text=True).lines(lambda data: lines.append(bytes(data)))
    want = [json.loads(line) for line in b"".join(lines).splitlines()]
    assert [json.loads(text) for text in texts(header, places[:, 0])] == [line["requestHeader"] for line in want]
    assert [json.loads(text) for text in texts(asked, places[:, 1])] == [line["request"] for line in want]
    assert [json.loads(text) for text in texts(told, places[:, 2])] == [line["response"] for line in want]
    assert texts(client, places[:, 3]) == ["tester"] * 3
    assert rows[:, 4].tolist() == [0, 1, 2]
    assert (rows[:, 7] / 1000).tolist() == [line["latencyMs"] for line in want]
    assert (links, errors) == (["10.0.0.2:9092-10.0.0.1:40000"], [])
    assert [each[1] for each in owner.told] == [3]  # the first taught a topic's name


def test_what_only_the_slower_way_can_leaves_no_trace(tmp_path: Path) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1][:3] + bytes([0x30]) + metadata(1)[1][4:0x34])
    wire.client(request(3, 9, 2, {"topics": None}, "ÿ")).server(response(3, 9, 2, {})).close()
    owner, taken = ran(wire, tmp_path)
    assert taken[:6] == (b"",) * 6
    assert len(owner.slow) == 2  # type: ignore[attr-defined]


def test_errors_are_noted(tmp_path: Path) -> None:
    partitions = [{"partitionIndex": n, "errorCode": code, "leaderId": -1} for n, code in enumerate((0, 5, -1))]
    told = response(3, 9, 1, {"topics": [{"errorCode": 0, "name": "t", "partitions": partitions}]})
    _, taken = ran(Wire().open().client(request(3, 9, 1, {"topics": None})).server(told).close(), tmp_path)
    assert taken[7] == [(0, [5, -1])]


def test_flush_is_called_when_there_is_enough(tmp_path: Path) -> None:
    wire = Wire().open()
    for number in range(9):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    assert ran(wire.close(), tmp_path)[0].flushes > 0
