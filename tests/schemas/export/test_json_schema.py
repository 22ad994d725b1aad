"""The exported JSON Schema accepts every line that kcli prints, and refuses what it does not print."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.schemas.export.json_schema import json_schema
from kcli.schemas.vectors.values import vectors
from tests.greeting import greeting

# Brokers fetch the metadata log there, whose records are secret.
METADATA = Path(__file__).parents[2] / "broker/data/kraft-boot.pcap.gz"


def draft() -> Any:
    """The validators of this kind; it takes a second to import them, in each process that collects tests."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator


@cache
def validator() -> Any:
    return draft()(json.loads("\n".join(json_schema(catalog()))))


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> Iterator[Any]:
    main(list(words))
    return map(json.loads, capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    "words",
    [
        "decode pcap samples/java44-txn.pcap --records full",
        "decode pcap samples/old-librdkafka-on-3.9.pcap --records raw",
        "decode pcap samples/sasl-plain-scram.pcap --embedded",
        "decode pcap samples/tls.pcap",
        "decode pcap samples/ipv6.pcapng --show-secrets",
        "decode segment samples/orders-0/00000000000000000000.log --records full",
        "records samples/java44-txn.pcap --control",
        "records samples/orders-0",
        f"decode pcap {METADATA} --records raw",
    ],
)
def test_every_line_is_accepted(words: str, samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [word.replace("samples", str(samples), 1) for word in words.split()]
    found = list(lines(capsys, *given, "--format", "jsonl", "-q"))
    assert len(found) > 4
    for line in {kind_of(line): line for line in reversed(found)}.values():
        validator().validate(line)


def kind_of(line: dict[str, Any]) -> str:
    """Lines of a kind have the same form: one of each is validated, the first."""
    header = line.get("requestHeader", {})
    kind = (header.get("requestApiKey"), header.get("requestApiVersion"), line.get("response") is None)
    return f"{kind} {sorted(line)} {line.get('event')} {line.get('compression')}"


def test_it_is_a_schema() -> None:
    """Its forms of lines, and those of one API: all of it takes a minute."""
    definitions = validator().schema["$defs"]
    small = {name: schema for name, schema in definitions.items() if name[0].islower() or name.startswith("Fetch")}
    draft().check_schema({"$defs": small})
    assert set(references(validator().schema)) <= {f"#/$defs/{name}" for name in definitions}


def references(schema: Any) -> Iterator[str]:
    """Yield every $ref."""
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for inner in schema.values():
            yield from references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from references(inner)


@pytest.mark.parametrize("name", ["Fetch", "CreateTopics", "ConsumerGroupHeartbeat", "DescribeConfigs", "Vote"])
def test_every_version_is_accepted(name: str) -> None:
    tables = catalog()
    api = tables.apis[tables.api_key(name)]
    for version in api.versions:
        for side in ("request", "response"):
            message = tables.message(getattr(api, side))
            codec = messages.data(message.name, version)
            _, value = next(iter(vectors(message, version)))
            body = json.loads(codec.json(codec.write(value))[0])
            validator().validate(line_of(side, api.key, version, body))


def line_of(side: str, key: int, version: int, body: Any) -> dict[str, Any]:
    number = {"correlationId": 7}
    if side == "response":
        return {"responseHeader": number, "requestApiKey": key, "requestApiVersion": version, "response": body}
    header = {"requestApiKey": key, "requestApiVersion": version, **number, "requestApiKeyName": None}
    return {"requestHeader": header, "request": body}


@pytest.mark.parametrize(
    "change",
    [
        {"request": {"topics": [{"name": 5}], "allowAutoTopicCreation": True}},
        {"request": {"topics": [], "allowAutoTopicCreation": True, "more": 1}},
        {"request": {"topics": []}},
        {"latencyMs": "1"},
        {"surplus": 1},
    ],
)
def test_other_json_is_refused(change: dict[str, Any]) -> None:
    header = {
        "requestApiKey": 3,
        "requestApiVersion": 4,
        "correlationId": 1,
        "clientId": "c",
        "requestApiKeyName": "METADATA",
    }
    line: dict[str, Any] = {
        "timestamp": "2026-11-21T00:52:34.167123Z", "connection": "a-b", "requestHeader": header,
        "request": {"topics": [{"name": "t"}], "allowAutoTopicCreation": True},
        "response": None, "requestBytes": 1, "responseBytes": None, "latencyMs": None, "errors": [],
    }  # fmt: skip
    assert validator().is_valid(line)
    assert not validator().is_valid(line | change)


def test_drafts_have_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "export", "--to", "json-schema", "--dialect", greeting(tmp_path)]) == 0
    schema = draft()(json.loads(capsys.readouterr().out))
    assert schema.is_valid(line_of("request", 30100, 1, {"name": "hi", "times": [1]}))
    assert not schema.is_valid(line_of("request", 30100, 0, {"name": "hi", "times": [1]}))
