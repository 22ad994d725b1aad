"""Schemas out of the capture itself: what serializers of Python, Java and Go said to a real registry (Apicurio).

shop.pcap: confluent-kafka (Avro, JSON Schema, Protobuf), Apicurio's Avro serializer for Java (ids in bytes, and in
headers), franz-go with hamba/avro; their registry spoke HTTP in the same capture.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import DecodeOptions
from kcli.cli.main import main
from kcli.payloads.framing import SchemaId
from kcli.payloads.http import HttpExchanges, HttpRequest, HttpResponse
from kcli.payloads.http_schemas import CapturedSchemas, Tap, entries_of

SHOP = Path(__file__).parent / "data" / "shop.pcap"


def produced() -> dict[str, list[Any]]:
    """The values that the three programs sent, by topic."""
    return {
        "orders": [
            {
                "id": n,
                "customer": f"customer-{n}" if n % 4 else None,
                "price": f"{n * 1.25:.2f}",
                "at": f"2026-11-26T06:{n:02}:00Z",
                "items": [{"sku": f"sku-{item}", "quantity": item + 1} for item in range(n % 3)],
            }
            for n in range(12)
        ],
        "notes": [{"text": f"note {n}", "n": n} for n in range(12)],
        "payments": [
            {"id": n, "method": "CARD" if n % 2 else "CASH", "amount": n * 1.5, "tags": {"a": n}} for n in range(12)
        ],
        **{
            f"readings-{mode}": [{"sensor": f"s{n}", "celsius": n * 0.5, "flags": {"ok": n % 2 == 0}} for n in range(6)]
            for mode in ("payload", "headers")
        },
        "visits": [{"page": "/p", "seconds": n * 7, "tags": ["a", "b"][: n % 3]} for n in range(6)],
    }


def test_values_of_real_serializers_are_equal(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--payloads", "--key-format", "readings-*=long", "--format", "jsonl", "-q")
    assert main(["records", str(SHOP), *words]) == 0
    found: dict[str, list[Any]] = {}
    for line in capsys.readouterr().out.splitlines():
        row = json.loads(line)
        payload = row["_value"]
        assert set(payload) == {"globalId" if row["topic"] == "readings-headers" else "schemaId", "format", "data"}
        found.setdefault(row["topic"], []).append(payload["data"])
        if row["topic"] == "orders":
            assert row["_key"]["data"] == {"id": payload["data"]["id"]}
    assert found == produced()


def test_ports_of_brokers_do_not_hide_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--port", "19092", "--payloads", "--topic", "visits", "--values", "-q")
    assert main(["records", str(SHOP), *words]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == produced()["visits"]


def test_a_capture_without_a_registry_has_no_schemas(samples: Path) -> None:
    for paths in ([str(samples / "tls.pcap"), str(samples / "kcat-codecs.pcap")], []):
        schemas = CapturedSchemas(paths, DecodeOptions())
        assert schemas.find(SchemaId("schemaId", 1)) is None


SCHEMA = {"schema": '"int"'}
ENTRY = {**SCHEMA, "id": 7, "subject": "t-value", "version": 2}


@pytest.mark.parametrize(
    ("method", "path", "body", "said", "entries"),
    [
        ("GET", "/schemas/ids/7", b"", SCHEMA, [{**SCHEMA, "id": 7}]),
        ("GET", "/x/schemas/guids/0-8", b"", SCHEMA, [{**SCHEMA, "guid": "0-8"}]),
        ("POST", "/subjects/t-value/versions", json.dumps(SCHEMA).encode(), {"id": 7},
         [{**SCHEMA, "schemaType": "AVRO", "subject": "t-value", "id": 7}]),
        ("POST", "/subjects/t-value", json.dumps(SCHEMA).encode(), ENTRY, [ENTRY]),
        ("GET", "/subjects/t-value/versions/2", b"", ENTRY, [ENTRY]),
        ("GET", "/schemas", b"", [ENTRY, 5], [ENTRY]),
        ("POST", "/apis/registry/v2/groups/g/artifacts", b'"int"', {"globalId": 3, "contentId": 2, "type": "AVRO"},
         [{"globalId": 3, "contentId": 2, "schema": '"int"', "schemaType": "AVRO"}]),
        ("POST", "/apis/registry/v3/groups/g/artifacts", b'{"firstVersion": {"content": {"content": "\\"int\\""}}}',
         {"version": {"globalId": 3, "artifactType": "AVRO"}},
         [{"globalId": 3, "schema": '"int"', "schemaType": "AVRO"}]),
        ("GET", "/apis/registry/v2/ids/globalIds/3", b"", "int",
         [{"globalId": 3, "schema": '"int"', "schemaType": "JSON"}]),
        ("POST", "/apis/registry/v2/groups/g/artifacts", b'{"content": "\\"int\\"", "references": []}',
         {"globalId": 3, "type": "AVRO", "groupId": "g", "id": "t/x", "version": "2"},
         [{"globalId": 3, "subject": "/groups/g/artifacts/t%2Fx/versions/2", "version": -1, "schema": '"int"',
           "schemaType": "AVRO"}]),
        ("GET", "/apis/registry/v3/groups/default/artifacts/t/versions/2/content", b"", "int",
         [{"subject": "/groups/default/artifacts/t/versions/2", "version": -1, "schema": '"int"',
           "schemaType": "JSON"}]),
        ("GET", "/apis/registry/v3/groups/default/artifacts/t/versions/2", b"", {"artifactId": "t"}, []),
        ("GET", "/apis/registry/v3/ids/contentIds/2/references", b"", [], []),
        ("GET", "/metrics", b"", {"id": 7}, []),
        ("POST", "/subjects/t-value/versions", b"{", {"id": 7}, []),
    ],
)  # fmt: skip
def test_exchanges_with_a_registry(method: str, path: str, body: bytes, said: Any, entries: list[Any]) -> None:
    answer = HttpResponse(200, json.dumps(said).encode(), "")
    assert entries_of(HttpRequest(method, path, body), answer) == entries


VISIT = '{"type": "record", "name": "Visit", "fields": [{"name": "who", "type": "shop.Who"}]}'
WHO = '{"type": "enum", "name": "Who", "namespace": "shop", "symbols": ["A", "B"]}'
REFERENCES = [{"groupId": None, "artifactId": "shop.Who", "version": "1", "name": "shop.Who"}]
CREATED = {"content": {"content": VISIT, "references": REFERENCES}}


@pytest.mark.parametrize(
    "exchanges",
    [
        [("GET", "/ids/contentIds/4/references", None, REFERENCES), ("GET", "/ids/contentIds/4", None, VISIT),
         ("GET", "/groups/default/artifacts/shop.Who/versions/1/content", None, WHO)],
        [("POST", "/groups/default/artifacts", {"firstVersion": {"content": {"content": WHO}}}, {"version":
           {"version": "1", "artifactId": "shop.Who", "globalId": 4, "contentId": 3, "artifactType": "AVRO"}}),
         ("POST", "/groups/default/artifacts/t/versions", CREATED, {"version": "1", "globalId": 9, "contentId": 4}),
         ("GET", "/ids/contentIds/4", None, VISIT)],
    ],
)  # fmt: skip
def test_references_come_from_exchanges_of_their_own(exchanges: list[tuple[str, str, Any, Any]]) -> None:
    """By Apicurio's own API: beside the schema, or as it was registered. A number of no kind is a content's."""
    tap = Tap()
    for method, path, asked, said in exchanges:
        answer = said if isinstance(said, str) else json.dumps(said)
        request = HttpRequest(method, "/apis/registry/v3" + path, json.dumps(asked).encode() if asked else b"")
        tap.pair(request, HttpResponse(200, answer.encode(), ""))
    tap.join()
    found = tap.entries.find(SchemaId("schemaId", 4))
    assert found is not None and (found.text, found.references) == (VISIT, (("shop.Who", WHO),))


def message(start: str, body: bytes, *headers: str) -> bytes:
    return "\r\n".join([start, f"Content-Length: {len(body)}", "Host: x", *headers, "", ""]).encode() + body


def pairs(
    *bytes_of: tuple[bool, bytes], piece: int = 1 << 20
) -> tuple[list[tuple[HttpRequest, HttpResponse]], HttpExchanges]:
    found: list[tuple[HttpRequest, HttpResponse]] = []
    exchanges = HttpExchanges(lambda request, answer: found.append((request, answer)))
    for from_client, data in bytes_of:
        for start in range(0, len(data), piece):
            exchanges.receive(from_client, data[start : start + piece])
    return found, exchanges


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_http_is_read_in_any_pieces(piece: int) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    packed = message("HTTP/1.1 200 OK", gzip.compress(b"packed"), "Content-Encoding: gzip")
    found, exchanges = pairs(
        (True, message("GET /a?x=1 HTTP/1.1", b"") + message("POST /b HTTP/1.1", b"body")),
        (False, b"HTTP/1.1 100 Continue\r\n\r\n" + chunked),
        (False, packed),
        (True, message("GET /c HTTP/1.1", b"")),
        (False, message("HTTP/1.1 404 No", b"", "X-Registry-ArtifactType: PROTOBUF")),
        piece=piece,
    )
    assert found == [
        (HttpRequest("GET", "/a", b""), HttpResponse(200, b"abcde", "")),
        (HttpRequest("POST", "/b", b"body"), HttpResponse(200, b"packed", "")),
        (HttpRequest("GET", "/c", b""), HttpResponse(404, b"", "PROTOBUF")),
    ]
    assert not exchanges.failed and not exchanges.size


@pytest.mark.parametrize(
    "answer",
    [
        message("HTTP/1.1 200 OK", gzip.compress(bytes(20 << 20)), "Content-Encoding: gzip"),
        message("HTTP/1.1 200 OK", b"x", "Content-Encoding: br"),
        message("HTTP/1.1 200 OK", b"xx", "Content-Encoding: gzip"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + bytes(5 << 20),
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 100_000,
        b"SSH-2.0\r\n\r\n",
    ],
)
def test_http_that_is_not_read_is_let_go_of(answer: bytes) -> None:
    found, exchanges = pairs(
        (True, message("GET /a HTTP/1.1", b"")), (False, answer), (False, b"HTTP/1.1 200 OK\r\n\r\n")
    )
    assert not found and exchanges.failed and not exchanges.size


def test_sql_has_the_same_values() -> None:
    from kcli.payloads import PayloadDecoder, PayloadOptions
    from kcli.sql.given_tables import open_engine
    from kcli.sql.inputs import sort_inputs

    decoder = PayloadDecoder(PayloadOptions(on=True), CapturedSchemas([str(SHOP)], DecodeOptions()))
    question = "SELECT topic, value_data, value_schema_id, value_reason FROM records WHERE api = 'PRODUCE'"
    with open_engine(sort_inputs([str(SHOP)]), {}, None, decoder) as engine, engine.answer(question) as answer:
        rows = answer.read_all().to_pylist()
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row["topic"], []).append(json.loads(row["value_data"]))
        assert row["value_schema_id"].isdigit() and row["value_reason"] is None
    assert found == produced()
