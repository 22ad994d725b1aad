"""Captures as rows of `decode pcap`'s table, each shown when it comes out of the engine."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

from kcli.capture.decoder import CaptureDecoder, with_failures
from kcli.capture.filters import count_ids
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.capture.sinks import Sink
from kcli.cli.decode.pcap.table import MOST_SPEAKERS, ExchangeTable, ExchangeWords, Speaker, sizes, words_of
from kcli.errors import UsageError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.schemas.apikeys import FETCH, PRODUCE

# The fields that the core reads of each side of Produce and Fetch, in the order of its rows' columns.
TOPIC = "topicId|topic|name"
PATHS = {
    PRODUCE: (
        ("acks", "topicData[].partitionData[]", f"topicData[].{TOPIC}", "topicData[].partitionData[].index",
         "topicData[].partitionData[].records"),
        ("responses[].partitionResponses[]", f"responses[].{TOPIC}", "responses[].partitionResponses[].index",
         "responses[].partitionResponses[].errorCode", "responses[].partitionResponses[].baseOffset"),
    ),
    FETCH: (
        ("sessionId?", "sessionEpoch?", "topics[].partitions[]", f"topics[].{TOPIC}", "topics[].partitions[].partition",
         "forgottenTopicsData[].partitions[]?"),
        ("errorCode?", "sessionId?", "responses[].partitions[]", f"responses[].{TOPIC}",
         "responses[].partitions[].partitionIndex", "responses[].partitions[].errorCode",
         "responses[].partitions[].records"),
    ),
}  # fmt: skip
SLICED = ("records", TOPIC)


class TableSink(Sink):
    """Shows exchanges and events in a table, as soon as they come.

    With `records` other than "none" each exchange becomes a value; `beside` then gets the shown ones.
    """

    table: ExchangeTable
    opening = ""
    beside: Callable[[Exchange], None] | None = None

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        """Let the core make the summaries, unless records or a condition need values."""
        self.capture, self.bodies, self.chosen = capture, capture.bodies, capture.chosen
        self.apis, self.takes_all = self.bodies.apis, self.chosen.takes_all
        self.speaker = lru_cache(MOST_SPEAKERS)(self.make_speaker)
        if self.bodies.form["records"] == "none" and self.chosen.where is None:
            from kcli.core.columns.exchange_summaries import ExchangeSummaries

            self.compiled = ExchangeSummaries(self)

    def show(
        self, table: ExchangeTable, moved: Callable[[int], None] = lambda count: None, opening: str = ""
    ) -> Iterator[None]:
        """Read the files piece by piece into the table. opening: see `Table.begin`. InputError at the end for damaged
        files."""
        self.table, self.opening = table, opening
        return self.capture.read(moved)

    def connection(self, name: str) -> None:
        """Label a connection."""
        self.table.label(name)

    # Exchanges as values

    def exchange(self, exchange: Exchange) -> None:
        self.put(exchange)

    def event(self, event: Event) -> None:
        self.put(event)

    def put(self, item: Item) -> None:
        """Show an exchange, with the events about its bodies, or an event."""
        self.head()
        is_unknown = isinstance(item, Exchange) and item.bodies.api(item.api_key) is None
        for each in with_failures(item):
            if is_unknown and each is not item:
                continue  # the exchange's own row says it
            self.table.show(each)
            if self.beside is not None and isinstance(each, Exchange):
                self.beside(each)

    def head(self) -> None:
        """Show the headings, before the first row."""
        if self.table.start is None and self.capture.engine.first_ns is not None:
            self.table.begin(self.capture.engine.first_ns, self.opening)

    # Called by the core

    @cached_property
    def looks(self) -> bool:
        """Return whether the filter needs more of the bodies than their errors."""
        return self.chosen.topic is not None or self.chosen.error is not None

    def layout(self, api_key: int, version: int) -> Any:
        """Return the core's layout of that version; None if it has none."""
        if self.bodies.dialect is not None or self.looks:
            return None
        request_paths, response_paths = PATHS[api_key]
        request = side(messages.request(api_key, version), request_paths)
        response = side(messages.response(api_key, version), response_paths)
        return (request[0], response[0], request[1]) if request and response else None

    def summary(self, link: bytes, *exchange: Any) -> ExchangeWords | None:
        """Return the summary of an exchange; None if it has to be shown as a value."""
        made = self.capture.handover.exchange_of(link, *exchange)
        summary_words = words_of(made)
        if made.failures:
            return None
        fits = self.chosen.fits_bodies(made)
        nameless = frozenset[str]() if fits else self.capture.nameless_in(made)
        return summary_words._replace(fits=fits, nameless=nameless)

    def make_speaker(self, link: bytes, client: bytes | None) -> Speaker:
        """Make a client on a connection, with its label."""
        return self.table.speaker(link.decode(), None if client is None else client.decode())

    def row(  # noqa: PLR0913
        self,
        link: bytes,
        ns: int,
        key: int,
        version: int,
        client: bytes | None,
        words: ExchangeWords | str,
        answered: int | None,
        asked_size: int,
        answered_size: int | None,
    ) -> None:
        """Write an exchange with its summary: that of `summary`, or the text of a successful one."""
        table, chosen = self.table, self.chosen
        speaker = self.speaker(link, client)
        text, failed, fits, nameless = (words, False, not chosen.errors, ()) if isinstance(words, str) else words
        if not self.takes_all:
            if not (fits or nameless) or not chosen.fits(ns, answered, key, speaker.client, speaker.connection):
                return
            if not fits:
                count_ids(self.capture.tally.nameless, nameless)
                return
        if table.start is None:
            self.head()
        table.failed += failed
        latency = None if answered is None else (answered - ns) // 1000 / 1000
        size, colour = sizes(asked_size, answered_size), "red" if failed else None
        table.row(speaker, ns, self.apis[key].name, version, text, latency, size, colour)


def side(message: MessageCodec, paths: Sequence[str]) -> tuple[Any, bool] | None:
    """Return (the core's selection, whether topics go by ids); None where the core can't read that version by these
    paths.
    """
    try:
        selection = message.select(paths)
    except UsageError:
        return None
    slices = [path for path in paths if path.endswith(SLICED)]
    if message.variants or selection.compiled is None or not selection.slices_only(slices):
        return None
    topic = next(path for path in paths if path.endswith(TOPIC))
    return selection.compiled, selection.place(topic).type == "uuid"
