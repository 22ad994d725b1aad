"""`decode pcap --records batches|full` in the table: the batches and records of an exchange."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.pcap.summaries.phrases import cut
from kcli.cli.decode.pcap.summaries.topic_partitions import partition_number, topic_name
from kcli.counting import counted
from kcli.jsontext import dumps, loads

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder

INDENT = " " * 13
RECORDS = ("records", "unalignedRecords")


def record_lines(exchange: Exchange, form: str, decoder: PayloadDecoder | None = None) -> Iterator[str]:
    """Yield a line for each batch, and with "full" one for each record: partition, offset, key and value. decoder:
    decodes keys and values.
    """
    from kcli.records import batches_json
    from kcli.records.unfolding import Unfolding

    unfold = Unfolding(shared=True)
    for message in (exchange.request, exchange.response):
        for topic, partition, data in fields_of(message, "", {}):
            place = f"{cut(topic)}[{partition}]"
            for batch in loads(batches_json(memoryview(data), form, secrets=exchange.bodies.secrets, unfold=unfold)):
                yield INDENT + batch_line(place, batch)
                for record in batch.get("records") or ():
                    if decoder is not None:
                        decoder.add_to(record, topic)
                    words = f"{text_of(decoded(record, 'key'))}: {text_of(decoded(record, 'value'))}"
                    yield f"{INDENT}  {place} {record['offset']}  {words}"


def fields_of(value: Any, name: str, topic: dict[str, Any]) -> Iterator[tuple[str, Any, bytes]]:
    """Yield (topic, partition, bytes) of each records field that is not empty."""
    if isinstance(value, list):
        for item in value:
            if isinstance(item, dict):
                yield from fields_of(item, name, topic)
    elif isinstance(value, dict):
        if topic_name(value) != "?":
            topic = value
        for key, item in value.items():
            if key in RECORDS and isinstance(item, (bytes, memoryview)) and len(item):
                yield topic_name(topic), partition_number(value), bytes(item)
            elif isinstance(item, (dict, list)):
                yield from fields_of(item, key, topic)


def batch_line(place: str, batch: dict[str, Any]) -> str:
    """Format a batch, or the event for bytes that are no whole batch: a broker may cut one at the fetch's limit."""
    if "event" in batch:
        return f"{place} {batch['event']}: {batch['bytes']:,} bytes: {batch['reason']}"
    wrong = "" if batch.get("crcValid", True) else ", CRC WRONG"
    control = ", control" if batch.get("isControl") else ", transactional" if batch.get("isTransactional") else ""
    offsets = f"{known(batch['baseOffset'])}-{batch['lastOffset']}"
    records = "? records" if batch["count"] is None else counted(batch["count"], "record")
    size = counted(batch["sizeInBytes"], "byte")
    return f"{place} {offsets}  {records}, {size}, {batch['compression']}{control}{wrong}{unread(batch)}"


def known(value: int | None) -> int | str:
    """Return a number that a compressed message set has only inside; "?" if the inside can't be read."""
    return "?" if value is None else value


def unread(batch: dict[str, Any]) -> str:
    error = batch.get("_error")
    return f", {error['path']}: {error['reason']}" if error else ""


def decoded(record: dict[str, Any], which: str) -> Any:
    """Return a key or value as its schema reads it, where it was decoded, else as it is."""
    return record.get(f"_{which}", record).get("data", record.get(which))


def text_of(value: Any) -> str:
    """Format a key or value: text unchanged, bytes as base64, null as null."""
    if isinstance(value, str):
        return cut(value, 80)
    return cut(dumps(value), 80)
