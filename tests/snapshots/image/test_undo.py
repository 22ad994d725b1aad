from typing import Any

from kcli.snapshots.image.diff import diff_images
from kcli.snapshots.image.undo import undo
from tests.snapshots.made import OTHER_ID, TOPIC_ID, image, partition

Record = tuple[str, dict[str, Any]]
ACL = {
    "id": TOPIC_ID,
    "resourceType": 2,
    "resourceName": "orders",
    "patternType": 4,
    "principal": "User:CN=a,O=b c",
    "host": "*",
    "operation": 12,
    "permissionType": 3,
}
SCRAM = {"name": "al", "mechanism": 1, "salt": b"s", "storedKey": b"k", "serverKey": b"K", "iterations": 8192}


def config(kind: int, name: str, key: str, value: str | None) -> Record:
    return "ConfigRecord", {"resourceType": kind, "resourceName": name, "name": key, "value": value}


def quota(name: str | None, value: float, *, remove: bool = False) -> Record:
    entity = [{"entityType": "user", "entityName": name}, {"entityType": "client-id", "entityName": None}]
    return "ClientQuotaRecord", {"entity": entity, "key": "producer_byte_rate", "value": value, "remove": remove}


def undone(before: list[Record], after: list[Record]) -> list[str]:
    images = image(*before), image(*before, *after)
    lines = list(undo(diff_images(*images), images, "b:9092"))
    return [line.replace(" --bootstrap-server b:9092", "") for line in lines]


def test_a_deleted_topic_comes_back_with_its_replicas_and_configs() -> None:
    made = [config(2, "orders", "retention.ms", "5"), config(2, "orders", "cleanup.policy", "compact,delete")]
    assert undone(made, [("RemoveTopicRecord", {"topicId": TOPIC_ID})]) == [
        (
            "kafka-topics --create --topic orders --replica-assignment 1:2:3,1:2:3 "
            "--config cleanup.policy=compact,delete --config retention.ms=5"
        )
    ]


def test_values_that_kafka_topics_does_not_take_follow() -> None:
    """It wants two parts around `=`, so that an empty value, or one with another `=`, is kafka-configs' matter."""
    replicas = "leader.replication.throttled.replicas"
    values = {"cleanup.policy": "", "compression.type": "zstd", replicas: "a=b"}
    added = f"'cleanup.policy=,{replicas}=[a=b]'"
    made = [config(2, "orders", key, value) for key, value in values.items()]
    assert undone(made, [("RemoveTopicRecord", {"topicId": TOPIC_ID})]) == [
        "kafka-topics --create --topic orders --replica-assignment 1:2:3,1:2:3 --config compression.type=zstd",
        f"kafka-configs --alter --entity-type topics --entity-name orders --add-config {added}",
    ]


def test_a_created_topic_goes() -> None:
    created = [("TopicRecord", {"name": "new", "topicId": OTHER_ID}), config(2, "new", "retention.ms", "5")]
    created.append(("PartitionRecord", partition(0, topicId=OTHER_ID)))
    assert undone([], created) == ["kafka-topics --delete --topic new"]


def test_what_can_t_be_undone_is_said() -> None:
    anew = [("RemoveTopicRecord", {"topicId": TOPIC_ID}), ("TopicRecord", {"name": "orders", "topicId": OTHER_ID})]
    assert undone([], anew)[0].startswith("# topic orders was deleted and recreated")
    (grown,) = undone([], [("PartitionRecord", partition(2))])
    assert grown.startswith("# topic orders has more partitions")
    secret = config(4, "1", "listener.name.a.ssl.key.password", "geheim")
    (line,) = undone([secret], [config(4, "1", "listener.name.a.ssl.key.password", None)])
    assert line.startswith("# --entity-type brokers --entity-name 1: the value of ")
    assert "geheim" not in line


def test_configs_go_back_together() -> None:
    before = [config(2, "orders", "retention.ms", "1"), config(4, "", "log.cleanup.policy", "compact,delete")]
    after = [config(2, "orders", "retention.ms", "2"), config(2, "orders", "segment.ms", "1")]
    after.append(config(4, "", "log.cleanup.policy", None))
    topic, brokers = undone(before, after)
    words = "--entity-type brokers --entity-default --add-config 'log.cleanup.policy=[compact,delete]'"
    assert {topic, brokers} == {
        (
            "kafka-configs --alter --entity-type topics --entity-name orders "
            "--add-config retention.ms=1 --delete-config segment.ms"
        ),
        f"kafka-configs --alter {words}",
    }


def test_quotas_acls_and_users() -> None:
    assert undone([quota("a,b", 9.5)], [quota("a,b", 0, remove=True), quota(None, 1)]) == [
        (
            "kafka-configs --alter --entity-type clients --entity-default --entity-type users --entity-default "
            "--delete-config producer_byte_rate"
        ),
        (
            "kafka-configs --alter --entity-type clients --entity-default --entity-type users --entity-name a,b "
            "--add-config producer_byte_rate=9.5"
        ),
    ]
    acl = "--allow-principal 'User:CN=a,O=b c' --allow-host '*' --operation IdempotentWrite --topic orders "
    removed = ("RemoveAccessControlEntryRecord", {"id": TOPIC_ID})
    assert undone([("AccessControlEntryRecord", ACL)], [removed]) == [
        f"kafka-acls --add {acl}--resource-pattern-type prefixed"
    ]
    assert undone([], [("AccessControlEntryRecord", ACL)]) == [
        f"kafka-acls --remove --force {acl}--resource-pattern-type prefixed"
    ]
    gone = ("RemoveUserScramCredentialRecord", {"name": "al", "mechanism": 1})
    said, line = undone([("UserScramCredentialRecord", SCRAM)], [gone])
    assert said.startswith("# the metadata has no passwords")
    assert "'SCRAM-SHA-256=[iterations=8192,password=PASSWORD]'" in line
    assert undone([], [("UserScramCredentialRecord", SCRAM)]) == [
        "kafka-configs --alter --entity-type users --entity-name al --delete-config SCRAM-SHA-256"
    ]


def test_moved_replicas_and_features() -> None:
    moved = ("PartitionChangeRecord", {"partitionId": 1, "topicId": TOPIC_ID, "replicas": [2, 3, 1]})
    plan, run = undone([], [moved])
    assert '{"topic": "orders", "partition": 1, "replicas": [1, 2, 3]}' in plan
    assert run == "kafka-reassign-partitions --reassignment-json-file reassignment.json --execute"
    level = ("FeatureLevelRecord", {"name": "group.version", "featureLevel": 1})
    assert undone([], [level]) == ["kafka-features downgrade --feature group.version=0"]
