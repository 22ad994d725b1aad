"""Reads exchanges one by one from columns of the core: as values, or as lines of JSON."""

from bisect import bisect_left
from typing import Any

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.clock import instant
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange, Timing, line_of
from kcli.core.capture.exchange_json import codes_in
from kcli.tables.core_rows import CoreRows


class HeldRows:
    """The exchanges in columns from `ExchangeRows.take_columns`, by row."""

    def __init__(self, columns: dict[str, Any], bodies: Bodies) -> None:
        self.taken, self.bodies = columns, bodies
        self.rows = CoreRows.of(columns, "numbers")
        self.servers = memoryview(columns["server_of"]).cast("i")
        frames, self.requests, self.responses, _ = columns["frames"]
        self.framed, self.answers = memoryview(frames).cast("q")[::2], memoryview(frames).cast("q")[1::2]

    def __len__(self) -> int:
        return int(self.rows.count)

    @property
    def keys(self) -> Any:
        """API keys, by row."""
        return self.rows.key

    def exchange(self, row: int) -> Exchange:
        """Return a row's exchange as a value; the core must have kept the frames."""
        link, request_ns = int(self.rows.link[row]), int(self.rows.ts[row])
        ends = Link(text_at(self.taken["servers"], self.servers[link]), text_at(self.taken["ends"], link))
        place = bisect_left(self.framed, row)
        answered = self.answers[place]
        request, response = bytes_at(self.requests, place), bytes_at(self.responses, place)
        if answered < 0:
            return Exchange(ends, request_ns, request, None, None, self.bodies, self.timing(row, request_ns, None))
        return Exchange(
            ends, request_ns, request, answered, response, self.bodies, self.timing(row, request_ns, answered)
        )

    def timing(self, row: int, request_ns: int, response_ns: int | None) -> Timing:
        """Return the further times of a row's exchange."""
        sent, came, pause, in_flight = (
            int(each[row])
            for each in (self.rows.request_transfer, self.rows.response_transfer, self.rows.pause, self.rows.in_flight)
        )
        began = request_ns - sent if sent >= 0 else None
        return Timing(began, response_ns - came if response_ns is not None and came >= 0 else None, pause, in_flight)

    def line(self, row: int) -> bytes:
        """Return a row as one line of JSON, with the topic names known when it came."""
        rows = self.rows
        answered = rows.response_bytes[row] >= 0
        connection = text_at(self.taken["links"], int(rows.link[row]))
        header, request, response = (bytes_at(self.taken[name], row) for name in ("header", "request", "response"))
        texts = header, request, response if answered else b"null"
        sizes = rows.request_bytes[row], rows.response_bytes[row] if answered else None
        latency = rows.latency[row] / 1000 if answered else None
        errors = self.bodies.errors_text(codes_in(texts[2]))
        return line_of(instant(int(rows.ts[row])), connection, texts, sizes, latency, errors)


def bytes_at(column: tuple[Any, Any], place: int) -> bytes:
    """Return one value of a column. column: (int32 offsets, beginning with 0; the bytes)."""
    ends = memoryview(column[0]).cast("B").cast("i")
    return bytes(column[1][ends[place] : ends[place + 1]])


def text_at(column: tuple[Any, Any], place: int) -> str:
    return bytes_at(column, place).decode()
