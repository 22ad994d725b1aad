"""`kcli records --bootstrap`, and `kcli produce --jsonl`: records of a live topic, and the way back."""

import base64
import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from kcli.broker.broker import Broker
from kcli.broker.embedded import EmbeddedBroker
from kcli.cli.main import main
from tests.payloads.test_http_schemas import SHOP, produced
from tests.payloads.values import ORDER, VALUE, avro, framed

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def live() -> Iterator[EmbeddedBroker]:
    """A broker with `paid`: 3 records, 3 more in a transaction, 2 aborted, 1 in a transaction that is open."""
    with EmbeddedBroker(Broker()) as kafka:
        for topic in ("paid", "again", "typed"):
            kafka.create_topic(topic, 1)
        kafka.create_topic("spread", 3)
        settings: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap_servers}
        plain = Producer(settings)
        for number in range(3):
            plain.produce("paid", f"plain-{number}", timestamp=1_000 * number + 1)
        for number in range(9):
            plain.produce("spread", f"{number}", partition=number % 3, timestamp=number)
        plain.flush()
        writer = Producer(settings | {"transactional.id": "w"})
        writer.init_transactions()
        for words, end in ((("a", "b", "c"), writer.commit_transaction), (("x", "y"), writer.abort_transaction)):
            writer.begin_transaction()
            for word in words:
                writer.produce("paid", word, timestamp=10_000)
            writer.flush()
            end()
        writer.begin_transaction()
        writer.produce("paid", "open", timestamp=20_000)
        writer.flush()
        yield kafka
        with contextlib.suppress(KafkaException):
            writer.abort_transaction()


def rows(live: EmbeddedBroker, capsys: Capture, *words: str, code: int = 0) -> list[dict[str, Any]]:
    words = ("records", "--bootstrap", live.bootstrap_servers, *words, "--format", "jsonl", "-q")
    assert main([*words]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def values(live: EmbeddedBroker, capsys: Capture, *words: str) -> list[Any]:
    return [row["value"] for row in rows(live, capsys, *words)]


PLAIN = ["plain-0", "plain-1", "plain-2"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), [*PLAIN, "a", "b", "c", "x", "y", "open"]),
        (("--committed",), [*PLAIN, "a", "b", "c"]),
        (("--config", "isolation.level=read_committed"), [*PLAIN, "a", "b", "c"]),
        (("--last", "2"), ["y", "open"]),
        (("--last", "2", "--committed"), ["b", "c"]),
        (("--last", "99"), [*PLAIN, "a", "b", "c", "x", "y", "open"]),
        (("--from-offset", "2"), ["plain-2", "a", "b", "c", "x", "y", "open"]),
        (("--from-offset", "4", "--committed"), ["b", "c"]),
        (("--from-offset", "99"), []),
        (
            ("--since", "1970-01-01T00:00:01.5Z", "--until", "1970-01-01T00:00:10Z"),
            ["plain-2", "a", "b", "c", "x", "y"],
        ),
        (("--since", "1970-01-02"), []),
    ],
)
def test_which_records_are_read(
    live: EmbeddedBroker, capsys: Capture, words: tuple[str, ...], expected: list[str]
) -> None:
    found = rows(live, capsys, "--topic", "paid", *words, code=0 if expected else 1)
    assert [row["value"] for row in found] == expected
    assert [row["offset"] for row in found] == sorted(row["offset"] for row in found)


def test_markers_are_shown_on_request(live: EmbeddedBroker, capsys: Capture) -> None:
    found = rows(live, capsys, "--topic", "paid", "--control")
    assert [row["_control"]["type"] for row in found if "_control" in row] == ["COMMIT", "ABORT"]
    assert not [row for row in rows(live, capsys, "--topic", "paid") if "_control" in row]


def test_several_partitions_and_topics(live: EmbeddedBroker, capsys: Capture) -> None:
    found = rows(live, capsys, "--topic", "spread,paid", "--committed")
    assert sorted(row["value"] for row in found if row["topic"] == "spread") == [*map(str, range(9))]
    assert len(found) == 15
    assert values(live, capsys, "--topic", "sp*", "--partition", "1") == ["1", "4", "7"]
    assert values(live, capsys, "--topic", "spread", "--last", "1") == ["6", "7", "8"]


def test_what_can_not_be_read(live: EmbeddedBroker, capsys: Capture) -> None:
    at = ("--bootstrap", live.bootstrap_servers)
    for words, code, reason in (
        ((*at, "--topic", "none"), 4, "the cluster has no topic none"),
        ((*at, "--topic", "none*"), 4, "no topic like none*"),
        ((*at, "--topic", "paid", "--partition", "7"), 4, "no partition 7"),
        (at, 2, "--topic: missing"),
        ((*at, "--topic", "paid", "--client", "x"), 2, "the options that choose exchanges"),
        ((*at, "--topic", "paid", str(SHOP)), 2, "reads a live topic, and no file"),
        ((*at, "--topic", "paid", "--last", "1", "--from-offset", "1"), 2, "one of them at most"),
        ((*at, "--topic", "paid", "--follow", "--format", "csv"), 2, "--follow"),
        ((str(SHOP), "--last", "1"), 2, "--last: only with --bootstrap"),
        ((), 2, "FILE|DIR...: missing"),
        (("--bootstrap", "127.0.0.1:1", "--topic", "t"), 4, "127.0.0.1:1"),
    ):
        assert main(["records", *words]) == code
        captured = capsys.readouterr()
        said = captured.err
        assert reason in said and said.count("\n") == 1, said
        assert not captured.out  # no headings over nothing


def produce(live: EmbeddedBroker, topic: str, *words: str) -> int:
    return main(["produce", topic, "--jsonl", "--bootstrap", live.bootstrap_servers, "-q", *words])


def test_lines_of_records_come_back(live: EmbeddedBroker, tmp_path: Path, capsys: Capture) -> None:
    assert main(["records", str(SHOP), "--topic", "readings-headers", "--format", "jsonl", "-q"]) == 0
    text = capsys.readouterr().out
    lines = tmp_path / "lines.jsonl"
    lines.write_text(
        text + '\n{"key":null,"value":null,"headers":[{"key":"h","value":null}],"partition":0,"timestamp":7}\n'
    )
    assert produce(live, "again", str(lines)) == 0
    capsys.readouterr()
    kept = ("partition", "offset", "timestamp", "key", "value", "headers")
    before = [{name: json.loads(line)[name] for name in kept} for line in text.splitlines()]
    *after, last = [{name: row[name] for name in kept} for row in rows(live, capsys, "--topic", "again")]
    assert after == before and before[0]["headers"] and before[0]["key"]["base64"]
    assert last == {"partition": 0, "offset": 6, "timestamp": 7, "key": None, "value": None,
                    "headers": [{"key": "h", "value": None}]}  # fmt: skip


def test_typed_payloads_come_back(live: EmbeddedBroker, tmp_path: Path, capsys: Capture) -> None:
    words = ("--payloads", "--topic", "payments", "--format", "jsonl", "-q")
    assert main(["records", str(SHOP), *words]) == 0
    changed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for row in changed:
        row["_value"]["data"]["id"] += 100
        del row["_value"]["schemaId"]
    (tmp_path / "lines").write_text("".join(json.dumps(row) + "\n" for row in changed))
    schema = tmp_path / "pay.proto"
    schema.write_text(
        'syntax = "proto3"; package shop; message Payment { enum Method { CASH = 0; CARD = 1; } int64 id = 1;'
        "Method method = 2; double amount = 3; map<string, int32> tags = 4; }"
    )
    assert produce(live, "typed", str(tmp_path / "lines"), "--value-schema", str(schema)) == 0
    capsys.readouterr()
    found = rows(live, capsys, "--topic", "typed", "--value-schema", str(schema))
    assert [row["_value"]["data"] for row in found] == [
        each | {"id": each["id"] + 100} for each in produced()["payments"]
    ]


def test_lines_that_are_none(
    live: EmbeddedBroker, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "7.avsc").write_text(json.dumps(ORDER))
    for line, reason in (
        ("{", "line 1: not JSON"),
        ("[]", "line 1: an object expected"),
        ('{"key": "a"}', "line 1: no value in it"),
        ('{"value": {"base64": "?"}}', "line 1: value: not base64"),
        ('{"value": {"redacted": 5}}', "line 1: value: a secret that was left out"),
        ('{"value": 7}', "line 1: value: text, null or"),
        ('{"value": "", "timestamp": "now"}', "line 1: timestamp: a whole number"),
        ('{"value": "", "timestamp": -5}', "line 1: timestamp: a whole number from 0 to"),
        ('{"value": "", "partition": true}', "line 1: partition: a whole number"),
        ('{"value": "", "partition": 9}', "partition 9: topic again has 1"),
        ('{"value": "", "headers": [{"value": "a"}]}', 'line 1: headers: {"key"'),
        ('{"value": "", "headers": 5}', "line 1: headers: a list"),
        ('{"_value": {"schemaId": 7, "data": {"id": "x"}}}', "line 1: no value of this schema"),
        ('{"_value": {"schemaId": 8, "data": 5}}', "line 1: its schema is missing"),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line.encode() + b"\n")))
        assert produce(live, "again", "--schemas", str(tmp_path)) in (3, 4)
        said = capsys.readouterr().err
        assert reason in said and said.count("\n") == 1, said
    before = len(rows(live, capsys, "--topic", "again"))
    lines = tmp_path / "lines"
    lines.write_text(json.dumps({"_value": {"schemaId": 7, "data": VALUE}}) + '\n{"_control": {"type": "COMMIT"}}\n')
    assert produce(live, "again", str(lines), "--schemas", str(tmp_path)) == 0
    assert "1 control record left out" in capsys.readouterr().err
    (row,) = rows(live, capsys, "--topic", "again", "--last", "1", "--schemas", str(tmp_path))
    assert row["_value"]["data"] == VALUE and row["offset"] == before
    assert base64.b64decode(row["value"]["base64"]) == framed(7, avro(ORDER, VALUE))
    for words in (("--num-records", "1"), ("--key-separator", ":")):
        assert produce(live, "again", *words) == 2
    assert main(["produce", "again", "--bootstrap", live.bootstrap_servers, "--value-format", "json"]) == 2
