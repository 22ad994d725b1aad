"""What the core picks out of captures is what holds records, and no exchange is lost on the way."""

from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.filters import Filter
from kcli.capture.kafka.record_fields import CapturedField, RecordSink
from tests.capture.messages import metadata, produce, request, response
from tests.capture.wires import Wire, pcap
from tests.oracle.captures import CAPTURES, READERS

LARGE = ("kraft-boot.pcap.zst", "retransmissions.pcap.zst", "broker-0.10.2.pcap.zst")  # options are tried of others


def record_source(
    paths: list[str], topic: str | None = None, partition: int | None = None, **options: Any
) -> RecordSink:
    return CaptureDecoder(paths, RecordSink(topic, partition), DecodeOptions(**options)).sink


def shown(fields: list[CapturedField]) -> list[Any]:
    return [(each.exchange.connection, each.exchange.correlation_id, each.file, each.field) for each in fields]


def found(path: Path, reader: str, **options: Any) -> tuple[list[Any], list[str]]:
    """The records fields of a capture, and the topics that have records; by the core's choice, or the oracle's."""
    with READERS[reader]():
        source = record_source([str(path)], **options)
    fields = shown(list(source.fields()))
    return fields, sorted(source.topics)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_they_are_those_of_values(path: Path) -> None:
    every = found(path, "oracle")
    assert found(path, "core") == (every[0], every[1])
    for options in (
        []
        if path.name in LARGE
        else (
            {"topic": every[1][0] if every[1] else "none"},
            {"topic": "*", "partition": 0},
            {"topic": "__cluster_*"},
            {"partition": 3},
            {"chosen": Filter(errors=True)},
        )
    ):
        slow, fast = (found(path, reader, **options) for reader in READERS)
        assert slow[0] == fast[0]


def test_no_object_is_made_for_what_is_not_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "made.pcap"
    wire = Wire().open()
    for number in range(5):
        asked, answer = produce(number, records=b"x" * 99)
        wire.client(asked).server(answer)
    path.write_bytes(pcap(wire.close().packets))
    [*every] = record_source([str(path)]).fields()
    assert len(every) == 5
    monkeypatch.setattr(RecordSink, "picked", lambda *_: pytest.fail("an object was made"))
    source = record_source([str(path)], topic="another")
    assert not [*source.fields()] and [*source.topics] == [every[0].field.label]
    assert not [*record_source([str(path)], partition=77).fields()]


def test_names_are_learnt_from_what_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "made.pcap"
    wire = Wire().open()
    for number in range(2):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    path.write_bytes(pcap(wire.close().packets))
    source = record_source([str(path)])
    monkeypatch.setattr(RecordSink, "exchange", lambda *_: pytest.fail("an object was made"))
    assert not [*source.fields()] and source.capture.tally.apis == {3: 2}
    assert source.capture.bodies.names.get(bytes(15) + b"\1") == '"orders"'


@pytest.mark.parametrize("reader", READERS)
def test_names_are_learnt_from_every_api_that_has_them(tmp_path: Path, reader: str) -> None:
    wire, topic_id = Wire().open(), "LiM8oXcTSBWR3XF1qnjt6A"
    assigned = {"topicPartitions": [{"topicId": topic_id, "topicName": "late", "partitions": [0]}]}
    member = {
        "memberId": "m", "memberEpoch": 1, "clientId": "c", "clientHost": "h", "subscribedTopicNames": [],
        "assignment": assigned, "targetAssignment": {"topicPartitions": []},
    }  # fmt: skip
    group = {"errorCode": 0, "groupId": "g", "groupState": "", "groupEpoch": 1, "assignmentEpoch": 1}
    answer = {"groups": [group | {"assignorName": "", "members": [member]}]}
    wire.client(request(69, 0, 1, {"groupIds": ["g"], "includeAuthorizedOperations": False}))
    wire.server(response(69, 0, 1, answer))
    fetched = [{"partitionIndex": 0, "highWatermark": 1, "abortedTransactions": None, "records": b"x" * 70}]
    wire.client(request(1, 13, 2, {"topics": [{"topicId": topic_id, "partitions": [{"partition": 0}]}]}))
    wire.server(response(1, 13, 2, {"responses": [{"topicId": topic_id, "partitions": fetched}]}))
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(wire.close().packets))
    assert found(path, reader, topic="late")[1] == ["late"]
    assert len(found(path, reader, topic="late")[0]) == 1
