"""The records fields of captured exchanges: sent by Produce, fetched by Fetch and ShareFetch."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.filters import count_ids
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.name_choice import matches
from kcli.capture.sinks import Sink
from kcli.core.codec.values import uuid_bytes
from kcli.errors import UsageError
from kcli.grammar import messages
from kcli.jsontext import loads
from kcli.records.unfolding import Unfolding
from kcli.schemas.apikeys import FETCH, PRODUCE, SHARE_FETCH
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID, NAME_FIELDS

MOST_TOPICS = 1000  # topics that are remembered
APPEND_TIMES = 2  # the version of Produce from which on responses have the append time

Row = dict[str, Any]


class RecordField(NamedTuple):
    """The records of one partition in an exchange.

    topic: its name; None if the capture never names its id. topic_id: None if the message has the name instead.
    base_offset: the offset of a Produce's first record; None if the response lacks it. append_time: the time (ms) that
    the broker set for all records; None if it set none. aborted: the first offsets of aborted transactions in a Fetch,
    by producer id.
    """

    topic: str | None
    topic_id: str | None
    partition: int
    data: memoryview
    base_offset: int | None = None
    append_time: int | None = None
    aborted: tuple[tuple[int, int], ...] = ()

    @property
    def label(self) -> str:
        """The topic's name, or its id."""
        return self.topic or (CLUSTER_METADATA if self.topic_id == METADATA_ID else self.topic_id or "")


class CapturedField(NamedTuple):
    """A records field, its exchange and the name of its file."""

    exchange: Exchange
    file: str
    field: RecordField


def record_fields(exchange: Exchange) -> Iterator[RecordField]:
    """Yield the records fields of an exchange that are not empty; none if the API has no records, or the body does not
    decode.
    """
    made = WITH_RECORDS.get(exchange.api_key)
    if made is not None:
        yield from made(exchange)


def of_produce(exchange: Exchange) -> Iterator[RecordField]:
    answers = {
        (topic_id or topic, partition["index"]): partition
        for topic, topic_id, partition in partitions_in(exchange, exchange.response, "responses", "partitionResponses")
    }
    for topic, topic_id, partition in partitions_in(exchange, exchange.request, "topicData", "partitionData"):
        if data := partition.get("records"):
            answer = answers.get((topic_id or topic, partition["index"]), {})
            stored = not answer.get("errorCode", -1) and answer.get("baseOffset", -1) >= 0
            time = answer.get("logAppendTimeMs", -1)
            yield RecordField(
                topic,
                topic_id,
                partition["index"],
                memoryview(data),
                answer["baseOffset"] if stored else None,
                time if stored and time >= 0 else None,
            )


def of_fetch(exchange: Exchange) -> Iterator[RecordField]:
    for topic, topic_id, partition in partitions_in(exchange, exchange.response, "responses", "partitions"):
        if data := partition.get("records"):
            aborted = partition.get("abortedTransactions") or ()
            firsts = tuple(sorted((each["firstOffset"], each["producerId"]) for each in aborted))
            yield RecordField(topic, topic_id, partition["partitionIndex"], memoryview(data), aborted=firsts)


def partitions_in(
    exchange: Exchange, body: Row | None, topics: str, inside: str
) -> Iterator[tuple[str | None, str | None, Row]]:
    """Yield (topic, topic id, partition's value) of a body, in order. The name is the message's own, or one learned
    from the capture; else None.
    """
    for topic in (body or {}).get(topics) or ():
        name, topic_id = next((topic[field] for field in NAME_FIELDS if topic.get(field)), None), topic.get("topicId")
        if name is None and topic_id is not None:
            known = exchange.bodies.names.get(uuid_bytes(topic_id))
            name = None if known is None else loads(known)
        for partition in topic.get(inside) or ():
            yield name, topic_id, partition


WITH_RECORDS: Mapping[int, Callable[[Exchange], Iterator[RecordField]]] = {
    PRODUCE: of_produce,
    FETCH: of_fetch,
    SHARE_FETCH: of_fetch,
}


# The place of records fields for the core, by API: (whether they are in the response, path of partitions, path of a
# partition's index).
PATHS: Mapping[int, tuple[bool, str, str]] = {
    PRODUCE: (False, "topicData[].partitionData[]", "index"),
    FETCH: (True, "responses[].partitions[]", "partitionIndex"),
    SHARE_FETCH: (True, "responses[].partitions[]", "partitionIndex"),
}


class RecordSink(Sink):
    """Keeps exchanges that may have records."""

    def __init__(
        self, topic: str | None = None, partition: int | None = None, topics: dict[str, None] | None = None
    ) -> None:
        """Choose records by topic (name or pattern) and partition. topics: gets the first topics with records."""
        self.topic, self.partition = topic, partition
        self.topics = {} if topics is None else topics
        self.client_timed: set[str] = set()  # topics whose records keep the client's time (CreateTime)
        self.found: list[tuple[Exchange, str]] = []

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        """Let the core drop exchanges without wanted records, unless there is a condition."""
        self.capture, self.bodies = capture, capture.bodies
        if capture.chosen.where is None:
            from kcli.core.columns.record_exchanges import RecordExchanges

            partition = -1 if self.partition is None else self.partition
            self.compiled = RecordExchanges(self, self.bodies.names, partition)

    def exchange(self, exchange: Exchange) -> None:
        if exchange.api_key in WITH_RECORDS:
            self.found.append((exchange, self.capture.file_name))

    def fields(self, moved: Callable[[int], None] = lambda count: None) -> Iterator[CapturedField]:
        """Read the captures, and yield the records fields of all exchanges, in order. Raises InputError at the end for
        damaged files.
        """
        for _ in self.capture.read(moved):
            found, self.found = self.found, []
            for exchange, file in found:
                nameless = set[str]()
                for field in record_fields(exchange):
                    if self.wants(field):
                        yield CapturedField(exchange, file, self.timed(exchange, field))
                    elif field.topic is None and field.topic_id and self.partition in (None, field.partition):
                        nameless.add(field.topic_id)
                count_ids(self.capture.tally.nameless, nameless - {METADATA_ID})

    def unfolded(self, moved: Callable[[int], None]) -> Iterator[tuple[CapturedField, Unfolding]]:
        """Yield (records field, its decompressor) as `fields` does; one budget is for a whole exchange."""
        exchange, unfold = None, Unfolding(shared=True)
        for captured in self.fields(moved):
            if captured.exchange is not exchange:
                exchange = captured.exchange
                unfold.begin()
            yield captured, unfold

    def timed(self, exchange: Exchange, field: RecordField) -> RecordField:
        """Return the field without the response's time if the topic keeps the client's times: a broker answers a
        duplicate batch with the batch's own newest time (Kafka's UnifiedLog).
        """
        if field.append_time is not None and field.label in self.client_timed:
            return field._replace(append_time=None)
        dated = exchange.api_key == PRODUCE and exchange.api_version >= APPEND_TIMES
        if (
            dated
            and field.base_offset is not None
            and field.append_time is None
            and len(self.client_timed) < MOST_TOPICS
        ):
            self.client_timed.add(field.label)
        return field

    def wants(self, field: RecordField) -> bool:
        """Return whether a field has the wanted topic and partition."""
        return self.wants_topic(field.label) and self.partition in (None, field.partition)

    def wants_topic(self, name: str) -> bool:
        """Return whether a topic is wanted."""
        if len(self.topics) < MOST_TOPICS:
            self.topics[name] = None
        return self.topic is None or matches(name, self.topic)

    # Called by the core

    def picked(self, link: bytes, *exchange: Any) -> None:
        """Take an exchange that may have wanted records."""
        self.capture.deliver(self.capture.handover.exchange_of(link, *exchange))

    def wants_name(self, name: bytes, quoted: bool) -> bool:
        """Return whether a topic is wanted. name: its bytes. quoted: they are JSON text."""
        text = name.decode(errors="replace")
        return self.wants_topic(loads(text) if quoted else text)

    def layout(self, api_key: int, version: int) -> tuple[Any, Any, bool, bool] | bool | None:
        """Return the place of records in a version, for the core. False: no records; True: no records, but topic names;
        None: unknown.
        """
        if not self.bodies.knows(api_key, version):
            return None
        if api_key not in PATHS:
            return self.bodies.teaches(api_key, version)
        answered, partitions, index = PATHS[api_key]
        header, body = (
            (messages.response_header, messages.response) if answered else (messages.request_header, messages.request)
        )
        message = body(api_key, version, self.bodies.dialect)
        topic, records = f"{partitions.partition('.')[0]}.topicId|topic|name", f"{partitions}.records"
        try:
            selection = message.select([partitions, topic, f"{partitions}.{index}", records])
        except UsageError:
            return None
        head = header(api_key, version, self.bodies.dialect).node
        if message.variants or head is None or selection.compiled is None:
            return None
        if not selection.slices_only({topic, records}):
            return None
        return head, selection.compiled, answered, selection.place(topic).type == "uuid"
