"""Exchanges that the core made columns of, one by one: as values, or as lines of JSON."""

from __future__ import annotations

from typing import Any

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.clock import instant
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.columns import ANSWERED, ASKED, KEY, LATENCY, LINK, TIME, numbers_of, servers_of


class HeldRows:
    """What `ExchangeRows.take_columns` gives, until the core takes more rows."""

    def __init__(self, taken: dict[str, Any], bodies: Bodies) -> None:
        self.taken, self.bodies = taken, bodies
        self.numbers = numbers_of(taken)
        self.servers = servers_of(taken, self.numbers)
        rows, self.requests, self.responses, _ = taken["frames"]
        self.answers = memoryview(rows).cast("q")[1::2]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def keys(self) -> Any:
        """API keys, by row."""
        return self.numbers[:, KEY]

    def exchange(self, row: int) -> Exchange:
        """As a value; the core has kept the frames."""
        link = int(self.numbers[row, LINK])
        ends = Link(text_at(self.taken["servers"], int(self.servers[row])), text_at(self.taken["ends"], link))
        answered = self.answers[row]
        request, response = bytes_at(self.requests, row), bytes_at(self.responses, row)
        asked = int(self.numbers[row, TIME])
        if answered < 0:
            return Exchange(ends, asked, request, None, None, self.bodies)
        return Exchange(ends, asked, request, answered, response, self.bodies)

    def line(self, row: int) -> bytes:
        """As one line of JSON, with the topic names that were known when it came."""
        numbers = self.numbers[row].tolist()
        answered = numbers[ANSWERED] >= 0
        connection = text_at(self.taken["links"], numbers[LINK])
        opening = f'{{"timestamp":"{instant(numbers[TIME])}","connection":"{connection}","requestHeader":'
        size, latency = (numbers[ANSWERED], numbers[LATENCY] / 1000) if answered else ("null", "null")
        closing = f',"requestBytes":{numbers[ASKED]},"responseBytes":{size},"latencyMs":{latency}}}\n'
        header, request, response = (bytes_at(self.taken[name], row) for name in ("header", "request", "response"))
        parts = (header, b',"request":', request, b',"response":', response if answered else b"null")
        return b"".join((opening.encode(), *parts, closing.encode()))


def bytes_at(column: tuple[Any, Any], place: int) -> bytes:
    """One of a column: (int32 where each ends, behind a 0; all of them)."""
    ends = memoryview(column[0]).cast("B").cast("i")
    return bytes(column[1][ends[place] : ends[place + 1]])


def text_at(column: tuple[Any, Any], place: int) -> str:
    return bytes_at(column, place).decode()
