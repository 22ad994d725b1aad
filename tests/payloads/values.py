"""Schemas, payloads and batches that tests of payloads share."""

import io
import json
from pathlib import Path
from typing import Any

import fastavro

from kcli.payloads import PayloadDecoder, PayloadOptions
from kcli.records import build_batch

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": ["null", "string"], "default": None},
        {"name": "prices", "type": {"type": "array", "items": "double"}},
    ],
}
VALUE = {"id": 7, "customer": "anna", "prices": [1.5, 2.25]}


def avro(schema: Any, value: Any) -> bytes:
    """The bytes of a value as fastavro writes them."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def framed(number: int, data: bytes, size: int = 4) -> bytes:
    """Behind Confluent's frame; size 8: behind Apicurio's."""
    return b"\0" + number.to_bytes(size, "big") + data


def local(folder: Path, schema: Any, name: str = "local.avsc", **options: Any) -> PayloadDecoder:
    """A decoder with one schema of the user's own, for the values of all topics."""
    path = folder / name
    path.write_text(schema if isinstance(schema, str) else json.dumps(schema))
    return PayloadDecoder(PayloadOptions(value_schemas=(str(path),), **options))


def members(decoder: PayloadDecoder, data: bytes, topic: str = "t", **headers: bytes) -> dict[str, Any] | None:
    """What a decoder says of a value, as in JSON."""
    payload = decoder.decode(topic, "value", data, headers)
    return None if payload is None else payload.members


def log(folder: Path, topic: str, *records: tuple[bytes | None, bytes | None], headers: Any = ()) -> Path:
    """A log segment of a topic with these keys and values."""
    place = folder / f"{topic}-0"
    place.mkdir(parents=True)
    path = place / "00000000000000000000.log"
    rows = [(1_700_000_000_000, key, value, [*headers]) for key, value in records]
    path.write_bytes(build_batch(rows))
    return path
