"""Reads captures and sends their exchanges as spans while reading."""

import time
from collections.abc import Callable, Sequence

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import Sink, Values
from kcli.traces.destinations import Destination
from kcli.traces.spans import Key, Spans, key_of, resource_spans

BATCH = 512  # spans sent together
LONGEST_WAIT = 1.0  # seconds for which spans of a stream wait for more
MOST_EXCHANGES = 1_000_000  # exchanges of brokers' captures that are remembered


def export(
    source: CaptureDecoder[Values],
    destination: Destination,
    moved: Callable[[int], None] = lambda count: None,
    brokers: dict[Key, tuple[int, int | None]] | None = None,
) -> int:
    """Read captures, and send a span for each exchange. Return the number of spans. Raises InputError at the end for
    damaged files.
    """
    spans = Spans(brokers)
    waiting: list[tuple[str, str, Span]] = []
    sent, last = 0, time.monotonic()

    def flush() -> None:
        nonlocal sent, last
        if waiting:
            destination.send(resource_spans(waiting))
        sent, last = sent + len(waiting), time.monotonic()
        waiting.clear()

    try:
        for _ in source.read(moved):
            for item in source.sink.taken():
                if isinstance(item, Exchange):
                    waiting += spans.of(item)
                    if len(waiting) >= BATCH:
                        flush()
            if time.monotonic() - last >= LONGEST_WAIT:
                flush()
    finally:
        flush()
    return sent


class BrokerTimes(Sink):
    """Stores the times of exchanges at the broker's end."""

    def __init__(self) -> None:
        self.times: dict[Key, tuple[int, int | None]] = {}

    def exchange(self, exchange: Exchange) -> None:
        self.kept += 1
        if len(self.times) < MOST_EXCHANGES:
            self.times[key_of(exchange)] = exchange.request_ns, exchange.response_ns


def broker_times(paths: Sequence[str], options: DecodeOptions) -> dict[Key, tuple[int, int | None]]:
    """Return the times of exchanges in captures that were made at the brokers.

    Raises InputError if they can't be read.
    """
    source = CaptureDecoder(paths, BrokerTimes(), options)
    for _ in source.read():
        pass
    return source.sink.times
