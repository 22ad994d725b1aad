"""The columns of the table `records`: batches as Arrow arrays, with keys and values that a PayloadDecoder decodes."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import CapturedField
from kcli.core.records import batches as core
from kcli.grammar.secrets import redacted
from kcli.input_names import unicode_name
from kcli.jsontext import dumps
from kcli.records.batches import Batch, scan
from kcli.records.columns import record_arrays, within_calendar
from kcli.schemas.apikeys import PRODUCE
from kcli.tables.captured import CAPTURED
from kcli.tables.definition import Column, schema_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kcli.payloads import PayloadDecoder
    from kcli.payloads.framing import Which

ENCODED = 3 << 20  # bytes that are encoded as base64 at a time
# Characters that make a value no text, as in kcli's JSON: controls other than tab, line feed and carriage return.
STEERS = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x{9f}]"  # for Arrow (RE2)
STEERING = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")  # in UTF-8
SNAKE = {
    "baseOffset": "base_offset", "timestampType": "timestamp_type", "isTransactional": "is_transactional",
    "partitionLeaderEpoch": "partition_leader_epoch", "producerId": "producer_id", "producerEpoch": "producer_epoch",
    "baseSequence": "base_sequence",
}  # fmt: skip


SEEN = (
    "topic", "topic_id", "partition", "api", "client_id", "connection", "file", "cluster", "host", "run",
)  # fmt: skip


class RecordsOrigin:
    """The origin of batches: values of the columns that a record has from there.

    message: the number of their exchange; None outside of an exchange; start: position in the data; ns: time of the
    exchange

    next_offset: of a Produce, the offset of the next record at the broker, -1 if no response shows it; else None
    """

    __slots__ = ("count", "message", "next_offset", "ns", "start", "values")

    def __init__(self, values: dict[str, Any], message: int | None = None, start: int = 0, ns: int = 0) -> None:
        self.values, self.count, self.message, self.start, self.ns = values, 0, message, start, ns
        self.next_offset: int | None = None


def record_batches(
    data: bytes | bytearray | memoryview,
    places: Sequence[RecordsOrigin],
    secrets: bool,
    found: list[Any],
    decoder: PayloadDecoder | None = None,
    columns: Sequence[Column] = CAPTURED["records"].columns,
) -> Iterator[Any]:
    """Yield the records of whole batches as Arrow record batches. places: origins of the batches in order, each for
    `count` of them.

    found: gets faults; decoder: decodes keys and values; columns: those of the table, and others that origins have
    """
    import numpy
    import pyarrow

    schema = schema_of(columns)
    counts = [place.count for place in places]
    place_of = numpy.repeat(numpy.arange(len(places)), counts)
    messages = None if places[0].message is None else numpy.repeat([place.message for place in places], counts)
    seen = {
        field.name: pyarrow.array([place.values.get(field.name) for place in places], field.type)
        for field in schema
        if field.name in SEEN
    }
    for arrays, of_batch in record_arrays(memoryview(data), "", found, secrets, messages):
        here_of = place_of[of_batch]
        if any(place.next_offset is not None for place in places):
            arrays["offset"] = pyarrow.array(offsets_put(arrays["offset"].to_numpy(), here_of, places))
        which = pyarrow.array(here_of)
        columns_of_batch = {name: values.take(which) for name, values in seen.items()}
        if decoder is not None:
            columns_of_batch |= decoded(arrays, columns_of_batch["topic"], decoder)
        yield fitted(arrays, columns_of_batch, schema)


def offsets_put(offsets: Any, place_of: Any, places: Sequence[RecordsOrigin]) -> Any:
    """Return the offsets of records at the broker, because a producer counts from 0. place_of: index of each record's
    origin.
    """
    import numpy

    offsets = offsets.copy()
    for number in numpy.unique(place_of):
        place = places[number]
        if place.next_offset is None:
            continue
        start, stop = numpy.searchsorted(place_of, (number, number + 1))
        offsets[start:stop] = -1
        if place.next_offset >= 0:
            offsets[start:stop] = numpy.arange(place.next_offset, place.next_offset + stop - start)
            place.next_offset += int(stop - start)
    return offsets


def decoded(arrays: dict[str, Any], topics: Any, decoder: PayloadDecoder) -> dict[str, Any]:
    """Return {name: array} of PAYLOAD_COLUMNS. A key or value that holds a secret is hidden in `arrays`, too."""
    import pyarrow

    from kcli.payloads.payload_columns import PAYLOAD_COLUMNS, payload_columns

    columns: dict[str, list[Any]] = {name: [] for name in PAYLOAD_COLUMNS}
    hidden: dict[Which, dict[int, int]] = {"key": {}, "value": {}}
    rows = zip(topics.to_pylist(), arrays["key"], arrays["value"], arrays["headers"], strict=True)
    for number, (topic, *pair, headers) in enumerate(rows):
        key, value = (each.as_py() for each in pair)
        members, secret = decoder.members(topic, key, value, named(headers.as_py()))
        for name, each in payload_columns(members).items():
            columns[name].append(each)
        for which in secret:
            hidden[which][number] = len((key if which == "key" else value) or b"")
    for which, sizes in hidden.items():
        if sizes:
            values = arrays[which].to_pylist()
            for number, size in sizes.items():
                values[number] = dumps(redacted(size)).encode()
            arrays[which] = pyarrow.array(values, arrays[which].type)
    return {name: pyarrow.array(values, pyarrow.string()) for name, values in columns.items()}


def named(headers: list[dict[str, Any]] | None) -> dict[str, bytes]:
    """Return {key: value} of headers; of several with one key the last."""
    return {
        each["key"].decode("utf-8", "replace") if isinstance(each["key"], bytes) else each["key"]: each["value"]
        for each in headers or ()
        if each["value"] is not None
    }


def fitted(arrays: dict[str, Any], seen: dict[str, Any], schema: Any) -> Any:
    """Return a record batch of the arrays. The arrays are freed on the way, because a value may have a hundred
    megabytes.
    """
    import pyarrow

    made = {SNAKE.get(name, name): array for name, array in arrays.items()} | seen
    arrays.clear()
    made["timestamp_ms"] = made["timestamp"].cast("int64")
    made["timestamp"] = within_calendar(made["timestamp"])
    rows = len(made["offset"])
    return pyarrow.record_batch(
        [
            as_text(made.pop(field.name)).cast(field.type) if field.name in made else pyarrow.nulls(rows, field.type)
            for field in schema
        ],
        schema=schema,
    )


def as_text(array: Any) -> Any:
    """Return an array whose bytes are text as in kcli's JSON, if they are UTF-8 without control characters, else
    {"base64": ...}. Other arrays are unchanged, but bytes inside lists and structs are converted.
    """
    import pyarrow

    kind = array.type
    if pyarrow.types.is_binary(kind):
        return texts(array)
    if pyarrow.types.is_list(kind):
        inner = as_text(array.values)
        return array if inner is array.values else pyarrow.ListArray.from_arrays(array.offsets, inner)
    if pyarrow.types.is_struct(kind):
        return pyarrow.StructArray.from_arrays(
            [as_text(array.field(at)) for at in range(kind.num_fields)], [field.name for field in kind]
        )
    return array


def texts(array: Any) -> Any:
    import pyarrow.compute

    try:
        made = array.cast(pyarrow.string())
        if not pyarrow.compute.any(pyarrow.compute.match_substring_regex(made, STEERS)).as_py():
            return made
    except pyarrow.ArrowInvalid:
        pass
    made = (text_of(value.as_buffer()) if value.is_valid else None for value in array)
    return pyarrow.array(made, pyarrow.binary()).cast(pyarrow.string())


def text_of(value: Buffer) -> bytes | bytearray:
    """Return a value's text as UTF-8. It may have a hundred megabytes, so that few copies are made."""
    if STEERING.search(value) is None and is_utf8(made := bytes(value)):
        return made
    data, text = memoryview(value), bytearray(b'{"base64":"')
    for start in range(0, len(data), ENCODED):
        text += b64encode(data[start : start + ENCODED])
    text += b'"}'
    return text


def is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def decoder_for(decoder: PayloadDecoder | None, wanted: frozenset[str]) -> PayloadDecoder | None:
    """Return the decoder if its columns are wanted, or columns that it may have to hide; else None."""
    from kcli.payloads.payload_columns import PAYLOAD_COLUMNS

    return decoder if wanted & {"key", "value", *PAYLOAD_COLUMNS} else None


def count_batches(data: memoryview) -> int:
    """Count the whole batches in data."""
    return sum(1 for _ in scan(data, check=False))


class CapturedBatches:
    """The batches of a capture, appended to each other, until `drain` is called."""

    def __init__(self) -> None:
        self.data, self.places = bytearray(), list[RecordsOrigin]()
        self.exchange: Exchange | None = None
        self.number = 0  # of the exchange, from 1 on

    def add(self, captured: CapturedField, **more: Any) -> None:
        """Add the whole batches of one records field. more: values of other columns."""
        exchange, file, found = captured
        frames = core.frames(found.data)[0]
        if not frames:
            return
        self.number += exchange is not self.exchange
        self.exchange = exchange
        place = RecordsOrigin({
            "topic": found.topic, "topic_id": found.topic_id, "partition": found.partition,
            "api": exchange.api_name, "client_id": exchange.client_id, "connection": exchange.connection,
            "file": unicode_name(file), **more,
        }, self.number, len(self.data), exchange.request_ns)  # fmt: skip
        place.count = len(frames)
        if exchange.api_key == PRODUCE:
            place.next_offset = -1 if found.base_offset is None else found.base_offset
        self.places.append(place)
        for frame in frames:
            self.data += Batch(found.data, frame).bytes

    def drain(self) -> tuple[bytearray, list[RecordsOrigin]]:
        """Return the batches added since the last call, and their origins."""
        drained = self.data, self.places
        self.data, self.places = bytearray(), []
        return drained
