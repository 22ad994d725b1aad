"""The exchanges behind a row of `kcli top`, decoded again out of the capture or its latest packets."""

from __future__ import annotations

import contextlib
import io
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from kcli.capture.decoder import DecodeOptions, decode
from kcli.capture.filters import mentions
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sink import Sink
from kcli.cli.decode.pcap.table import Table
from kcli.cli.decode.pcap.tree import tree
from kcli.cli.decode.slip_hints import SlipNamer, message_text
from kcli.errors import KcliError
from kcli.filelike import Stream
from kcli.metrics.figures import LiveFigures

MOST_EXCHANGES = 200  # the latest

Wanted = Callable[[Exchange], bool]


class Latest(Sink):
    """Keeps the latest exchanges that are wanted."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.found: deque[Exchange] = deque(maxlen=MOST_EXCHANGES)

    def exchange(self, exchange: Exchange) -> None:
        """See Sink."""
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
    given: Sequence[str | Stream] = paths if recent is None else [Stream(recent)]
    with contextlib.suppress(KcliError):  # what could be read is shown; a stream's latest packets may begin anywhere
        decode(given, sink, DecodeOptions(**read))
    return [*sink.found]


def table_of(exchanges: Sequence[Exchange], width: int) -> list[str]:
    """Return headings and a line for each exchange, as `kcli decode pcap` has them."""
    parts: list[str] = []
    table = Table(lambda *given: parts.append("".join(given)), width=width, absolute=True)
    if exchanges:
        table.begin(exchanges[0].request_ns)
    made = parts[:]
    for each in exchanges:
        parts.clear()
        table.show(each)
        made.append("  ".join([parts[0], *(text.strip() for text in parts[1:])]))  # a narrow table has two lines
    return made


@lru_cache(maxsize=1)
def bytes_of(exchange: Exchange, width: int) -> list[str]:
    """Return each field of both messages with its bytes, on lines of `width` cells."""
    return [*tree(exchange, SlipNamer(message_text), width)]
