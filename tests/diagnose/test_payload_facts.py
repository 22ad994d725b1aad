"""Records that consumers can't deserialize, found where payloads are decoded."""

import json
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.diagnose import diagnose
from kcli.diagnose.payload_facts import PayloadFacts
from kcli.payloads import PayloadDecoder, PayloadOptions
from kcli.records import build_batch
from kcli.tables.rule_facts import RULE_FACTS
from tests.capture.wires import pcap
from tests.payloads.values import ORDER, VALUE, avro, framed
from tests.rules.test_by_hand import Talk

GOOD, CUT, OTHER, BARE = (
    framed(7, avro(ORDER, VALUE)),
    framed(7, avro(ORDER, VALUE)[:-3]),
    framed(8, b"\2"),
    b'{"id":7}',
)


def written(talk: Talk, *values: bytes | None, first: int = 40) -> Talk:
    """A Produce of these values, which the broker puts behind `first`."""
    records = build_batch([(1_700_000_000_000, None, value, []) for value in values])
    part = {"index": 2, "records": records}
    asked = {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": [part]}]}
    answer = {"index": 2, "errorCode": 0, "baseOffset": first}
    return talk.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [answer]}]})


def read(talk: Talk, *values: bytes | None, first: int = 40) -> Talk:
    """A Fetch of the same."""
    records = build_batch([(1_700_000_000_000, None, value, []) for value in values], base_offset=first)
    asked = {
        "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 0, "sessionEpoch": -1,
        "topics": [{"topic": "orders", "partitions": [{"partition": 2, "fetchOffset": first}]}],
    }  # fmt: skip
    part = {"partitionIndex": 2, "errorCode": 0, "highWatermark": 99, "logStartOffset": 0, "records": records}
    return talk.call(1, 11, asked, {"sessionId": 0, "responses": [{"topic": "orders", "partitions": [part]}]})


def captured(folder: Path, *talks: Talk) -> str:
    path = folder / "a.pcap"
    path.write_bytes(pcap(sorted(packet for talk in talks for packet in talk.wire.packets)))
    return str(path)


def schemas(folder: Path, **options: Any) -> PayloadDecoder:
    (folder / "7.avsc").write_text(json.dumps(ORDER))
    return PayloadDecoder(PayloadOptions(schemas=(str(folder / "7.avsc"),), **options))


def facts(path: str, decoder: PayloadDecoder) -> list[dict[str, Any]]:
    names = [each.name for each in RULE_FACTS["unread_payloads"].columns]
    return [dict(zip(names, row, strict=True)) for row in PayloadFacts([path], decoder, {}).rows()]


@pytest.mark.parametrize(
    ("value", "reason", "named"),
    [
        (CUT, "not of this schema: it ends too early", ["7"]),
        (OTHER, "its schema is missing", ["8"]),
        (BARE, "no schema in front of it, unlike the others of this topic", []),
    ],
    ids=["cut", "unknown", "bare"],
)
def test_a_poison_record(value: bytes, reason: str, named: list[str], tmp_path: Path) -> None:
    values = GOOD, GOOD, value, None, GOOD
    path = captured(tmp_path, written(Talk("shop"), *values), read(Talk("billing", 41000), *values))
    assert facts(path, schemas(tmp_path)) == [{
        "topic": "orders", "part": "value", "records": 1, "unknown": 0, "readable": 3, "reasons": [reason],
        "schemas": named, "partitions": ["orders-2"], "places": ["2@42"], "writers": ["shop"], "readers": ["billing"],
    }]  # fmt: skip


def test_no_poison_where_all_can_be_read_or_none_names_a_schema(tmp_path: Path) -> None:
    for values in ((GOOD, None, GOOD), (BARE, BARE), (BARE, GOOD)):
        assert not facts(captured(tmp_path, written(Talk(), *values)), schemas(tmp_path))


def test_schemas_that_no_one_could_be_asked_for_are_not_judged(tmp_path: Path) -> None:
    path = captured(tmp_path, written(Talk(), GOOD, OTHER))
    found = diagnose([path], decoder=PayloadDecoder(PayloadOptions(on=True)))
    assert not found.findings
    assert [each.what for each in found.unjudged if "--schema-registry" in each.remedy] == [
        "2 keys and values of orders, whose schema is not known"
    ]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = captured(tmp_path, written(Talk(), GOOD, CUT))
    schemas(tmp_path)
    assert main(["diagnose", path, "-q", "--schemas", str(tmp_path / "7.avsc"), "--format", "jsonl"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["finding"] == "poison-records"
    assert found["subject"] == {"client": ["tester"], "topic": "orders", "partition": ["orders-2"]}
    assert "orders: 1 of its values by tester can't be read, 1 can" in found["text"] and "2@41" in found["text"]
    for words in (["--follow", path], ["-"]):
        assert main(["diagnose", *words, "-q", "--payloads"]) == 2
    capsys.readouterr()
    assert main(["diagnose", path, "-q", "--schema-registry", "http://127.0.0.1:1"]) == 4
    silent = capsys.readouterr()
    assert "poison" not in silent.out and "can't be reached" in silent.err
