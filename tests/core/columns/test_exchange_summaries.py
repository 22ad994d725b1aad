"""The core's words for Fetch and Produce, and those it remembers, against the words of values."""

import random
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.cli.decode.pcap.rows import TableSink
from kcli.cli.decode.pcap.table import ExchangeTable
from kcli.records import build_batch
from tests.capture.messages import metadata, request, response
from tests.capture.wires import Wire, pcap
from tests.oracle.captures import CAPTURES, READERS

IDS = ["AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"]  # the first one's name is known
NAMES = ["orders", "a", "pay-in_2.x", "back\\slash", "naïve", "x" * 39, "y" * 60, "esc\x1b"]
CODECS = ("none", "none", "gzip", "zstd")


def rows(path: Path, reader: str) -> list[str]:
    """The table of a capture, by the core's words or from the oracle's values."""
    lines: list[str] = []
    with READERS[reader]():
        source = CaptureDecoder([str(path)], TableSink()).sink
    for _ in source.show(ExchangeTable(lambda *parts: lines.append("".join(parts)))):
        pass
    return lines


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_the_words_of_real_captures_are_those_of_values(path: Path) -> None:
    assert rows(path, "core") == rows(path, "oracle")


class Draw:
    """Fetches and Produces of every shape that the words know, by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def records(self) -> bytes | None:
        """Nothing, some batches of some codecs, or bytes that are no batch."""
        pick = self.chance.random()
        if pick < 0.2:
            return None if pick < 0.1 else b""
        batches = [
            build_batch([(1, None, b"v", ())] * self.chance.randrange(1, 4), codec=self.chance.choice(CODECS))
            for _ in range(self.chance.randrange(1, 4))
        ]
        data = b"".join(batches)
        return data if pick < 0.9 else data[:-1] if pick < 0.95 else data + bytes(70)

    def topics(self, version: int, by_id: int) -> list[tuple[dict[str, str], range]]:
        """(name or id, partitions)."""
        count = self.chance.choice((0, 1, 1, 1, 2, 3, 5))
        named = [{"topic": name} for name in self.chance.sample(NAMES, count)]
        ids = [{"topicId": each} for each in self.chance.sample(IDS, min(count, 2))]
        return [(each, range(self.chance.choice((1, 1, 1, 3, 8)))) for each in (ids if version >= by_id else named)]

    def fetch(self, number: int) -> tuple[bytes, bytes]:
        version = self.chance.choice((4, 7, 12, 13))
        error = self.chance.choice((0, 0, 0, 0, 6))
        topics = self.topics(version, 13)
        asked: dict[str, Any] = {"maxWaitMs": 1, "minBytes": 1, "maxBytes": 1, "isolationLevel": 0}
        if version < 15:
            asked["replicaId"] = -1
        if version >= 7:
            asked |= {"sessionId": self.chance.choice((0, 5)), "sessionEpoch": self.chance.choice((-1, 0, 1, 9000))}
        asked["topics"] = [
            topic | {"partitions": [{"partition": at, "fetchOffset": 7, "partitionMaxBytes": 9} for at in partitions]}
            for topic, partitions in topics
        ]
        if version >= 7:
            key = "topicId" if version >= 13 else "topic"
            gone = [{key: (IDS if version >= 13 else NAMES)[0], "partitions": [*range(self.chance.randrange(3))]}]
            asked["forgottenTopicsData"] = gone if self.chance.random() < 0.3 else []
        reported: dict[str, Any] = {"throttleTimeMs": 0, "errorCode": self.chance.choice((0, 0, 0, 0, 70))}
        reported |= {"sessionId": self.chance.choice((0, 5))} if version >= 7 else {}
        reported["responses"] = [
            topic | {"partitions": [self.part(at, error) for at in partitions]} for topic, partitions in topics
        ]
        if version < 7:
            del reported["errorCode"]
        return request(1, version, number, asked), response(1, version, number, reported)

    def part(self, at: int, error: int) -> dict[str, Any]:
        found = {"partitionIndex": at, "errorCode": error, "highWatermark": 9, "lastStableOffset": 9}
        return found | {"abortedTransactions": None, "records": self.records()}

    def produce(self, number: int) -> tuple[bytes, bytes | None]:
        version = self.chance.choice((3, 8, 9))
        acks = self.chance.choice((-1, 1, 1, 0))
        topics = self.topics(0, 1)
        asked: dict[str, Any] = {"acks": acks, "timeoutMs": 1}
        asked["topicData"] = [
            {"name": topic["topic"], "partitionData": [{"index": at, "records": self.records()} for at in partitions]}
            for topic, partitions in topics
        ]
        error = self.chance.choice((0, 0, 0, 0, 6))
        reported = [
            {"name": topic["topic"], "partitionResponses": [self.result(at, error) for at in partitions]}
            for topic, partitions in topics
        ]
        answer = response(0, version, number, {"responses": reported}) if acks else None
        return request(0, version, number, asked), answer

    def result(self, at: int, error: int) -> dict[str, int]:
        return {"index": at, "errorCode": error, "baseOffset": self.chance.choice((-1, 0, 7, 10**12))}


@pytest.mark.parametrize("seed", range(8))
def test_the_words_of_every_shape_are_those_of_values(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Draw(seed)
    wire = Wire().open()
    for number in range(60):
        asked, reported = metadata(number) if number == 20 else draw.chance.choice((draw.fetch, draw.produce))(number)
        for _ in range(2):  # the second time as remembered
            wire.client(asked)
            if reported is not None:
                wire.server(reported)
    path = tmp_path / "drawn.pcap"
    path.write_bytes(pcap(wire.close().packets))
    found = rows(path, "core")
    assert found == rows(path, "oracle")
    assert len(found) > 100


def test_a_list_of_thousands_is_counted_as_values_count_it(tmp_path: Path) -> None:
    partitions = range(1_503)
    data = [{"name": "orders", "partitionData": [{"index": at, "records": b""} for at in partitions]}]
    done = [
        {"name": "orders", "partitionResponses": [{"index": at, "errorCode": 0, "baseOffset": 7} for at in partitions]}
    ]
    wire = Wire().open().client(request(0, 9, 1, {"acks": -1, "timeoutMs": 1, "topicData": data}))
    wire.server(response(0, 9, 1, {"responses": done}))
    path = tmp_path / "wide.pcap"
    path.write_bytes(pcap(wire.close().packets))
    found = rows(path, "core")
    assert found == rows(path, "oracle")
    assert any("at 7, 7, 7 and 1,500 more" in line for line in found)
