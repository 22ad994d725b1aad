"""The exchanges behind a row of `kcli top`, decoded again out of the capture or its latest packets."""

import contextlib
import io
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from kcli.capture.decoder import DecodeOptions, decode
from kcli.capture.filters import mentions
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import Sink
from kcli.cli.decode.pcap.table import ExchangeTable, api_text, milliseconds, words_of
from kcli.cli.decode.pcap.table import sizes as packet_sizes
from kcli.cli.decode.pcap.tree import tree
from kcli.cli.decode.slip_hints import SlipNamer, message_text
from kcli.cli.terminal.cells import GAP, cut, line_size, pad, without_spared
from kcli.cli.terminal.cells import width as cell_width
from kcli.errors import KcliError
from kcli.filelike import Stream
from kcli.metrics.figures import LiveFigures

MOST_EXCHANGES = 200  # the latest
HEADINGS = ("time", "conn", "client", "api", "ms", "bytes", "what")
NUMBERS = ("ms", "bytes")
SPARED = ("bytes", "conn", "client")  # columns that go first where there is little room
WIDEST = 24  # cells of a column
LEAST = 32  # cells of the last message

Wanted = Callable[[Exchange], bool]


class Latest(Sink):
    """Keeps the latest exchanges that are wanted."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.found: deque[Exchange] = deque(maxlen=MOST_EXCHANGES)

    def exchange(self, exchange: Exchange) -> None:
        if self.wanted(exchange):
            self.found.append(exchange)


def wanted_by(figures: LiveFigures, column: str, name: str) -> Wanted:
    """Return which exchanges a row is about: its column, and its name there."""
    match column:
        case "client":
            return lambda each: figures.clients.of(each.client_id) == name
        case "broker":
            return lambda each: each.link.server == name
        case "group":
            return lambda each: figures.group_of.get(figures.clients.of(each.client_id)) == name
        case "api":
            return lambda each: each.api_name == name
        case _:
            ids = [key for key, topic in figures.topic_of.items() if topic == name]
            return lambda each: is_about(each, [name, *ids])


def is_about(exchange: Exchange, names: Sequence[str]) -> bool:
    """Return whether an exchange names the topic, by its name or id."""
    bodies = [body for body in (exchange.request, exchange.response) if body]
    return any(mentions(body, name) for body in bodies for name in names)


def exchanges_of(
    paths: Sequence[str], recent: io.BytesIO | None, wanted: Wanted, read: dict[str, Any]
) -> list[Exchange]:
    """Return the latest exchanges of files, or of the latest packets of a stream."""
    sink = Latest(wanted)
    inputs: Sequence[str | Stream] = paths if recent is None else [Stream(recent)]
    with contextlib.suppress(KcliError):  # what could be read is shown; a stream's latest packets may begin anywhere
        decode(inputs, sink, DecodeOptions(**read))
    return [*sink.found]


def table_of(exchanges: Sequence[Exchange], width: int) -> list[str]:
    """Return headings, a line for each exchange with its last message, cut to fit, and the columns without room."""
    table = ExchangeTable(lambda *_parts: None, width=width, absolute=True)
    rows = [HEADINGS, *(cells_of(each, table) for each in exchanges)]
    sizes = {name: min(max(cell_width(row[at]) for row in rows), WIDEST) for at, name in enumerate(HEADINGS[:-1])}
    sizes = without_spared(sizes, SPARED, width - GAP - LEAST)
    room = max(width - GAP - line_size(sizes.values()), 1)
    made = []
    for row in rows:
        named = dict(zip(HEADINGS, row, strict=True))
        cells = [pad(cut(named[name], size), size, right=name in NUMBERS) for name, size in sizes.items()]
        made.append((" " * GAP).join([*cells, cut(row[-1], room)]))
    return [*made, left_out_text([name for name in HEADINGS[:-1] if name not in sizes])]


def left_out_text(names: Sequence[str]) -> str:
    """Return a text on the columns that had no room; "" if all had."""
    return f"left out: {', '.join(names)}" if names else ""


def cells_of(exchange: Exchange, table: ExchangeTable) -> tuple[str, ...]:
    """Return the cells of one exchange."""
    return (
        table.time(exchange.request_ns), table.label(exchange.connection), exchange.client_id or "",
        f"{api_text(exchange)} {exchange.api_version}", milliseconds(exchange.latency_ms),
        packet_sizes(exchange.request_bytes, exchange.response_bytes), words_of(exchange).text,
    )  # fmt: skip


@lru_cache(maxsize=1)
def bytes_of(exchange: Exchange, width: int) -> list[str]:
    """Return each field of both messages with its bytes, on lines of `width` cells."""
    return [*tree(exchange, SlipNamer(message_text), width)]
