"""Where schemas come from: folders, files of a registry's answers, and a registry that makes trouble."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError, NetworkError, UsageError
from kcli.payloads import PayloadDecoder, PayloadOptions, registry
from kcli.payloads.registry import USE_ID
from tests.payloads.values import ORDER, VALUE, avro, framed, members

UNIT = {"type": "enum", "name": "shop.Unit", "symbols": ["KG"]}
CART = {"type": "record", "name": "shop.Cart", "fields": [{"name": "unit", "type": "shop.Unit"}]}
ANSWERS = [
    {"subject": "orders-value", "version": 1, "id": 7, "schema": json.dumps(ORDER), "schemaType": "AVRO"},
    {"subject": "unit", "version": 3, "id": 8, "guid": "00000000-0000-0000-0000-000000000008",
     "schema": json.dumps(UNIT)},
    {"subject": "cart-value", "version": 1, "id": 9, "schema": json.dumps(CART),
     "references": [{"name": "shop.Unit", "subject": "unit", "version": 3}]},
]  # fmt: skip
ORDERED = framed(7, avro(ORDER, VALUE))
READ = {"schemaId": 7, "format": "avro", "data": VALUE}
TOPIC = [{"key": {"keytype": "SCHEMA"}, "value": json.dumps(each)} for each in ANSWERS]


@pytest.mark.parametrize(
    "files",
    [
        {"all.json": json.dumps(ANSWERS)},
        {"all.jsonl": "\n".join(map(json.dumps, ANSWERS))},
        {"topic.jsonl": "\n".join(map(json.dumps, TOPIC))},
        {f"{each['id']}.json": json.dumps(each) for each in ANSWERS},
        {"7.avsc": json.dumps(ORDER), "sub/8-unit.avsc": json.dumps(UNIT), "rest.json": json.dumps(ANSWERS[1:])},
    ],
)
def test_files_stand_for_a_registry(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    decoder = PayloadDecoder(PayloadOptions(schemas=(str(tmp_path),)))
    assert members(decoder, ORDERED) == READ
    assert members(decoder, framed(9, b"\0"))["data"] == {"unit": "KG"}  # type: ignore[index]
    assert members(decoder, framed(10, b"\0")) == {"schemaId": 10, "reason": "its schema is missing"}
    apicurio: Any = {"apicurio.value.globalId": (7).to_bytes(8, "big")}
    assert members(decoder, ORDERED[5:], **apicurio) == {"globalId": 7, "format": "avro", "data": VALUE}
    assert members(decoder, framed(7, ORDERED[5:], 8)) == READ


def test_references_that_lead_nowhere_have_a_reason(tmp_path: Path) -> None:
    endless = {"subject": "a", "version": 1, "id": 1, "schema": '"int"',
               "references": [{"name": "a", "subject": "a", "version": 1}]}  # fmt: skip
    wide = {"subject": "b", "version": 1, "id": 3, "schema": '"int"',
            "references": [{"name": f"n{n}", "subject": "b", "version": 1} for n in range(200)]}  # fmt: skip
    rows = [endless, {"id": 2, "schema": '"int"', "references": [{"name": "x", "subject": "none", "version": 1}]}, wide,
            {"id": 4, "schema": "x", "references": [5]}, {"id": 5, "schema": "x", "schemaType": "XML"}]  # fmt: skip
    path = tmp_path / "all.json"
    path.write_text(json.dumps(rows))
    decoder = PayloadDecoder(PayloadOptions(schemas=(str(path),)))
    assert members(decoder, framed(1, b"\2"))["data"] == 1  # type: ignore[index]
    for number, reason in ((2, "it refers to version 1 of none"), (3, "more than 100 references"),
                           (4, "can't be read"), (5, "type XML")):  # fmt: skip
        assert reason in members(decoder, framed(number, b"\2"))["reason"]  # type: ignore[index]


class Stub(BaseHTTPRequestHandler):
    """A registry that answers as its `answers` say, by path: (status, headers, body)."""

    answers: dict[str, tuple[int, dict[str, str], bytes]]
    seen: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get("Authorization")))
        status, headers, body = self.answers.get(self.path, (404, {}, b'{"error_code": 40403}'))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        pass


@pytest.fixture
def stub() -> Iterator[tuple[str, type[Stub]]]:
    kind = type("Answering", (Stub,), {"answers": {}, "seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", kind
        server.shutdown()
        thread.join()


def answer(entry: Any) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, json.dumps(entry).encode()


def test_a_registry_is_asked_once_with_who_asks(stub: tuple[str, type[Stub]], tmp_path: Path) -> None:
    url, kind = stub
    kind.answers = {"/schemas/ids/9": answer(ANSWERS[2]), "/subjects/unit/versions/3": answer(ANSWERS[1]),
                    "/schemas/guids/00000000-0000-0000-0000-000000000008": answer(ANSWERS[1])}  # fmt: skip
    (tmp_path / "p.properties").write_text("bearer.auth.token=t0ken\n")
    cases = (
        (url.replace("//", "//me:pass@"), (), "Basic " + base64.b64encode(b"me:pass").decode()),
        (url, ("schema.registry.basic.auth.user.info=me:pass",), "Basic " + base64.b64encode(b"me:pass").decode()),
        (url, (str(tmp_path / "p.properties"),), "Bearer t0ken"),
    )
    for address, config, said in cases:
        kind.seen.clear()
        decoder = PayloadDecoder(PayloadOptions(registry=address, registry_config=config))
        for _ in range(3):
            assert members(decoder, framed(9, b"\0"))["data"] == {"unit": "KG"}  # type: ignore[index]
            assert "is missing" in members(decoder, framed(4, b"\0"))["reason"]  # type: ignore[index]
        assert kind.seen == [(path, said) for path in ("/schemas/ids/9", "/subjects/unit/versions/3", "/schemas/ids/4")]
        guid = b"\1" + bytes(15) + b"\x08"
        assert members(decoder, b"\0", __value_schema_id=guid)["data"] == "KG"  # type: ignore[index]
        decoder.raise_failure()


def test_what_a_registry_may_do_is_bounded(stub: tuple[str, type[Stub]]) -> None:
    url, kind = stub
    kind.answers = {
        "/schemas/ids/1": (200, {}, b"x" * (5 << 20)),
        "/schemas/ids/2": (302, {"Location": "/schemas/ids/2"}, b""),
        "/schemas/ids/3": (200, {}, b"<html>"),
        "/schemas/ids/4": (200, {}, b'{"no": "schema"}'),
        "/schemas/ids/5": (500, {}, b""),
        "/schemas/ids/6": (302, {"Location": "/schemas/ids/7"}, b""),
        "/schemas/ids/7": answer(ANSWERS[0]),
        "/schemas/ids/8": (302, {"Location": "file:///etc/passwd"}, b""),
        "/schemas/ids/9": (401, {}, b""),
    }
    decoder = PayloadDecoder(PayloadOptions(registry=url))
    for number, reason in (
        (1, "more than 4 MiB"),
        (3, "not JSON"),
        (4, "holds no schema"),
        (5, "answers /schemas/ids/5 with 500"),
    ):
        assert reason in members(decoder, framed(number, b"\0"))["reason"]  # type: ignore[index]
    assert members(decoder, framed(6, ORDERED[5:]))["data"] == VALUE  # type: ignore[index]
    for number, reason in ((2, "too many redirects"), (8, "can't be reached"), (9, "refuses: 401")):
        decoder = PayloadDecoder(PayloadOptions(registry=url))
        assert reason in members(decoder, framed(number, b"\0"))["reason"]  # type: ignore[index]
        with pytest.raises(NetworkError, match=reason):
            decoder.raise_failure()
        before = len(kind.seen)
        assert "reason" in (members(decoder, framed(7, ORDERED[5:])) or {})
        assert len(kind.seen) == before, "a registry that failed is asked no more"


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"])
def test_an_answer_that_comes_a_byte_at_a_time_has_an_end(start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "WHOLE_SECONDS", 0.5)
    done = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(start)
            while not done.wait(0.05):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        decoder = PayloadDecoder(PayloadOptions(registry=f"http://127.0.0.1:{listener.getsockname()[1]}"))
        assert "took more than 0.5 s over one answer" in members(decoder, ORDERED)["reason"]  # type: ignore[index]
        done.set()
        thread.join()
    with pytest.raises(NetworkError, match="took more than"):
        decoder.raise_failure()


def test_a_password_is_not_sent_to_another_host_nor_shown(stub: tuple[str, type[Stub]]) -> None:
    url, kind = stub
    kind.answers = {"/schemas/ids/7": (302, {"Location": url.replace("127.0.0.1", "localhost") + "/other"}, b""),
                    "/other": answer(ANSWERS[0])}  # fmt: skip
    decoder = PayloadDecoder(PayloadOptions(registry=url.replace("//", "//me:s3cret@")))
    assert members(decoder, ORDERED) == READ
    assert [said is not None for _, said in kind.seen] == [True, False]
    gone = PayloadDecoder(PayloadOptions(registry="http://me:s3cret@127.0.0.1:1"))
    started = time.monotonic()
    assert "s3cret" not in members(gone, ORDERED)["reason"]  # type: ignore[index]
    assert time.monotonic() - started < 60
    with pytest.raises(NetworkError) as caught:
        gone.raise_failure()
    assert "s3cret" not in str(caught.value)


def test_properties_that_are_none() -> None:
    with pytest.raises(UsageError, match=r"no property 'basic\.auth'"):
        PayloadDecoder(PayloadOptions(registry="http://x", registry_config=("basic.auth=x",)))
    with pytest.raises(InputError):
        PayloadDecoder(PayloadOptions(registry="http://x", registry_config=("nowhere.properties",)))
    for url, number in ("http://x", "globalId"), ("http://x/apis/registry/v3", "id"):
        with pytest.raises(UsageError, match="globalId or contentId"):
            PayloadDecoder(PayloadOptions(registry=url, registry_config=(f"{USE_ID}={number}",)))


def test_apicurios_own_api_has_references(stub: tuple[str, type[Stub]]) -> None:
    url, kind = stub
    item, cart = ('syntax = "proto3"; message Item { string sku = 1; }',
                  'syntax = "proto3"; import "item.proto"; message Cart { repeated Item items = 1; }')  # fmt: skip
    named = [{"groupId": None, "artifactId": "item proto", "version": "1", "name": "item.proto"}]
    where = "/groups/default/artifacts/item%20proto/versions/1"
    for version, ids, content in (("v2", "globalIds", ""), ("v3", "contentIds", "/content")):
        base = f"/apis/registry/{version}"
        kind.answers = {
            f"{base}/ids/{ids}/9": (200, {"X-Registry-ArtifactType": "PROTOBUF"}, cart.encode()),
            f"{base}/ids/{ids}/9/references": answer(named),
            f"{base}{where}{content}": (200, {}, item.encode()),
            f"{base}{where}/references": answer([]),
        }
        decoder = PayloadDecoder(PayloadOptions(registry=url + base))
        assert members(decoder, framed(9, b"\x06\n\x04Cart" + b"\n\x03\n\x01x", 8)) == {
            "schemaId": 9, "format": "protobuf", "data": {"items": [{"sku": "x"}]},
        }  # fmt: skip
        other = {"globalIds": "contentId", "contentIds": "globalId"}[ids]
        decoder = PayloadDecoder(PayloadOptions(registry=url + base, registry_config=(f"{USE_ID}={other}",)))
        assert members(decoder, framed(9, b"\0")) == {"schemaId": 9, "reason": "its schema is missing"}
        assert kind.seen[-1][0] == f"{base}/ids/{other}s/9"
