"""Metadata logs that a controller of 4.4 stops at, and odd ones that it takes: records behind those of a cluster."""

from pathlib import Path
from typing import Any

from tests.snapshots.made import DIRECTORIES, OTHER_ID, TOPIC_ID, broker, partition
from tests.snapshots.quorums import metadata_batch

Record = tuple[str, dict[str, Any]]

THIRD_ID = "dGhpcmR0aGlyZHRoaXJkMQ"
ACL_ID, OTHER_ACL = "YWNsMWFjbDFhY2wxYWNsMQ", "YWNsMmFjbDJhY2wyYWNsMg"
UNASSIGNED = "AAAAAAAAAAAAAAAAAAAAAQ"


def controller(number: int, **values: Any) -> Record:
    end = {"name": "CONTROLLER", "host": "c", "port": 9093, "securityProtocol": 0}
    value = {
        "controllerId": number,
        "incarnationId": TOPIC_ID,
        "zkMigrationReady": False,
        "endPoints": [end],
        "features": [],
    }
    return "RegisterControllerRecord", value | values


def acl(identity: str, **values: Any) -> Record:
    value = {"id": identity, "resourceType": 2, "resourceName": "orders", "patternType": 3, "principal": "User:a"}
    return "AccessControlEntryRecord", value | {"host": "*", "operation": 3, "permissionType": 3} | values


def change(number: int = 0, **values: Any) -> Record:
    return "PartitionChangeRecord", {"topicId": TOPIC_ID, "partitionId": number, **values}


def topic(name: str, identity: str) -> Record:
    return "TopicRecord", {"name": name, "topicId": identity}


def part(number: int = 2, **values: Any) -> Record:
    return "PartitionRecord", partition(number, **values)


def registration(number: int = 1, epoch: int = 11, **values: Any) -> Record:
    return "BrokerRegistrationChangeRecord", {"brokerId": number, "brokerEpoch": epoch, **values}


def feature(name: str, level: int) -> Record:
    return "FeatureLevelRecord", {"name": name, "featureLevel": level}


def config(kind: int, name: str, value: str | None = "1") -> Record:
    return "ConfigRecord", {"resourceType": kind, "resourceName": name, "name": "log.retention.ms", "value": value}


def producers(following: int) -> Record:
    return "ProducerIdsRecord", {"brokerId": 1, "brokerEpoch": 11, "nextProducerId": following}


def scram(mechanism: int) -> Record:
    key = {"salt": b"\1", "storedKey": b"\2", "serverKey": b"\3", "iterations": 4096}
    return "UserScramCredentialRecord", {"name": "a", "mechanism": mechanism, **key}


def token(**values: Any) -> Record:
    times = {"issueTimestamp": 1, "maxTimestamp": 2, "expirationTimestamp": 2}
    value = {"owner": "User:a", "requester": "User:a", "renewers": ["User:b"], "tokenId": "t", **times}
    return "DelegationTokenRecord", value | values


def quota(*entity: tuple[str, str | None]) -> Record:
    parts = [{"entityType": kind, "entityName": name} for kind, name in entity]
    return "ClientQuotaRecord", {"entity": parts, "key": "producer_byte_rate", "value": 1.0, "remove": False}


def remove(kind: str, **value: Any) -> Record:
    return f"{kind}Record", value


def end_point(name: str = "PLAINTEXT", protocol: int = 0) -> dict[str, Any]:
    return {"name": name, "host": "b", "port": 9092, "securityProtocol": protocol}


BASE: list[Record] = [
    feature("metadata.version", 33),
    *(("RegisterBrokerRecord", broker(number)) for number in (1, 2, 3)),
    controller(7),
    topic("orders", TOPIC_ID),
    part(0),
    part(1),
]
BEGIN: Record = ("BeginTransactionRecord", {"name": "t"})
END: Record = ("EndTransactionRecord", {})
ABORT: Record = ("AbortTransactionRecord", {})
BOTH_GONE = [remove("RemoveAccessControlEntry", id=each) for each in (ACL_ID, OTHER_ACL)]
GONE = remove("RemoveTopic", topicId=TOPIC_ID)

# Records behind BASE, and which of them is refused (None: all are taken).
CASES: dict[str, tuple[list[Record], int | None]] = {
    "nothing": ([], None),
    "topic again": ([topic("orders", TOPIC_ID)], 0),
    "topic with another id": ([topic("orders", OTHER_ID)], 0),
    "an id with two names": ([topic("other", TOPIC_ID)], None),
    "the first name of an id with two": ([topic("other", TOPIC_ID), topic("orders", OTHER_ID)], 1),
    "a name that is left over": ([topic("other", TOPIC_ID), GONE, topic("orders", OTHER_ID)], 2),
    "the other name, gone": ([topic("other", TOPIC_ID), GONE, topic("other", OTHER_ID)], None),
    "a name that came again": ([GONE, topic("orders", OTHER_ID)], None),
    "removed twice": ([GONE, GONE], 1),
    "clearing of a name whose id is gone": (
        [topic("other", TOPIC_ID), GONE, remove("ClearElr", topicName="orders")],
        2,
    ),
    "clearing of the first name of an id with two": (
        [topic("other", TOPIC_ID), remove("ClearElr", topicName="orders")],
        None,
    ),
    "an entity with a type twice": ([quota(("ip", ""), ("ip", None)), quota(("ip", None), ("ip", "a"))], None),
    "clearing of all": ([remove("ClearElr", topicName="")], None),
    "clearing of nobody": ([remove("ClearElr", topicName="nobody")], 0),
    "partition again": ([part(0, leaderEpoch=5)], None),
    "partition of nobody": ([part(0, topicId=OTHER_ID)], 0),
    "partition with two directories for three": ([part(directories=[DIRECTORIES[1], DIRECTORIES[2]])], 0),
    "partition without directories": ([part(directories=[])], None),
    "partition recovery state 2": ([part(leaderRecoveryState=2)], 0),
    "partition recovery state -1": ([part(leaderRecoveryState=-1)], 0),
    "partition recovering": ([part(leaderRecoveryState=1)], None),
    "partition without replicas": ([part(replicas=[], isr=[], directories=[], leader=-1)], None),
    "change of nobody": ([change(9, leader=1)], 0),
    "change recovery state 3": ([change(leaderRecoveryState=3)], 0),
    "change recovery state 1": ([change(leaderRecoveryState=1)], None),
    "change of replicas alone, fewer": ([change(replicas=[1, 2])], 0),
    "change of replicas alone, as many": ([change(replicas=[1, 2, 4])], None),
    "change of directories, too few": ([change(directories=[UNASSIGNED])], 0),
    "change of both, apart": ([change(replicas=[1, 2], directories=[UNASSIGNED] * 3)], 0),
    "change of both": ([change(replicas=[1, 2], directories=[UNASSIGNED] * 2)], None),
    "change to no directories": ([change(directories=[]), change(replicas=[1])], None),
    "isr with a stranger": ([change(isr=[1, 21])], None),
    "leader that is no replica": ([change(leader=21)], None),
    "isr twice": ([change(isr=[1, 1, 2])], None),
    "isr twice, then once": ([change(isr=[2, 2], leader=2), change(isr=[2])], None),
    "isr twice, then gone": ([change(isr=[2, 2], leader=2), change(isr=[2]), change(isr=[1], leader=1)], 2),
    "isr twice in partition 1, then shrinks twice": (
        [change(1, isr=[1, 2, 2]), change(1, isr=[1, 2]), change(1, isr=[1])],
        2,
    ),
    "partition with an isr twice, then gone": (
        [part(2, isr=[3, 3], leader=3), change(2, isr=[1], leader=1), change(0, isr=[1, 2])],
        1,
    ),
    "isr twice of a follower, other partitions shrink": (
        [change(1, isr=[1, 3, 3]), change(1, isr=[1]), change(0, isr=[1]), change(0, isr=[1, 3])],
        1,
    ),
    "elr twice, then gone": (
        [*(change(eligibleLeaderReplicas=each) for each in ([2, 2], [2], []))],
        None,
    ),
    "isr and elr overlap": ([change(eligibleLeaderReplicas=[1])], None),
    "an id that begins anew, then its partitions": (
        [topic("other", TOPIC_ID), part(0), change(0, isr=[1]), change(0, isr=[2], leader=2)],
        None,
    ),
    "no leader and back": ([change(leader=-1, isr=[1]), change(leader=1), change(isr=[1, 2, 3])], None),
    "unregistered": ([remove("UnregisterBroker", brokerId=1, brokerEpoch=11)], None),
    "unregistered at a wrong epoch": ([remove("UnregisterBroker", brokerId=1, brokerEpoch=12)], 0),
    "unregistered, a stranger": ([remove("UnregisterBroker", brokerId=9, brokerEpoch=12)], 0),
    "fenced, a stranger": ([remove("FenceBroker", id=9, epoch=12)], 0),
    "unfenced at a wrong epoch": ([remove("UnfenceBroker", id=1, epoch=12)], 0),
    "registered again": ([("RegisterBrokerRecord", broker(1, brokerEpoch=20))], None),
    "another broker's directory": ([("RegisterBrokerRecord", broker(4, logDirs=[DIRECTORIES[1]]))], 0),
    "a directory twice": ([("RegisterBrokerRecord", broker(4, logDirs=[OTHER_ID, OTHER_ID]))], None),
    "a directory twice, then fenced": (
        [("RegisterBrokerRecord", broker(4, logDirs=[OTHER_ID, OTHER_ID])), registration(4, 14, fenced=1)],
        1,
    ),
    "a change to another's directory": ([registration(logDirs=[DIRECTORIES[2]])], 0),
    "a change of directories": ([registration(logDirs=[OTHER_ID]), registration(logDirs=[DIRECTORIES[1]])], None),
    "a directory that became free": (
        [registration(logDirs=[OTHER_ID]), ("RegisterBrokerRecord", broker(4, logDirs=[DIRECTORIES[1]]))],
        None,
    ),
    "protocol 77": ([("RegisterBrokerRecord", broker(4, endPoints=[end_point(protocol=77)]))], 0),
    "protocol -1": ([("RegisterBrokerRecord", broker(4, endPoints=[end_point(protocol=-1)]))], 0),
    "protocol 77 of a name that was there": (
        [("RegisterBrokerRecord", broker(4, endPoints=[end_point(), end_point(protocol=77)]))],
        0,
    ),
    "no name": ([("RegisterBrokerRecord", broker(4, endPoints=[end_point("")]))], 0),
    "no listeners": ([("RegisterBrokerRecord", broker(4, endPoints=[]))], None),
    "fencing 7": ([registration(fenced=7)], 0),
    "controlled shutdown 2": ([registration(inControlledShutdown=2)], 0),
    "controlled shutdown -1": ([registration(inControlledShutdown=-1)], 0),
    "fencing -1": ([registration(fenced=-1)], None),
    "controller with protocol 9": ([controller(8, endPoints=[end_point(protocol=9)])], 0),
    "controller without names": ([controller(8, endPoints=[end_point("")])], None),
    "controller again": ([controller(7)], None),
    "controller gone": ([remove("UnregisterController", controllerId=7)], None),
    "controller gone twice": ([remove("UnregisterController", controllerId=7)] * 2, 1),
    "group.version 2": ([feature("group.version", 2)], 0),
    "group.version 1": ([feature("group.version", 1)], None),
    "group.version -1": ([feature("group.version", -1)], 0),
    "share.version 3": ([feature("share.version", 3)], 0),
    "transaction.version 2": ([feature("transaction.version", 2)], None),
    "transaction.version 3": ([feature("transaction.version", 3)], 0),
    "elr 2": ([feature("eligible.leader.replicas.version", 2)], 0),
    "streams.version 2": ([feature("streams.version", 2)], 0),
    "kraft.version 1": ([feature("kraft.version", 1)], None),
    "kraft.version 2": ([feature("kraft.version", 2)], 0),
    "metadata.version 35": ([feature("metadata.version", 35)], 0),
    "metadata.version 34": ([feature("metadata.version", 34)], None),
    "metadata.version 7": ([feature("metadata.version", 7)], None),
    "metadata.version 6": ([feature("metadata.version", 6)], 0),
    "metadata.version 0": ([feature("metadata.version", 0)], 0),
    "unknown feature": ([feature("flux.version", 1)], 0),
    "unknown feature, level 0": ([feature("flux.version", 0)], None),
    "config of broker west": ([config(4, "west")], 0),
    "config of broker 1": ([config(4, "1")], None),
    "config of broker +1": ([config(4, "+1")], None),
    "config of broker 2147483648": ([config(4, "2147483648")], 0),
    "config of broker -5": ([config(4, "-5")], None),
    "config of broker ' 1'": ([config(4, " 1")], 0),
    "config of broker Arabic 1": ([config(4, "\u0661")], None),
    "config of broker west, removed": ([config(4, "west", None)], 0),
    "config of all brokers": ([config(4, "")], None),
    "config of an unknown kind": ([config(99, "west")], None),
    "producer ids": ([producers(1000), producers(2000)], None),
    "producer ids again": ([producers(1000), producers(1000)], 1),
    "producer ids back": ([producers(1000), producers(999)], 1),
    "producer ids 0 first": ([producers(0), producers(0)], 1),
    "acl": ([acl(ACL_ID), remove("RemoveAccessControlEntry", id=ACL_ID)], None),
    "acl gone twice": ([acl(ACL_ID), *[remove("RemoveAccessControlEntry", id=ACL_ID)] * 2], 2),
    "one acl under two ids": ([acl(ACL_ID), acl(OTHER_ACL)], None),
    "one acl under two ids, both gone": (
        [acl(ACL_ID), acl(OTHER_ACL), *BOTH_GONE],
        3,
    ),
    "two unknown operations under two ids, both gone": (
        [
            acl(ACL_ID, operation=77),
            acl(OTHER_ACL, operation=78),
            *BOTH_GONE,
        ],
        3,
    ),
    "scram": ([scram(1), remove("RemoveUserScramCredential", name="a", mechanism=1)], None),
    "scram of the other mechanism": ([scram(1), remove("RemoveUserScramCredential", name="a", mechanism=2)], 1),
    "scram of nobody": ([remove("RemoveUserScramCredential", name="a", mechanism=1)], 0),
    "unknown scram mechanism": ([scram(9)], None),
    "token": ([token()], None),
    "token of nobody's kind": ([token(owner="alice")], 0),
    "token with a renewer of no kind": ([token(renewers=["bob"])], 0),
    "token gone that never was": ([remove("RemoveDelegationToken", tokenId="t")], None),
    "begin twice": ([BEGIN, BEGIN], 1),
    "end without a beginning": ([END], 0),
    "abort without a beginning": ([ABORT], 0),
    "begin, end, end": ([BEGIN, END, END], 2),
    "refused in a transaction": ([BEGIN, topic("orders", OTHER_ID), END], 1),
    "refused in an aborted transaction": ([BEGIN, topic("orders", OTHER_ID), ABORT], 1),
    "refused in an open transaction": ([BEGIN, topic("orders", OTHER_ID)], 1),
    "aborted, then removed": ([BEGIN, topic("new", OTHER_ID), ABORT, remove("RemoveTopic", topicId=OTHER_ID)], 3),
    "aborted, then made": ([BEGIN, topic("new", OTHER_ID), ABORT, topic("new", THIRD_ID)], None),
    "a partition in an aborted transaction": (
        [BEGIN, topic("new", OTHER_ID), part(0, topicId=OTHER_ID), change(isr=[1]), ABORT, change(isr=[2, 1])],
        None,
    ),
    "zk migration state 9": ([("ZkMigrationStateRecord", {"zkMigrationState": 9})], None),
}


def write(folder: Path, records: list[Record]) -> Path:
    """Write a folder whose log holds BASE and the records, each in a batch of its own with the newest version."""
    folder = folder / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    log = b"".join(
        metadata_batch(offset, record, epoch=1, newest=True) for offset, record in enumerate([*BASE, *records])
    )
    (folder / f"{0:020d}.log").write_bytes(log)
    return folder
