"""The permissions that each API needs, by Kafka's KafkaApis and ControllerApis.

A request needs permissions for the cluster, and for each topic, group and transactional id that it names. Checks that
depend on more are in the API's handler.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kcli.schemas import apikeys as keys
from kcli.schemas.acl_codes import Operation, Resource
from kcli.schemas.errors import error_code


class Needs(NamedTuple):
    """The operations that an API needs by resource type, None for none."""

    cluster: Operation | None = None
    topic: Operation | None = None
    group: Operation | None = None
    transaction: Operation | None = None


NOTHING = Needs()
DENIED: Mapping[Resource, int] = {
    Resource.CLUSTER: error_code("CLUSTER_AUTHORIZATION_FAILED"),
    Resource.TOPIC: error_code("TOPIC_AUTHORIZATION_FAILED"),
    Resource.GROUP: error_code("GROUP_AUTHORIZATION_FAILED"),
    Resource.TRANSACTIONAL_ID: error_code("TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
}
Op = Operation
NEEDS: Mapping[int, Needs] = {
    keys.ADD_OFFSETS_TO_TXN: Needs(group=Op.READ, transaction=Op.WRITE),
    keys.ADD_PARTITIONS_TO_TXN: Needs(topic=Op.WRITE, transaction=Op.WRITE),
    keys.ALTER_CLIENT_QUOTAS: Needs(cluster=Op.ALTER_CONFIGS),
    keys.ALTER_PARTITION_REASSIGNMENTS: Needs(cluster=Op.ALTER),
    keys.ALTER_REPLICA_LOG_DIRS: Needs(cluster=Op.ALTER),
    keys.ALTER_USER_SCRAM_CREDENTIALS: Needs(cluster=Op.ALTER),
    keys.CONSUMER_GROUP_DESCRIBE: Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    keys.CONSUMER_GROUP_HEARTBEAT: Needs(topic=Op.DESCRIBE, group=Op.READ),
    keys.CREATE_ACLS: Needs(cluster=Op.ALTER),
    keys.CREATE_PARTITIONS: Needs(topic=Op.ALTER),
    keys.DELETE_ACLS: Needs(cluster=Op.ALTER),
    keys.DELETE_GROUPS: Needs(group=Op.DELETE),
    keys.DELETE_RECORDS: Needs(topic=Op.DELETE),
    keys.DELETE_TOPICS: Needs(topic=Op.DELETE),
    keys.DESCRIBE_ACLS: Needs(cluster=Op.DESCRIBE),
    keys.DESCRIBE_CLIENT_QUOTAS: Needs(cluster=Op.DESCRIBE_CONFIGS),
    keys.DESCRIBE_GROUPS: Needs(group=Op.DESCRIBE),
    keys.DESCRIBE_LOG_DIRS: Needs(cluster=Op.DESCRIBE),
    keys.DESCRIBE_PRODUCERS: Needs(topic=Op.READ),
    keys.DESCRIBE_QUORUM: Needs(cluster=Op.DESCRIBE),
    keys.DESCRIBE_TOPIC_PARTITIONS: Needs(topic=Op.DESCRIBE),
    keys.DESCRIBE_TRANSACTIONS: Needs(transaction=Op.DESCRIBE),
    keys.DESCRIBE_USER_SCRAM_CREDENTIALS: Needs(cluster=Op.DESCRIBE),
    keys.ELECT_LEADERS: Needs(cluster=Op.ALTER),
    keys.END_TXN: Needs(transaction=Op.WRITE),
    keys.FETCH: Needs(topic=Op.READ),
    keys.FETCH_SNAPSHOT: Needs(cluster=Op.CLUSTER_ACTION),
    keys.FIND_COORDINATOR: Needs(group=Op.DESCRIBE, transaction=Op.DESCRIBE),
    keys.HEARTBEAT: Needs(group=Op.READ),
    keys.INIT_PRODUCER_ID: Needs(transaction=Op.WRITE),
    keys.JOIN_GROUP: Needs(group=Op.READ),
    keys.LEAVE_GROUP: Needs(group=Op.READ),
    keys.LIST_CONFIG_RESOURCES: Needs(cluster=Op.DESCRIBE_CONFIGS),
    keys.LIST_GROUPS: Needs(group=Op.DESCRIBE),
    keys.LIST_OFFSETS: Needs(topic=Op.DESCRIBE),
    keys.LIST_PARTITION_REASSIGNMENTS: Needs(cluster=Op.DESCRIBE),
    keys.LIST_TRANSACTIONS: Needs(transaction=Op.DESCRIBE),
    keys.METADATA: Needs(topic=Op.DESCRIBE),
    keys.OFFSET_COMMIT: Needs(topic=Op.READ, group=Op.READ),
    keys.OFFSET_DELETE: Needs(topic=Op.READ, group=Op.DELETE),
    keys.OFFSET_FETCH: Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    keys.OFFSET_FOR_LEADER_EPOCH: Needs(topic=Op.DESCRIBE),
    keys.PRODUCE: Needs(topic=Op.WRITE, transaction=Op.WRITE),
    keys.SHARE_ACKNOWLEDGE: Needs(topic=Op.READ, group=Op.READ),
    keys.SHARE_FETCH: Needs(topic=Op.READ, group=Op.READ),
    keys.SHARE_GROUP_DESCRIBE: Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    keys.SHARE_GROUP_HEARTBEAT: Needs(topic=Op.DESCRIBE, group=Op.READ),
    keys.ALTER_SHARE_GROUP_OFFSETS: Needs(topic=Op.READ, group=Op.READ),
    keys.DELETE_SHARE_GROUP_OFFSETS: Needs(topic=Op.READ, group=Op.DELETE),
    keys.DESCRIBE_SHARE_GROUP_OFFSETS: Needs(topic=Op.DESCRIBE, group=Op.DESCRIBE),
    keys.SYNC_GROUP: Needs(group=Op.READ),
    keys.TXN_OFFSET_COMMIT: Needs(topic=Op.READ, group=Op.READ, transaction=Op.WRITE),
    keys.UNREGISTER_BROKER: Needs(cluster=Op.ALTER),
    keys.UPDATE_FEATURES: Needs(cluster=Op.ALTER),
}


def operation_of(api_key: int, kind: Resource) -> Operation | None:
    """Return the operation that an API needs on resources of a type, None if it needs none."""
    needs = NEEDS.get(api_key, NOTHING)
    return {
        Resource.CLUSTER: needs.cluster,
        Resource.TOPIC: needs.topic,
        Resource.GROUP: needs.group,
        Resource.TRANSACTIONAL_ID: needs.transaction,
    }[kind]
