"""Exchanges as tshark shows them with the dissector that kcli exports, in the form of kcli's own lines."""

from __future__ import annotations

import base64
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field
from tests.processes import ended

PREFIX = "kafka2."
Message = tuple[dict[str, str], dict[str, Any], list[str]]
BATCH_WORDS = ("timestampType", "compression")
ABSENT_BEFORE_MAGIC_2 = (
    "isTransactional",
    "isControl",
    "partitionLeaderEpoch",
    "producerId",
    "producerEpoch",
    "baseSequence",
    "baseTimestamp",
)


def packets(lua: Path, capture: Path, *options: str) -> Iterator[ET.Element]:
    """Yield what tshark makes of each frame of Kafka in a capture."""
    command = ["tshark", "-n", "-X", f"lua_script:{lua}", "-r", str(capture), "-Y", "kafka2", "-T", "pdml", "-2"]
    command += ["-o", "tcp.reassemble_out_of_order:TRUE", *options]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)) as tshark:
        assert tshark.stdout is not None
        for _, element in ET.iterparse(tshark.stdout):
            if element.tag == "packet":
                yield element
                element.clear()


def messages(found: Iterable[ET.Element]) -> Iterator[Message]:
    """Yield (header, body, expert words) of each message that is shown."""
    for packet in found:
        for proto in packet.iter("proto"):
            if proto.get("name") != "kafka2":
                continue
            header = {name(field): field.get("show", "") for field in proto if name(field)}
            header["frame"] = next(each.get("show", "") for each in packet.iter("field") if each.get("name") == "num")
            header["stream"] = next(
                each.get("show", "") for each in packet.iter("field") if each.get("name") == "tcp.stream"
            )
            experts = [each.get("show", "") for each in proto.iter("field") if each.get("name") == "_ws.expert.message"]
            for part in proto:
                if name(part).endswith(("Request", "Response")):
                    yield header, members(part, name(part)), experts


def name(field: ET.Element) -> str:
    text = field.get("name", "")
    return text.removeprefix(PREFIX) if text.startswith(PREFIX) else ""


def members(parent: ET.Element, path: str) -> dict[str, Any]:
    """The fields of a struct as kcli's JSON has them."""
    made: dict[str, Any] = {}
    for field in parent:
        here = name(field)
        if here == "_null":
            made[field.get("show", "").rpartition(".")[2]] = None
        elif here == "_tags":
            made |= members(field, path)
        elif here == "_unknownTag":
            data = next(bytes_of(each) for each in field if name(each) == "_unknownTag.data")
            entry = {"tag": int(field.get("show", "")), "data": base64.b64encode(data).decode()}
            made.setdefault("_unknownTaggedFields", []).append(entry)
        elif here in ("_trailing", "_variant"):
            made[here] = base64.b64encode(bytes_of(field)).decode() if here == "_trailing" else field.get("show")
        elif here.startswith(f"{path}."):
            array = here.endswith("._count")
            place = here.removesuffix("._count")
            made[place.removeprefix(f"{path}.")] = (
                [value(each, place) for each in field] if array else value(field, place)
            )
    return made


def value(field: ET.Element, path: str) -> Any:
    kind = KINDS[path]
    shown = field.get("show", "")
    if kind == "struct":
        return members(field, path)
    if kind == "records":
        batches = [batch(each) for each in field if name(each) == "batch"]
        return {"sizeInBytes": len(bytes_of(field)), "batches": [each for each in batches if each]}
    if kind == "bytes":
        return base64.b64encode(bytes_of(field)).decode()
    if kind == "string":
        return bytes_of(field).decode("utf-8", "replace")
    if kind == "bool":
        return shown not in ("0", "False")
    if kind == "float64":
        return float(shown)
    return shown if kind == "uuid" else int(shown)


def bytes_of(field: ET.Element) -> bytes:
    return bytes.fromhex(field.get("value", ""))


def batch(field: ET.Element) -> dict[str, Any]:
    made: dict[str, Any] = {}
    records = []
    for each in field:
        here, shown = name(each), each.get("show", "")
        if here == "record":
            records.append(record(each))
        elif here.startswith("batch."):
            key = here.removeprefix("batch.")
            made[key] = (
                shown
                if key in BATCH_WORDS
                else shown in ("1", "True")
                if key.startswith("is") or key == "crcValid"
                else int(shown, 0)
            )
    if made and made["magic"] < 2:
        made |= dict.fromkeys(ABSENT_BEFORE_MAGIC_2)
    return made | {"records": records} if made else made


def record(field: ET.Element) -> dict[str, Any]:
    made: dict[str, Any] = {"headers": []}
    for each in field:
        here = name(each)
        if here == "record.header":
            inner = next(iter(each))
            data = None if name(inner) == "_null" else bytes_of(inner)
            made["headers"].append({"key": bytes_of(each).decode(), "value": data})
        elif here == "_null":
            made[each.get("show", "").rpartition(".")[2]] = None
        elif here in ("record.key", "record.value"):
            made[here.rpartition(".")[2]] = bytes_of(each)
        elif here:
            made[here.rpartition(".")[2]] = int(each.get("show", ""))
    return made


def kinds() -> dict[str, str]:
    """The kind of every field of every API, by path."""
    found: dict[str, str] = {}

    def walk(fields: Iterable[Field], path: str) -> None:
        for field in fields:
            here = f"{path}.{field.name}"
            found[here] = "struct" if field.is_struct else field.element
            walk(field.fields, here)

    tables = catalog()
    for api in tables.apis.values():
        for name_ in (api.request, api.response):
            message = tables.message(name_)
            for each in (message, *(variant.message for variant in message.variants)):
                walk(each.fields, name_)
    return found


KINDS = kinds()
# Beside what Kafka says kcli's lines have what an exact encode needs, and names of topics.
ADDED = ("_topicName", "_payload", "_control", "_encodings")


def as_dissected(item: Any) -> Any:
    """A part of kcli's line in the form of `members`: bytes of records as bytes, additions left out."""
    if isinstance(item, list):
        return [as_dissected(each) for each in whole(item) if not (isinstance(each, dict) and "event" in each)]
    if not isinstance(item, dict):
        return item
    made = {key: as_dissected(each) for key, each in item.items() if key not in ADDED}
    if "headers" in item and "offset" in item:
        for each in (made, *made["headers"]):
            for key in ("key", "value"):
                if key in each and (key == "value" or each is made):
                    each[key] = payload(each[key])
    return made


def whole(items: list[Any]) -> list[Any]:
    """A list of batches up to one that goes on behind the field's end: kcli also shows what it finds inside of it."""
    for index, each in enumerate(items):
        if isinstance(each, dict) and str(each.get("reason")).startswith("a batch of "):
            return items[:index]
    return items


def payload(item: Any) -> bytes | None:
    if item is None or isinstance(item, bytes):
        return item
    return base64.b64decode(item["base64"]) if isinstance(item, dict) else item.encode()
