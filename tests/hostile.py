"""Inputs whose names and messages would steer a terminal: a capture, a segment, snapshots, lines, a dialect, a server.

Made with kcli's own writers; whole by the rules of their formats, so that readers show what they say.
"""

import contextlib
import itertools
import json
import re
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcli.grammar import messages
from kcli.grammar.frames import encode_response
from kcli.records.builder import build_batch, build_message_set
from kcli.schemas.catalog import catalog
from kcli.snapshots.image.image import Image
from tests import messages as made
from tests.capture.messages import metadata, request, response
from tests.capture.wires import Packet, Wire, frame, pcap
from tests.client.fake import listening
from tests.snapshots.made import TOPIC_ID, broker, image, snapshot

__all__ = ["NAME", "TEXTS", "Liar", "World", "illegible"]

TEXTS = (
    "\x1b[38;5;99mPAINTED\x1b[0m\x1b]0;TITLE\x07",
    "a\nFORGED line\rFORGED\r\nFORGED",
    "[red]MARKED[/red]x[/] :smile:",
    "\u202egpj.exe\u2066\u2028FORGED\u2029FORGED\u061c\u200f",
    "\x9b31m\x85FORGED\x90\x9d",
    "nul\0\b\x7f\ttab",
    "<script>alert(1)</script>",
)
NAME = "".join(text for text in TEXTS if "\0" not in text and "/" not in text)  # of a file
RECORDS = ("records", "unalignedRecords")


def hostile(value: Any, texts: Iterator[str]) -> Any:
    """The value of tests.messages, with each of its texts replaced by the next of these, and whole record batches."""
    if isinstance(value, dict):
        return {name: records() if name in RECORDS else hostile(each, texts) for name, each in value.items()}
    if isinstance(value, list):
        return [hostile(each, texts) for each in value]
    return next(texts) if isinstance(value, str) and "\x9b" in value else value


def records() -> bytes:
    """Batches of magic 2 and messages of magic 1."""
    rows = [(1, text.encode(), text.encode(), [(text, text.encode())]) for text in TEXTS]
    old = build_message_set([(1, row[1], row[2]) for row in rows], 100, magic=1)
    return build_batch(rows) + build_batch(rows, 50, codec="gzip") + old


def illegible(text: str, *, styled: bool = False) -> str | None:
    """What in the text a terminal would obey, or would look like kcli's own words; None for nothing.

    styled: colours are lawful.
    """
    if styled:
        text = re.sub(r"\x1b\[(?!38;5;99m)[0-9;]*m", "", text)
    found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text)
    if found:
        return f"raw U+{ord(found[0]):04X}: {text[max(0, found.start() - 60) : found.end() + 20]!r}"
    if found := re.search(r"^FORGED.*", text, re.MULTILINE):
        return f"a line of a stranger's own: {found[0][:60]!r}"
    return "markup was obeyed" if "MARKEDx" in text or "😄" in text else None


class World:
    """The inputs, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts = itertools.cycle(TEXTS)
        self.requests, self.responses = folder / "requests.bin", folder / "response.bin"
        self.capture = self.write(f"{NAME}.pcap", pcap(self.packets()))
        self.data = self.write("subscription.bin", self.subscription())
        said = {"protocolType": "consumer", "protocols": [{"name": "range", "metadata": self.subscription()}]}
        self.join = self.write("join.bin", request(11, 5, 1, said))
        self.garbage = self.write(f"garbage-{NAME}.pcap", b"GIF89a")
        self.segment = self.write("00000000000000000000.log", records() + b"neither")
        self.offsets = self.write("__consumer_offsets-0/00000000000000000000.log", self.group_records())
        self.snapshots = [
            self.write(f"{offset:020}-0000000002.checkpoint", snapshot(self.image(offset))) for offset in (100, 200)
        ]
        self.lines = self.write(f"{NAME}.jsonl", self.rows())
        self.dialect = self.write_dialect()

    def write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    def filled(self, name: str, version: int) -> dict[str, Any]:
        value = hostile(made.filled(catalog().message(name), version), self.texts)
        assert isinstance(value, dict)
        return value

    def subscription(self) -> bytes:
        """What a consumer says to its group."""
        filled = self.filled("ConsumerProtocolSubscription", 1)
        return b"\0\1" + messages.data("ConsumerProtocolSubscription", 1).write(filled)

    def packets(self) -> list[Packet]:
        """A connection for each API, in its newest version; then fetch sessions and produce requests with records."""
        found: list[Packet] = []
        requests = b""
        for number, api in enumerate(catalog().apis.values()):
            version = catalog().message(api.request).versions.hi
            if version < 0:
                continue
            wire = Wire(client=(f"10.1.0.{number + 1}", 40_000 + number)).open()
            for sent, answer in (metadata(1), self.exchange(api.key, version)):
                wire.client(sent).server(answer)
            requests += self.exchange(api.key, version)[0]
            found += wire.close().packets
        self.requests.write_bytes(requests)
        answer = encode_response({"correlationId": 1}, 3, 12, self.filled("MetadataResponse", 12))
        self.responses.write_bytes(answer)
        for number, text in enumerate(TEXTS):
            found += self.fetches(number, text).packets
        return sorted(found, key=lambda packet: packet.ns)

    def exchange(self, key: int, version: int) -> tuple[bytes, bytes]:
        api = catalog().apis[key]
        asked = request(key, version, 2, self.filled(api.request, version), client=next(self.texts))
        return asked, response(key, version, 2, self.filled(api.response, version))

    def fetches(self, number: int, text: str) -> Wire:
        """A session that is opened, asked for what it has, and lost; and a Produce request."""
        wire = Wire(client=(f"10.2.0.{number + 1}", 50_000 + number)).open()
        wire.client(metadata(1)[0]).server(metadata(1)[1])
        partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 20}
        topics = [{"topic": text, "partitions": [partition]}]
        data = [{"topic": text, "partitions": [{"partitionIndex": 0, "highWatermark": 9, "records": records()}]}]
        steps: tuple[tuple[int, int, int, int, list[dict[str, Any]]], ...]
        steps = ((0, 0, 0, 777 + number, data), (777 + number, 1, 0, 777 + number, []), (777 + number, 9, 71, 0, []))
        for correlation, (session, epoch, error, reported, answered) in enumerate(steps, 2):
            asked = {"maxWaitMs": 1, "minBytes": 1, "sessionId": session, "sessionEpoch": epoch, "topics": topics}
            wire.client(request(1, 11, correlation, asked, client=text))
            wire.server(
                response(1, 11, correlation, {"errorCode": error, "sessionId": reported, "responses": answered})
            )
        sent = [{"name": text, "partitionData": [{"index": 0, "records": records()}]}]
        wire.client(request(0, 7, 9, {"acks": 1, "timeoutMs": 9, "topicData": sent, "transactionalId": text}))
        wire.server(response(0, 7, 9, {"responses": [{"name": text, "partitionResponses": [{"index": 0}]}]}))
        return wire.close()

    def group_records(self) -> bytes:
        """Records of __consumer_offsets."""
        known = catalog()
        rows = []
        for number, name in known.records("group-key").items():
            values = known.records("group-value")
            if number not in values:
                continue
            key_version = number if number in known.message(name).versions else known.message(name).versions.hi
            version = known.message(values[number]).versions.hi
            key = messages.data(name, key_version).write(self.filled(name, key_version))
            value = messages.data(values[number], version).write(self.filled(values[number], version))
            rows.append((1, struct.pack(">h", number) + key, struct.pack(">h", version) + value, ()))
        return build_batch(rows)

    def image(self, offset: int) -> Image:
        records: list[tuple[str, dict[str, Any]]] = []
        for number, text in enumerate(TEXTS):
            topic = f"{TOPIC_ID[:-2]}{number}A"
            records += [
                ("TopicRecord", {"name": text, "topicId": topic}),
                ("ConfigRecord", {"resourceType": 2, "resourceName": text, "name": text, "value": f"{text}{offset}"}),
                ("ClientQuotaRecord", quota(text, offset)),
                ("UserScramCredentialRecord", {"name": text, "mechanism": 1, "iterations": 4096 + offset}),
                ("AccessControlEntryRecord", self.filled("AccessControlEntryRecord", 0)),
                ("FeatureLevelRecord", {"name": text, "featureLevel": offset // 100}),
            ]
        end_points = [{"name": "P", "host": next(self.texts), "port": 9092, "securityProtocol": 0}]
        records += [("RegisterBrokerRecord", broker(1, rack=next(self.texts), endPoints=end_points))]
        records += [("DelegationTokenRecord", self.filled("DelegationTokenRecord", 0))]
        return image(*records, end_offset=offset)

    def rows(self) -> bytes:
        """Lines as `decode pcap` prints them, with what readers of lines complain of."""
        header = {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 1, "clientId": TEXTS[0]}
        row = {"requestHeader": header, "request": {TEXTS[1]: TEXTS[3]}, "connection": TEXTS[4], "response": None}
        wrong = {"requestHeader": {"requestApiKey": TEXTS[0], "requestApiVersion": TEXTS[1]}, "request": {}}
        return b"".join(json.dumps(each).encode() + b"\n" for each in (row, wrong))

    def write_dialect(self) -> Path:
        folder = self.folder / f"dialect-{NAME}"
        folder.mkdir()
        field = {"name": "topics", "type": "string", "versions": "0+", "default": TEXTS[0], "about": TEXTS[1]}
        message = {
            "apiKey": 3, "type": "request", "name": "MetadataRequest", "validVersions": "0", "flexibleVersions": "none",
            "fields": [field],
        }  # fmt: skip
        (folder / f"MetadataRequest{NAME[:20]}.json").write_text(json.dumps(message))
        return folder


def quota(text: str, offset: int) -> dict[str, Any]:
    entity = [{"entityType": "user", "entityName": text}]
    return {"entity": entity, "key": text, "value": float(offset), "remove": False}


class Liar:
    """A server that knows SASL and refuses every login with a text that would steer a terminal."""

    def __init__(self) -> None:
        self.server = listening(self.serve)
        self.port = self.server.getsockname()[1]

    def close(self) -> None:
        self.server.close()

    def serve(self, link: socket.socket) -> None:
        with link, contextlib.suppress(OSError, struct.error):
            while answer := self.answer(link):
                link.sendall(answer)

    def answer(self, link: socket.socket) -> bytes:
        size = struct.unpack(">i", link.recv(4, socket.MSG_WAITALL))[0]
        key, version, correlation = struct.unpack(">hhi", link.recv(size, socket.MSG_WAITALL)[:8])
        offered = [{"apiKey": each, "minVersion": 0, "maxVersion": 0} for each in (17, 18, 36)]
        bodies: dict[int, dict[str, Any]] = {
            17: {"mechanisms": ["PLAIN"]},
            18: {"errorCode": 35 if version else 0, "apiKeys": offered},
            36: {"errorCode": 58, "errorMessage": "".join(TEXTS), "authBytes": b""},
        }
        if key not in bodies:
            return b""
        return frame(encode_response({"correlationId": correlation}, key, 0 if key == 18 else version, bodies[key]))
