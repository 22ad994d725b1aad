"""`decode pcap --records full --format jsonl`: lines with decoded keys and values of records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kcli.jsontext import dumps, loads
from kcli.topic_names import NAME_FIELDS

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder

NAMES = (*NAME_FIELDS, "_topicName")
RECORDS = (b'"records":[', b'"records": [')  # a batch has some

Row = dict[str, Any]


class PayloadLines:
    """Adds `_key` and `_value` to the records in lines."""

    def __init__(self, decoder: PayloadDecoder) -> None:
        self.decoder = decoder

    def line(self, line: bytes) -> bytes:
        """Return the line, with decoded keys and values if it has records."""
        if not any(each in line for each in RECORDS):
            return line
        row = loads(line)
        for side in ("request", "response"):
            for topic, batch in batches_in(row.get(side), None):
                if not batch.get("isControl"):
                    for record in batch.get("records") or ():
                        self.decoder.add_to(record, topic)
        return dumps(row).encode("utf-8", "surrogatepass") + b"\n"


def batches_in(value: Any, topic: str | None) -> Iterator[tuple[str | None, Row]]:
    """Yield the batches in a message, each with the name of its topic."""
    if isinstance(value, list):
        for each in value:
            yield from batches_in(each, topic)
    elif isinstance(value, dict):
        topic = next((value[name] for name in NAMES if isinstance(value.get(name), str)), topic)
        for name, each in value.items():
            if name == "batches" and isinstance(each, list):
                yield from ((topic, batch) for batch in each)
            elif isinstance(each, (dict, list)):
                yield from batches_in(each, topic)
