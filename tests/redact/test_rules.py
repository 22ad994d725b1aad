"""Every string, bytes, id and records field of every message has a rule; what is new is replaced."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.redact.rules import KINDS, FieldRule, rules_of
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field


def fields_of(fields: tuple[Field, ...], path: str = "") -> Iterator[tuple[str, str]]:
    for field in fields:
        yield f"{path}{field.name}", field.type.removeprefix("[]")
        yield from fields_of(field.fields, f"{path}{field.name}.")


def test_no_field_is_forgotten() -> None:
    for name in catalog().names:
        message = catalog().message(name)
        rules = rules_of(name)
        for fields in (message.fields, *(variant.message.fields for variant in message.variants)):
            for path, kind in fields_of(fields):
                assert (path in rules) == (kind in ("string", "bytes", "uuid", "records")), (name, path)


def test_kinds_are_those_that_can_be_kept() -> None:
    kinds = {rule.kind for name in catalog().names for rule in rules_of(name).values()}
    assert kinds - {None} == {*KINDS}


@pytest.mark.parametrize(
    ("message", "path", "way", "kind"),
    [
        ("ProduceRequest", "topicData.name", "name", "topics"),
        ("ProduceRequest", "topicData.partitionData.records", "records", None),
        ("FetchRequest", "topics.topicId", "uuid", "topics"),
        ("RequestHeader", "clientId", "name", "clients"),
        ("MetadataResponse", "brokers.host", "host", "hosts"),
        ("JoinGroupRequest", "protocols.metadata", "inside", None),
        ("JoinGroupRequest", "reason", "text", None),
        ("OffsetCommitRequest", "topics.partitions.committedMetadata", "text", None),
        ("FindCoordinatorRequest", "coordinatorKeys", "coordinator", None),
        ("DescribeConfigsResponse", "results.resourceName", "resource", None),
        ("CreateAclsRequest", "creations.principal", "principal", "principals"),
        ("AlterUserScramCredentialsRequest", "upsertions.salt", "nothing", None),
        ("AlterUserScramCredentialsRequest", "upsertions.name", "name", "principals"),
        ("SaslAuthenticateRequest", "authBytes", "login", None),
        ("StreamsGroupHeartbeatRequest", "clientTags.key", "name", None),
        ("PushTelemetryRequest", "metrics", "nothing", None),
    ],
)
def test_rules(message: str, path: str, way: str, kind: str | None) -> None:
    rule = rules_of(message)[path]
    assert (rule.method, rule.kind) == (way, kind)


def test_words_of_kafka_stay_where_they_belong() -> None:
    assert "range" in rules_of("JoinGroupRequest")["protocols.name"].words
    assert "range" not in rules_of("MetadataResponse")["topics.name"].words
    assert rules_of("MetadataResponse")["topics.name"].words == {"__cluster_metadata"}
    assert "retention.ms" in rules_of("DescribeConfigsResponse")["results.configs.name"].words


def test_a_message_of_a_dialect_is_replaced_by_the_same_rule(tmp_path: Path) -> None:
    (tmp_path / "dialect.json").write_text('{"name": "own", "title": "own", "source": "a test"}')
    (tmp_path / "OwnRequest.json").write_text(
        '{"apiKey": 999, "type": "request", "name": "OwnRequest", "validVersions": "0", "flexibleVersions": "0+",'
        ' "fields": [{"name": "Password", "type": "string", "versions": "0+"},'
        ' {"name": "Blob", "type": "bytes", "versions": "0+"}]}'
    )
    (tmp_path / "OwnResponse.json").write_text(
        '{"apiKey": 999, "type": "response", "name": "OwnResponse", "validVersions": "0", "flexibleVersions": "0+",'
        ' "fields": []}'
    )
    assert rules_of("OwnRequest", str(tmp_path)) == {"password": FieldRule("name"), "blob": FieldRule("nothing")}
