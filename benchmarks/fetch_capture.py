"""A capture of many fetch sessions: what a broker and its fetchers would say, in as many packets as it takes."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from kcli.grammar import messages

Entry = dict[str, Any]
VERSION = 17
PORT = 9092
RECORDS = bytes(range(100))
TOPICS = 12


def topic_id(number: int) -> str:
    return f"{number:021d}".replace("0", "B") + "A"


class Capture:
    """Sessions in turn, a fetch each; every fetch brings records of a few partitions, and the next one moves them."""

    def __init__(self, out: BinaryIO, partitions: int, changes: int) -> None:
        self.out = out
        self.partitions = partitions
        self.changes = changes
        self.rng = random.Random(7)
        self.request = messages.request(1, VERSION)
        self.response = messages.response(1, VERSION)
        self.ns = 1_790_000_000 * 10**9
        self.out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1))

    def fetch(self, session: Session) -> None:
        asks, tells = session.turn(self)
        header = struct.pack(">hhih", 1, VERSION, session.correlation, 6) + b"client" + b"\0"
        self.send(session, 0, header + asks)
        self.ns += 400_000
        self.send(session, 1, struct.pack(">ib", session.correlation, 0) + tells)
        session.correlation += 1
        self.ns += 100_000

    def send(self, session: Session, d: int, frame: bytes) -> None:
        """A frame in as many packets as it takes."""
        data = struct.pack(">I", len(frame)) + frame
        for at in range(0, len(data), 60_000):
            part = data[at : at + 60_000]
            ports = (session.port, PORT) if d == 0 else (PORT, session.port)
            places = session.seq[d] & 0xFFFFFFFF, session.seq[1 - d] & 0xFFFFFFFF
            tcp = struct.pack(">HHIIBBHHH", *ports, *places, 0x50, 0x18, 65535, 0, 0)
            ends = (session.address, b"\x0a\0\0\1") if d == 0 else (b"\x0a\0\0\1", session.address)
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(part), 0, 0x4000, 64, 6, 0, *ends)
            packet = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + tcp + part
            self.out.write(struct.pack("<IIII", *divmod(self.ns, 10**9), len(packet), len(packet)) + packet)
            session.seq[d] += len(part)


class Session:
    """One fetcher: its connection, its session, and where it stands in each partition."""

    def __init__(self, number: int, partitions: int) -> None:
        self.number = number
        self.address = bytes((10, 1, number >> 8, number & 255))
        self.port = 40_000 + number
        self.seq = [1, 1]
        self.correlation = 0
        self.epoch = 0
        self.id = 0
        self.offsets = [0] * partitions
        self.moved: list[int] = []

    def turn(self, capture: Capture) -> tuple[bytes, bytes]:
        """The bodies of the next request and response."""
        full = self.epoch == 0
        asked = range(capture.partitions) if full else self.moved
        request = capture.request.write(
            {
                "maxWaitMs": 500,
                "minBytes": 1,
                "maxBytes": 52428800,
                "sessionId": self.id,
                "sessionEpoch": self.epoch,
                "topics": self.grouped(asked, self.position),
            }
        )
        self.id = 1000 + self.number
        news = sorted(capture.rng.sample(range(capture.partitions), capture.changes))
        for index in news:
            self.offsets[index] += 1
        reported = range(capture.partitions) if full else news
        fresh = set(news)
        response = capture.response.write(
            {"sessionId": self.id, "responses": self.grouped(reported, lambda at: self.answer(at, at in fresh))}
        )
        self.moved = news
        self.epoch += 1
        return request, response

    def grouped(self, indices: Iterable[int], make: Callable[[int], Entry]) -> list[Entry]:
        """Partitions under their topics; each session has topics of its own."""
        topics: dict[int, list[Entry]] = {}
        for at in indices:
            topics.setdefault(at % TOPICS, []).append(make(at))
        first = self.number * TOPICS + 1
        return [{"topicId": topic_id(first + number), "partitions": parts} for number, parts in topics.items()]

    def position(self, at: int) -> Entry:
        return {"partition": at // TOPICS, "fetchOffset": self.offsets[at], "partitionMaxBytes": 1 << 20}

    def answer(self, at: int, fresh: bool) -> Entry:
        high = self.offsets[at]
        return {
            "partitionIndex": at // TOPICS,
            "highWatermark": high,
            "lastStableOffset": high,
            "logStartOffset": 0,
            "records": RECORDS if fresh else b"",
        }


def write_capture(
    path: Path, sessions: int = 100, partitions: int = 1200, fetches: int = 100_000, changes: int = 3
) -> None:
    """The capture of the bench: nanosecond pcap, Ethernet, one connection for each session."""
    with path.open("wb") as out:
        capture = Capture(out, partitions, changes)
        all_ = [Session(number, partitions) for number in range(sessions)]
        for number in range(fetches):
            capture.fetch(all_[number % sessions])
