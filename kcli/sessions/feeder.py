"""Feeds a tracker with a capture's exchanges and events, as values or as lines of JSON."""

import re
from collections.abc import Mapping
from typing import Any

from kcli.capture.filters import ALL, Filter
from kcli.capture.kafka.clock import parse_instant
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.errors import InputError, UsageError
from kcli.grammar.codec import TRAILING
from kcli.schemas.apikeys import FETCH, INCREMENTAL_FETCH
from kcli.sessions.draft_exchange import FETCHES, read_fetch
from kcli.sessions.fetch_exchange import FetchExchange, require_types
from kcli.sessions.offsets import OFFSET_APIS
from kcli.sessions.tracker import Tracker

ENDS = re.compile(r"^(.+?:\d+)-(.+?:\d+)")
HARMLESS = ("unanswered-at-end",)

LONGEST_MS = 100 * 366 * 86_400_000


class Feeder:
    """Feeds a tracker.

    skipped: number of exchanges that it could not use; chosen: filter of the exchanges; choosing: whether the current
    exchange passes the filter; chosen_fetches: number of fetches that did
    """

    def __init__(self, tracker: Tracker, chosen: Filter = ALL) -> None:
        self.tracker = tracker
        self.chosen, self.takes_all = chosen, chosen.takes_all
        self.exchanges = 0
        self.skipped = 0
        self.choosing = self.takes_all
        self.chosen_fetches = 0

    def exchange(self, item: Exchange) -> None:
        """Process an exchange of `kcli.capture`. Only Fetch and the APIs in HEARD are decoded."""
        self.exchanges += 1
        key = item.api_key
        if key == INCREMENTAL_FETCH or (key == FETCH and item.is_cut):
            self._fetch_plainly(item)
        elif key == FETCH:
            self._fetch(item)
        elif key in OFFSET_APIS and item.response_frame is not None:
            request, response = item.request, item.response
            if request is not None and response is not None:
                self.tracker.offsets.hear(key, response)

    def _fetch(self, item: Exchange) -> None:
        kernel = self.tracker.kernel
        frames = item.request_frame, item.response_ns, item.response_frame
        if self.may_offer and kernel.offer(item.connection, item.api_version, item.request_ns, *frames):
            return
        columns = kernel.columns(item.request_frame, item.response_frame, item.api_version)
        if columns is None:
            self._fetch_plainly(item)
            return
        x = self._exchange_of(item, item.header)
        self._feed(x.take(columns[0], columns[1], item.response_frame is not None))

    def _fetch_plainly(self, item: Exchange) -> None:
        header, request, response = item.header, understood(item.request), understood(item.response)
        if request is None or (response is None and item.response_frame is not None):
            self.skipped += 1
            self.tracker.blur(item.connection, item.request_ns)
            return
        self._feed(read_fetch(self._exchange_of(item, header), item.api_key, request, response))

    def _feed(self, x: FetchExchange) -> None:
        self.tracker.feed(x)
        if self.choosing:
            self.chosen_fetches += 1
            self.tracker.registry.choose(x)

    @property
    def may_offer(self) -> bool:
        """Return whether the kernel may process a fetch by itself. It does not report which session the fetch belongs
        to.
        """
        return self.takes_all or not self.choosing

    def _exchange_of(self, item: Exchange, header: Mapping[str, Any]) -> FetchExchange:
        x = FetchExchange(item.link.server, item.connection, header, item.request_ns, item.response_ns)
        x.request_bytes = item.request_bytes
        x.response_bytes = item.response_bytes or 0
        return x

    def event(self, item: Event) -> None:
        """Process bytes that belong to no exchange: sessions that they may have changed become uncertain."""
        self._miss(item.kind, item.connection, item.ns)

    def row(self, row: Mapping[str, Any]) -> None:
        """Process a line of `decode pcap --format jsonl` or of a broker's request log. Raises InputError if it is
        neither.
        """
        try:
            self._row(row)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, UsageError) as error:
            problem = f"{type(error).__name__} {error}" if not isinstance(error, KeyError) else f"no {error}"
            raise InputError(f"no exchange as `kcli decode pcap --format jsonl` prints it: {problem}") from None

    def _row(self, row: Mapping[str, Any]) -> None:
        """Process one line of JSON. Raises ValueError, KeyError or TypeError if it is no line of `decode pcap`."""
        if "event" in row:
            self._miss(row["event"], row.get("connection"), times(row)[0])
            return
        self.exchanges += 1
        header = row["requestHeader"]
        key = header["requestApiKey"]
        if not self.takes_all:
            self.choosing = self.chosen.wants_row(row, *times(row))
        request, response = row["request"], row["response"]
        if key in OFFSET_APIS:
            if request is not None and response is not None:
                self.tracker.offsets.hear(key, response)
            return
        if key not in FETCHES:
            return
        ends = ENDS.match(row["connection"])
        if ends is None:
            raise ValueError(f"connection {row['connection']!r}")
        server, connection = ends[1], ends[0]
        request, response = understood(request), understood(response)
        if request is None or (response is None and (row["response"] is not None or row.get("responseBytes"))):
            self.skipped += 1
            self.tracker.blur(connection, times(row)[0])
            return
        ns, response_ns = times(row)
        x = FetchExchange(server, connection, header, ns, response_ns)
        x.request_bytes = row.get("requestBytes") or 0
        x.response_bytes = row.get("responseBytes") or 0
        require_types(read_fetch(x, key, request, response))
        self._learn_names(request, response)
        self._feed(x)

    def _learn_names(self, request: Mapping[str, Any], response: Mapping[str, Any] | None) -> None:
        names = self.tracker.offsets.names
        for topic in [*request["topics"], *(response or {}).get("responses", ())]:
            if "topicId" in topic and isinstance(topic.get("_topicName"), str):
                names[topic["topicId"]] = topic["_topicName"]

    def _miss(self, kind: str, connection: str | None, ns: int) -> None:
        if kind not in HARMLESS:
            ends = ENDS.match(connection or "")
            self.tracker.blur(ends[0] if ends else None, ns)


def understood(body: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a body; None for a body of an unknown version, which has only "_trailing"."""
    return None if body is not None and body.keys() == {TRAILING} else body


def times(row: Mapping[str, Any]) -> tuple[int, int | None]:
    """Return the times of request and response in ns since 1970; 0 and None in a log without times."""
    stamp = row.get("timestamp")
    if not stamp:
        return 0, None
    ns = parse_instant(stamp)
    latency = row.get("latencyMs")
    return ns, None if latency is None else ns + span(latency)


def span(latency: float) -> int:
    """Return milliseconds as ns. Raises ValueError for more than a hundred years."""
    if not -LONGEST_MS <= latency <= LONGEST_MS:
        raise ValueError("latencyMs beyond a hundred years")
    return int(latency * 1e6)
