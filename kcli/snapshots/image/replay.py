"""Applies metadata records to an image, with a function for each type.

The semantics are those of Kafka's deltas (`MetadataDelta`, `ClusterDelta`, `TopicDelta`, ...). A record that refers to
a missing object raises ReplayError, because it stops a controller; the caller decides whether to continue.
"""

from collections.abc import Callable
from typing import Any

from kcli.counting import counted
from kcli.errors import InputError
from kcli.schemas.field_codes import ConfigResource
from kcli.snapshots.image.image import MIGRATING, Image, Partition, Topic, Value, normal_partition, quota_entity
from kcli.snapshots.image.partitions import id_bytes
from kcli.snapshots.reading.old_fields import feature_level, next_producer_id

NO_CHANGE = -2  # PartitionChangeRecord.leader: not changed
RECOVERY_UNCHANGED = -1
RECOVERY_STATES = (0, 1)  # recovered, recovering
# Fields of a PartitionChangeRecord that replace the partition's.
LISTS = (
    "replicas",
    "directories",
    "isr",
    "removingReplicas",
    "addingReplicas",
    "eligibleLeaderReplicas",
    "lastKnownElr",
)

Handler = Callable[[Image, Value], None]
HANDLERS: dict[str, Handler] = {}


class ReplayError(InputError):
    """A record that can't be applied to the image in its current state."""


def replay(image: Image, name: str, value: Value) -> None:
    """Apply the record `name` ("TopicRecord") to the image. Raises ReplayError; raises KeyError for a type without a
    handler.
    """
    HANDLERS[name](image, value)


def handles(name: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        HANDLERS[name] = handler
        return handler

    return register


@handles("NoOpRecord")
@handles("BeginTransactionRecord")  # the caller holds a transaction's records until it ends
@handles("EndTransactionRecord")
@handles("AbortTransactionRecord")
def ignore(_image: Image, _value: Value) -> None:
    pass


@handles("FeatureLevelRecord")
def set_feature(image: Image, value: Value) -> None:
    level = feature_level(value)
    if level:
        image.features[value["name"]] = level
    else:
        image.features.pop(value["name"], None)


@handles("RemoveFeatureLevelRecord")
def remove_feature(image: Image, value: Value) -> None:
    image.features.pop(value["name"], None)


# Brokers and controllers


@handles("RegisterBrokerRecord")
def register_broker(image: Image, value: Value) -> None:
    image.brokers[value["brokerId"]] = dict(value)


@handles("UnregisterBrokerRecord")
def unregister_broker(image: Image, value: Value) -> None:
    image.brokers.pop(value["brokerId"], None)


@handles("FenceBrokerRecord")
def fence_broker(image: Image, value: Value) -> None:
    broker_of(image, value["id"], value["epoch"])["fenced"] = True


@handles("UnfenceBrokerRecord")
def unfence_broker(image: Image, value: Value) -> None:
    broker_of(image, value["id"], value["epoch"])["fenced"] = False


@handles("BrokerRegistrationChangeRecord")
def change_broker(image: Image, value: Value) -> None:
    broker = broker_of(image, value["brokerId"], value["brokerEpoch"])
    for name, known in (("fenced", (-1, 0, 1)), ("inControlledShutdown", (0, 1))):
        change = value.get(name, 0)
        if change not in known:
            raise ReplayError(f"broker {value['brokerId']}: {name} is {change} ({known[0]} to 1 expected)")
        if change:
            broker[name] = change > 0
    if value.get("logDirs"):
        broker["logDirs"] = list(value["logDirs"])
    if value.get("cordonedLogDirs") is not None:
        broker["cordonedLogDirs"] = list(value["cordonedLogDirs"])


def broker_of(image: Image, number: int, epoch: int) -> Value:
    broker = image.brokers.get(number)
    if broker is None:
        raise ReplayError(f"a change of broker {number}, which is not registered")
    if broker["brokerEpoch"] != epoch:
        raise ReplayError(f"a change of broker {number} at epoch {epoch}; its epoch is {broker['brokerEpoch']}")
    return broker


@handles("RegisterControllerRecord")
def register_controller(image: Image, value: Value) -> None:
    image.controllers[value["controllerId"]] = dict(value)


@handles("UnregisterControllerRecord")
def unregister_controller(image: Image, value: Value) -> None:
    image.controllers.pop(value["controllerId"], None)


@handles("ZkMigrationStateRecord")
def set_migration_state(image: Image, value: Value) -> None:
    image.zk_migration_state = value["zkMigrationState"]


# Topics and partitions


@handles("TopicRecord")
def create_topic(image: Image, value: Value) -> None:
    identity = id_bytes(value["topicId"])
    if (known := image.topics.get(identity)) is not None:
        image.former_names[known.name] = identity
    image.topics[identity] = Topic(identity, value["name"])


@handles("RemoveTopicRecord")
def remove_topic(image: Image, value: Value) -> None:
    topic = image.topics.pop(id_bytes(value["topicId"]), None)
    if topic is None:
        raise ReplayError(f"the removal of topic {value['topicId']}, which does not exist")
    image.configs.pop((ConfigResource.TOPIC, topic.name), None)


@handles("PartitionRecord")
def create_partition(image: Image, value: Value) -> None:
    topic, created = topic_of(image, value), normal_partition(value)
    check_partition(created)
    topic.partitions[value["partitionId"]] = created


@handles("PartitionChangeRecord")
def change_partition(image: Image, value: Value) -> None:
    topic, number = topic_of(image, value), value["partitionId"]
    if number not in topic.partitions:
        raise ReplayError(f"a change of partition {topic.name}-{number}, which does not exist")
    topic.partitions[number] = merge_partition(image.partition(topic, number), value)


@handles("ClearElrRecord")
def clear_elr(image: Image, value: Value) -> None:
    """Remove the eligible leader replicas (KIP-966) of one topic, or of all if the record names none. Raises
    ReplayError.
    """
    name = value["topicName"]
    topics = image.cleared(name)
    if name and not topics:
        raise ReplayError(f"the clearing of topic {name}, which does not exist")
    emptied: Value = {"eligibleLeaderReplicas": [], "lastKnownElr": []}
    for topic in topics:
        for number, partition in list(image.partitions(topic)):
            if partition["eligibleLeaderReplicas"] or partition["lastKnownElr"]:
                topic.partitions[number] = merge_partition(partition, emptied)


def topic_of(image: Image, value: Value) -> Topic:
    topic = image.topics.get(id_bytes(value["topicId"]))
    if topic is None:
        raise ReplayError(f"partition {value['partitionId']} of topic {value['topicId']}, which does not exist")
    return topic


def merge_partition(partition: Partition, change: Value) -> Partition:
    """Return a partition after a PartitionChangeRecord. Fields that the record leaves out stay, and the partition epoch
    grows by one, the leader epoch if the leader is set. Raises ReplayError.
    """
    merged = dict(partition)
    for name in LISTS:
        if change.get(name) is not None:
            merged[name] = list(change[name])
    if all(each == MIGRATING for each in merged["directories"]):
        merged["directories"] = [MIGRATING] * len(merged["replicas"])
    if change.get("leader", NO_CHANGE) != NO_CHANGE:
        merged["leader"] = change["leader"]
        merged["leaderEpoch"] = partition["leaderEpoch"] + 1
    if change.get("leaderRecoveryState", RECOVERY_UNCHANGED) != RECOVERY_UNCHANGED:
        merged["leaderRecoveryState"] = change["leaderRecoveryState"]
    merged["partitionEpoch"] = partition["partitionEpoch"] + 1
    check_partition(merged)
    return merged


def check_partition(partition: Partition) -> None:
    """Check a partition. Raises ReplayError if replicas and directories differ in number, or the recovery state is
    unknown.
    """
    replicas, directories = len(partition["replicas"]), len(partition["directories"])
    if directories != replicas:
        raise ReplayError(f"a partition of {counted(replicas, 'replica')} with {directories} directories")
    if partition["leaderRecoveryState"] not in RECOVERY_STATES:
        raise ReplayError(f"leaderRecoveryState is {partition['leaderRecoveryState']} (0 or 1 expected)")


# Configs, quotas, credentials, ACLs, tokens, producer ids


@handles("ConfigRecord")
def set_config(image: Image, value: Value) -> None:
    put_or_drop(image.configs, (value["resourceType"], value["resourceName"]), value["name"], value["value"])


@handles("ClientQuotaRecord")
@handles("QuotaRecord")  # its name in 2.8
def set_quota(image: Image, value: Value) -> None:
    put_or_drop(image.quotas, quota_entity(value["entity"]), value["key"], None if value["remove"] else value["value"])


@handles("UserScramCredentialRecord")
def set_credential(image: Image, value: Value) -> None:
    if "credentialInfos" in value:  # before 3.5: no release could use it
        for info in value["credentialInfos"]:
            image.scram.setdefault(info["mechanism"], {})[value["name"]] = {"name": value["name"], **info}
        return
    image.scram.setdefault(value["mechanism"], {})[value["name"]] = dict(value)


@handles("RemoveUserScramCredentialRecord")
def remove_credential(image: Image, value: Value) -> None:
    users = image.scram.get(value["mechanism"], {})
    if users.pop(value["name"], None) is None:
        raise ReplayError(f"the removal of the credential of {value['name']}, which does not exist")
    if not users:
        del image.scram[value["mechanism"]]


@handles("AccessControlEntryRecord")
def add_acl(image: Image, value: Value) -> None:
    image.acls[value["id"]] = dict(value)


@handles("RemoveAccessControlEntryRecord")
def remove_acl(image: Image, value: Value) -> None:
    if image.acls.pop(value["id"], None) is None:
        raise ReplayError(f"the removal of ACL {value['id']}, which does not exist")


@handles("DelegationTokenRecord")
def set_token(image: Image, value: Value) -> None:
    image.tokens[value["tokenId"]] = dict(value)


@handles("RemoveDelegationTokenRecord")
def remove_token(image: Image, value: Value) -> None:
    image.tokens.pop(value["tokenId"], None)


@handles("ProducerIdsRecord")
def set_producer_ids(image: Image, value: Value) -> None:
    following = next_producer_id(value)
    image.next_producer_id, image.producer_ids = following, dict(value)


def put_or_drop(table: dict[Any, dict[str, Any]], key: Any, name: str, value: Any) -> None:
    """Set table[key][name]. None removes it, and the key if nothing else is left under it."""
    if value is not None:
        table.setdefault(key, {})[name] = value
        return
    entry = table.get(key)
    if entry is not None:
        entry.pop(name, None)
        if not entry:
            del table[key]


# Control records (KIP-853), which stand between the metadata records of a log or at a snapshot's start


def set_kraft_version(image: Image, value: Value) -> None:
    image.kraft_version = value["kRaftVersion"]


def set_voters(image: Image, value: Value) -> None:
    image.voters = list(value["voters"])


CONTROL_HANDLERS: dict[str, Handler] = {
    "KRaftVersionRecord": set_kraft_version,
    "VotersRecord": set_voters,
}
