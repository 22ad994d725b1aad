"""The APIs of this broker: each has a handler in a module of its name, and the versions that the handler serves.

A module's docstring lists what its handler does in which versions. A module is imported at the first request of its
API.

A draft's handler serves a version that only a dialect defines, or that a dialect defines differently. It is chosen if
the dialect's response has the field `Implemented.field`.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple, cast

from kcli.broker.request import Handler
from kcli.schemas import apikeys as keys
from kcli.schemas.ranges import Range

__all__ = ["APIS", "DRAFTS", "Implemented"]


class Implemented(NamedTuple):
    """A handler and the versions that it serves. module, name: where it is. field: one that only the draft's response
    has, "" for Apache's messages.
    """

    module: str
    versions: Range
    field: str = ""
    name: str = "handle"

    @property
    def handle(self) -> Handler:
        """The handler, a function of the module."""
        return cast(Handler, getattr(import_module(f"{__name__}.{self.module}"), self.name))


APIS: Mapping[int, Implemented] = {
    keys.ALTER_REPLICA_LOG_DIRS: Implemented("cluster.alter_replica_log_dirs", Range(1, 2)),
    keys.API_VERSIONS: Implemented("cluster.api_versions", Range(0, 5)),
    keys.DESCRIBE_CLUSTER: Implemented("cluster.describe_cluster", Range(0, 2)),
    keys.DESCRIBE_LOG_DIRS: Implemented("cluster.describe_log_dirs", Range(0, 5)),
    keys.DESCRIBE_QUORUM: Implemented("cluster.describe_quorum", Range(0, 2)),
    keys.FETCH_SNAPSHOT: Implemented("cluster.fetch_snapshot", Range(0, 1)),
    keys.UNREGISTER_BROKER: Implemented("cluster.unregister_broker", Range(0, 0)),
    keys.UPDATE_FEATURES: Implemented("cluster.update_features", Range(0, 2)),
    keys.ALTER_CONFIGS: Implemented("configs.alter_configs", Range(0, 2)),
    keys.DESCRIBE_CONFIGS: Implemented("configs.describe_configs", Range(0, 4)),
    keys.INCREMENTAL_ALTER_CONFIGS: Implemented("configs.incremental_alter_configs", Range(0, 1)),
    keys.LIST_CONFIG_RESOURCES: Implemented("configs.list_config_resources", Range(0, 1)),
    keys.CONSUMER_GROUP_DESCRIBE: Implemented("groups.consumer_group_describe", Range(0, 1)),
    keys.CONSUMER_GROUP_HEARTBEAT: Implemented("groups.consumer_group_heartbeat", Range(0, 1)),
    keys.DELETE_GROUPS: Implemented("groups.delete_groups", Range(0, 3)),
    keys.DESCRIBE_GROUPS: Implemented("groups.describe_groups", Range(0, 6)),
    keys.FIND_COORDINATOR: Implemented("groups.find_coordinator", Range(0, 6)),
    keys.HEARTBEAT: Implemented("groups.heartbeat", Range(0, 4)),
    keys.JOIN_GROUP: Implemented("groups.join_group", Range(0, 9)),
    keys.LEAVE_GROUP: Implemented("groups.leave_group", Range(0, 5)),
    keys.LIST_GROUPS: Implemented("groups.list_groups", Range(0, 5)),
    keys.OFFSET_COMMIT: Implemented("groups.offset_commit", Range(0, 10)),
    keys.OFFSET_DELETE: Implemented("groups.offset_delete", Range(0, 0)),
    keys.OFFSET_FETCH: Implemented("groups.offset_fetch", Range(0, 10)),
    keys.SYNC_GROUP: Implemented("groups.sync_group", Range(0, 5)),
    keys.DELETE_RECORDS: Implemented("records.delete_records", Range(0, 2)),
    keys.FETCH: Implemented("records.fetch", Range(0, 18)),
    keys.LIST_OFFSETS: Implemented("records.list_offsets", Range(0, 11)),
    keys.OFFSET_FOR_LEADER_EPOCH: Implemented("records.offset_for_leader_epoch", Range(0, 4)),
    keys.PRODUCE: Implemented("records.produce", Range(0, 13)),
    keys.ALTER_CLIENT_QUOTAS: Implemented("security.alter_client_quotas", Range(0, 1)),
    keys.ALTER_USER_SCRAM_CREDENTIALS: Implemented("security.alter_user_scram_credentials", Range(0, 0)),
    keys.CREATE_ACLS: Implemented("security.create_acls", Range(0, 3)),
    keys.DELETE_ACLS: Implemented("security.delete_acls", Range(0, 3)),
    keys.DESCRIBE_ACLS: Implemented("security.describe_acls", Range(0, 3)),
    keys.DESCRIBE_CLIENT_QUOTAS: Implemented("security.describe_client_quotas", Range(0, 1)),
    keys.DESCRIBE_USER_SCRAM_CREDENTIALS: Implemented("security.describe_user_scram_credentials", Range(0, 0)),
    keys.CREATE_DELEGATION_TOKEN: Implemented("security.delegation_tokens", Range(1, 3), name="handle_create"),
    keys.RENEW_DELEGATION_TOKEN: Implemented("security.delegation_tokens", Range(1, 2), name="handle_change"),
    keys.EXPIRE_DELEGATION_TOKEN: Implemented("security.delegation_tokens", Range(1, 2), name="handle_change"),
    keys.DESCRIBE_DELEGATION_TOKEN: Implemented("security.delegation_tokens", Range(1, 3), name="handle_describe"),
    keys.SASL_AUTHENTICATE: Implemented("security.sasl_authenticate", Range(0, 2)),
    keys.SASL_HANDSHAKE: Implemented("security.sasl_handshake", Range(0, 1)),
    keys.ALTER_SHARE_GROUP_OFFSETS: Implemented("share.alter_share_group_offsets", Range(0, 0)),
    keys.DELETE_SHARE_GROUP_OFFSETS: Implemented("share.delete_share_group_offsets", Range(0, 0)),
    keys.DESCRIBE_SHARE_GROUP_OFFSETS: Implemented("share.describe_share_group_offsets", Range(0, 1)),
    keys.SHARE_ACKNOWLEDGE: Implemented("share.share_acknowledge", Range(1, 2)),
    keys.SHARE_FETCH: Implemented("share.share_fetch", Range(1, 2)),
    keys.SHARE_GROUP_DESCRIBE: Implemented("share.share_group_describe", Range(1, 1)),
    keys.SHARE_GROUP_HEARTBEAT: Implemented("share.share_group_heartbeat", Range(1, 1)),
    keys.ALTER_PARTITION_REASSIGNMENTS: Implemented("topics.alter_partition_reassignments", Range(0, 1)),
    keys.CREATE_PARTITIONS: Implemented("topics.create_partitions", Range(0, 3)),
    keys.CREATE_TOPICS: Implemented("topics.create_topics", Range(0, 7)),
    keys.DELETE_TOPICS: Implemented("topics.delete_topics", Range(0, 6)),
    keys.DESCRIBE_TOPIC_PARTITIONS: Implemented("topics.describe_topic_partitions", Range(0, 0)),
    keys.ELECT_LEADERS: Implemented("topics.elect_leaders", Range(0, 2)),
    keys.LIST_PARTITION_REASSIGNMENTS: Implemented("topics.list_partition_reassignments", Range(0, 0)),
    keys.METADATA: Implemented("topics.metadata", Range(0, 13)),
    keys.ADD_OFFSETS_TO_TXN: Implemented("transactions.add_offsets_to_txn", Range(0, 4)),
    keys.ADD_PARTITIONS_TO_TXN: Implemented("transactions.add_partitions_to_txn", Range(0, 5)),
    keys.DESCRIBE_PRODUCERS: Implemented("transactions.describe_producers", Range(0, 0)),
    keys.DESCRIBE_TRANSACTIONS: Implemented("transactions.describe_transactions", Range(0, 0)),
    keys.END_TXN: Implemented("transactions.end_txn", Range(0, 5)),
    keys.INIT_PRODUCER_ID: Implemented("transactions.init_producer_id", Range(0, 6)),
    keys.LIST_TRANSACTIONS: Implemented("transactions.list_transactions", Range(0, 2)),
    keys.TXN_OFFSET_COMMIT: Implemented("transactions.txn_offset_commit", Range(0, 6)),
    keys.WRITE_TXN_MARKERS: Implemented("transactions.write_txn_markers", Range(0, 2)),
}
DRAFTS: Mapping[int, tuple[Implemented, ...]] = {
    keys.FETCH: (
        Implemented("records.incremental_fetch", Range(7, 7), "uuid", "handle_full"),
        Implemented("cluster.snapshot_draft", Range(12, 12), "logBeginOffset", "handle_fetch"),
    ),
    keys.INCREMENTAL_FETCH: (Implemented("records.incremental_fetch", Range(0, 0), "uuid"),),
    keys.FETCH_SNAPSHOT: (Implemented("cluster.snapshot_draft", Range(0, 0), "continue", "handle_fetch_snapshot"),),
}
