from typing import Any

import pytest

from kcli.schemas.catalog import catalog
from kcli.snapshots.image.image import MIGRATING, Image
from kcli.snapshots.image.partitions import id_bytes
from kcli.snapshots.image.replay import CONTROL_HANDLERS, HANDLERS, ReplayError, merge_partition, replay
from tests.snapshots.made import DIRECTORIES, OTHER_ID, TOPIC_ID, broker, image, partition


def after(*records: tuple[str, dict[str, Any]]) -> Image:
    return image(*records)


def partition_after(**change: Any) -> dict[str, Any]:
    found = after(("PartitionChangeRecord", {"partitionId": 0, "topicId": TOPIC_ID, **change}))
    return found.partition(found.topics[id_bytes(TOPIC_ID)], 0)


def test_every_metadata_record_has_a_handler_but_those_that_nothing_ever_wrote() -> None:
    names = set(catalog().records("metadata").values())
    assert names - HANDLERS.keys() == {"AccessControlRecord"}
    assert set(CONTROL_HANDLERS) <= set(catalog().names)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"isr": [1]}, {"isr": [1], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 1}),
        ({"leader": 2}, {"leader": 2, "leaderEpoch": 1, "partitionEpoch": 1}),
        ({"leader": -1}, {"leader": -1, "leaderEpoch": 1}),
        ({"leader": -2}, {"leader": 1, "leaderEpoch": 0}),
        ({"leaderRecoveryState": 1}, {"leaderRecoveryState": 1}),
        ({"replicas": [2, 4, 1]}, {"replicas": [2, 4, 1], "directories": [DIRECTORIES[each] for each in (1, 2, 3)]}),
        ({"replicas": [2], "directories": [TOPIC_ID]}, {"directories": [TOPIC_ID]}),
        ({"eligibleLeaderReplicas": [3], "lastKnownElr": [1]}, {"eligibleLeaderReplicas": [3], "lastKnownElr": [1]}),
        ({"addingReplicas": [4], "removingReplicas": [1]}, {"addingReplicas": [4], "removingReplicas": [1]}),
        ({}, {"isr": [1, 2, 3], "partitionEpoch": 1}),
    ],
)
def test_a_partition_change(change: dict[str, Any], expected: dict[str, Any]) -> None:
    found = partition_after(**change)
    assert {name: found[name] for name in expected} == expected


def test_replicas_without_known_directories_have_none_after_a_change() -> None:
    before = image().partition(image().topics[id_bytes(TOPIC_ID)], 0) | {"directories": [MIGRATING] * 3}
    assert merge_partition(before, {"replicas": [2, 4]})["directories"] == [MIGRATING] * 2


def test_merging_leaves_the_old_one_alone() -> None:
    before = image().partition(image().topics[id_bytes(TOPIC_ID)], 0)
    merge_partition(before, {"isr": [1]})
    assert before["isr"] == [1, 2, 3]


def test_brokers() -> None:
    found = after(
        ("FenceBrokerRecord", {"id": 1, "epoch": 11}),
        ("BrokerRegistrationChangeRecord", {"brokerId": 2, "brokerEpoch": 12, "fenced": 1, "inControlledShutdown": 1}),
        ("BrokerRegistrationChangeRecord", {"brokerId": 2, "brokerEpoch": 12, "fenced": -1, "logDirs": [TOPIC_ID]}),
        ("UnregisterBrokerRecord", {"brokerId": 3, "brokerEpoch": 13}),
        ("BrokerRegistrationChangeRecord", {"brokerId": 2, "brokerEpoch": 12, "cordonedLogDirs": [TOPIC_ID]}),
    )
    assert sorted(found.brokers) == [1, 2]
    assert found.brokers[1]["fenced"] is True
    assert (found.brokers[2]["fenced"], found.brokers[2]["inControlledShutdown"]) == (False, True)
    assert (found.brokers[2]["logDirs"], found.brokers[2]["cordonedLogDirs"]) == ([TOPIC_ID], [TOPIC_ID])
    replay(found, "UnfenceBrokerRecord", {"id": 1, "epoch": 11})
    assert found.brokers[1]["fenced"] is False


def test_topics() -> None:
    config = {"resourceType": 2, "resourceName": "orders", "name": "retention.ms", "value": "1"}
    found = after(("ConfigRecord", config), ("RemoveTopicRecord", {"topicId": TOPIC_ID}))
    assert not found.topics
    assert not found.configs


def test_clearing_eligible_leaders() -> None:
    elr = partition(0, isr=[1], eligibleLeaderReplicas=[2], lastKnownElr=[3])
    for name in ("orders", ""):
        found = after(("PartitionRecord", elr), ("ClearElrRecord", {"topicName": name}))
        cleared = found.partition(found.topics[id_bytes(TOPIC_ID)], 0)
        assert (cleared["eligibleLeaderReplicas"], cleared["lastKnownElr"], cleared["partitionEpoch"]) == ([], [], 1)
        assert found.partition(found.topics[id_bytes(TOPIC_ID)], 1)["partitionEpoch"] == 0


def test_what_is_removed_leaves_no_empty_entry() -> None:
    quota = {"entity": [{"entityType": "user", "entityName": None}], "key": "k", "value": 1.5, "remove": False}
    credential = {"name": "u", "mechanism": 1, "salt": b"s", "storedKey": b"k", "serverKey": b"v", "iterations": 4096}
    config = {"resourceType": 4, "resourceName": "", "name": "n", "value": "v"}
    found = after(
        ("ClientQuotaRecord", quota),
        ("UserScramCredentialRecord", credential),
        ("ConfigRecord", config),
        ("AccessControlEntryRecord", {"id": TOPIC_ID}),
        ("DelegationTokenRecord", {"tokenId": "t"}),
        ("RegisterControllerRecord", {"controllerId": 9}),
        ("FeatureLevelRecord", {"name": "f", "featureLevel": 1}),
    )
    assert found.quotas == {(("user", None),): {"k": 1.5}}
    assert (len(found.scram), len(found.configs), len(found.acls), len(found.tokens)) == (1, 1, 1, 1)
    replay(found, "ClientQuotaRecord", quota | {"remove": True})
    replay(found, "RemoveUserScramCredentialRecord", {"name": "u", "mechanism": 1})
    replay(found, "ConfigRecord", config | {"value": None})
    replay(found, "RemoveAccessControlEntryRecord", {"id": TOPIC_ID})
    replay(found, "RemoveDelegationTokenRecord", {"tokenId": "t"})
    replay(found, "UnregisterControllerRecord", {"controllerId": 9})
    replay(found, "FeatureLevelRecord", {"name": "f", "featureLevel": 0})
    assert not any((found.quotas, found.scram, found.configs, found.acls, found.tokens, found.controllers))
    assert list(found.features) == ["metadata.version"]


def test_records_of_old_releases() -> None:
    found = after(
        ("FeatureLevelRecord", {"name": "f", "minFeatureLevel": 1, "maxFeatureLevel": 3}),
        ("RemoveFeatureLevelRecord", {"name": "metadata.version"}),
        ("ProducerIdsRecord", {"brokerId": 1, "brokerEpoch": 1, "producerIdsEnd": 2000}),
        ("UserScramCredentialRecord", {"name": "u", "credentialInfos": [{"mechanism": 2, "iterations": 1}]}),
        ("ZkMigrationStateRecord", {"zkMigrationState": 2}),
    )
    assert (found.features, found.next_producer_id, found.zk_migration_state) == ({"f": 3}, 2000, 2)
    assert found.scram[2]["u"]["iterations"] == 1


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("FenceBrokerRecord", {"id": 9, "epoch": 1}, "not registered"),
        ("FenceBrokerRecord", {"id": 1, "epoch": 1}, "its epoch is 11"),
        ("BrokerRegistrationChangeRecord", {"brokerId": 1, "brokerEpoch": 11, "fenced": 2}, "-1 to 1 expected"),
        ("RemoveTopicRecord", {"topicId": OTHER_ID}, "does not exist"),
        ("PartitionRecord", partition(0) | {"topicId": OTHER_ID}, "does not exist"),
        ("PartitionChangeRecord", {"partitionId": 9, "topicId": TOPIC_ID}, "orders-9"),
        ("ClearElrRecord", {"topicName": "none"}, "does not exist"),
        ("RemoveAccessControlEntryRecord", {"id": TOPIC_ID}, "does not exist"),
        ("RemoveUserScramCredentialRecord", {"name": "u", "mechanism": 1}, "does not exist"),
    ],
)
def test_what_refers_to_nothing_is_refused(name: str, value: dict[str, Any], reason: str) -> None:
    with pytest.raises(ReplayError, match=reason):
        replay(image(), name, value)


def test_registration_is_a_copy() -> None:
    record = broker(1)
    found = after(("RegisterBrokerRecord", record), ("FenceBrokerRecord", {"id": 1, "epoch": 11}))
    assert found.brokers[1]["fenced"]
    assert not record["fenced"]
