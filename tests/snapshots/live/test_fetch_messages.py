"""Requests for a snapshot are what Kafka's messages can hold, and responses are read."""

import pytest

from kcli.grammar import messages
from kcli.schemas.apikeys import FETCH, FETCH_SNAPSHOT
from kcli.snapshots.live.fetch_messages import download_body, find_body, first_partition, offered_id
from kcli.snapshots.reading.names import SnapshotId


@pytest.mark.parametrize("version", [12, 13])
def test_a_fetch_that_asks_for_the_snapshot(version: int) -> None:
    codec = messages.request(FETCH, version)
    topic = codec.read(codec.write(find_body(version, 5, 1, None)))[0]["topics"][0]
    assert topic.get("topic", topic.get("topicId")) in ("__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ")
    (partition,) = topic["partitions"]
    assert (partition["fetchOffset"], partition["lastFetchedEpoch"], partition["currentLeaderEpoch"]) == (1, 5, 5)


def test_a_download_from_a_position() -> None:
    codec = messages.request(FETCH_SNAPSHOT, 0)
    body = codec.read(codec.write(download_body(SnapshotId(487, 3), 5, 100, 4096)))[0]
    (partition,) = body["topics"][0]["partitions"]
    assert body["maxBytes"] == 4096 and partition["position"] == 100
    assert partition["snapshotId"] == {"endOffset": 487, "epoch": 3}


def test_what_a_response_holds() -> None:
    partition = {"snapshotId": {"endOffset": 487, "epoch": 3}}
    assert first_partition({"responses": [{"partitions": []}, {"partitions": [partition]}]}) == partition
    assert first_partition({"topics": []}) is None
    assert offered_id(partition) == SnapshotId(487, 3)
    assert offered_id({}) is None and offered_id({"snapshotId": {"endOffset": -1, "epoch": -1}}) is None
