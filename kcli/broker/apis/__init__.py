"""The APIs that this broker has: a handler for each, in a module of its name, and the versions that it serves.

A module's docstring lists what its handler does in which versions. It is loaded with the first request for it.

A draft's handler serves a version that only a dialect defines, or that a dialect defines otherwise. It is chosen where
the dialect's response has the field that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple, cast

from kcli.broker.request import Handler
from kcli.schemas import apikeys as keys
from kcli.schemas.ranges import Range

__all__ = ["APIS", "DRAFTS", "Implemented"]


class Implemented(NamedTuple):
    """A handler's place, and the versions that it serves. field: of a draft's response, "" for Apache's."""

    module: str
    versions: Range
    field: str = ""
    name: str = "handle"

    @property
    def handle(self) -> Handler:
        """The handler."""
        return cast(Handler, getattr(import_module(f"{__name__}.{self.module}"), self.name))


APIS: Mapping[int, Implemented] = {
    keys.ADD_OFFSETS_TO_TXN: Implemented("add_offsets_to_txn", Range(0, 4)),
    keys.ADD_PARTITIONS_TO_TXN: Implemented("add_partitions_to_txn", Range(0, 5)),
    keys.ALTER_CLIENT_QUOTAS: Implemented("alter_client_quotas", Range(0, 1)),
    keys.ALTER_CONFIGS: Implemented("alter_configs", Range(0, 2)),
    keys.ALTER_PARTITION_REASSIGNMENTS: Implemented("alter_partition_reassignments", Range(0, 1)),
    keys.ALTER_REPLICA_LOG_DIRS: Implemented("alter_replica_log_dirs", Range(1, 2)),
    keys.ALTER_USER_SCRAM_CREDENTIALS: Implemented("alter_user_scram_credentials", Range(0, 0)),
    keys.ALTER_SHARE_GROUP_OFFSETS: Implemented("alter_share_group_offsets", Range(0, 0)),
    keys.API_VERSIONS: Implemented("api_versions", Range(0, 5)),
    keys.CONSUMER_GROUP_DESCRIBE: Implemented("consumer_group_describe", Range(0, 1)),
    keys.CONSUMER_GROUP_HEARTBEAT: Implemented("consumer_group_heartbeat", Range(0, 1)),
    keys.CREATE_ACLS: Implemented("create_acls", Range(0, 3)),
    keys.CREATE_PARTITIONS: Implemented("create_partitions", Range(0, 3)),
    keys.CREATE_TOPICS: Implemented("create_topics", Range(0, 7)),
    keys.DELETE_ACLS: Implemented("delete_acls", Range(0, 3)),
    keys.DELETE_GROUPS: Implemented("delete_groups", Range(0, 3)),
    keys.DELETE_RECORDS: Implemented("delete_records", Range(0, 2)),
    keys.DELETE_SHARE_GROUP_OFFSETS: Implemented("delete_share_group_offsets", Range(0, 0)),
    keys.DELETE_TOPICS: Implemented("delete_topics", Range(0, 6)),
    keys.DESCRIBE_ACLS: Implemented("describe_acls", Range(0, 3)),
    keys.DESCRIBE_CLIENT_QUOTAS: Implemented("describe_client_quotas", Range(0, 1)),
    keys.DESCRIBE_CLUSTER: Implemented("describe_cluster", Range(0, 2)),
    keys.DESCRIBE_CONFIGS: Implemented("describe_configs", Range(0, 4)),
    keys.DESCRIBE_GROUPS: Implemented("describe_groups", Range(0, 6)),
    keys.DESCRIBE_LOG_DIRS: Implemented("describe_log_dirs", Range(0, 5)),
    keys.DESCRIBE_PRODUCERS: Implemented("describe_producers", Range(0, 0)),
    keys.DESCRIBE_QUORUM: Implemented("describe_quorum", Range(0, 2)),
    keys.DESCRIBE_SHARE_GROUP_OFFSETS: Implemented("describe_share_group_offsets", Range(0, 1)),
    keys.DESCRIBE_TOPIC_PARTITIONS: Implemented("describe_topic_partitions", Range(0, 0)),
    keys.DESCRIBE_TRANSACTIONS: Implemented("describe_transactions", Range(0, 0)),
    keys.DESCRIBE_USER_SCRAM_CREDENTIALS: Implemented("describe_user_scram_credentials", Range(0, 0)),
    keys.ELECT_LEADERS: Implemented("elect_leaders", Range(0, 2)),
    keys.END_TXN: Implemented("end_txn", Range(0, 5)),
    keys.FETCH: Implemented("fetch", Range(0, 18)),
    keys.FETCH_SNAPSHOT: Implemented("fetch_snapshot", Range(0, 1)),
    keys.FIND_COORDINATOR: Implemented("find_coordinator", Range(0, 6)),
    keys.HEARTBEAT: Implemented("heartbeat", Range(0, 4)),
    keys.INCREMENTAL_ALTER_CONFIGS: Implemented("incremental_alter_configs", Range(0, 1)),
    keys.INIT_PRODUCER_ID: Implemented("init_producer_id", Range(0, 6)),
    keys.JOIN_GROUP: Implemented("join_group", Range(0, 9)),
    keys.LEAVE_GROUP: Implemented("leave_group", Range(0, 5)),
    keys.LIST_CONFIG_RESOURCES: Implemented("list_config_resources", Range(0, 1)),
    keys.LIST_GROUPS: Implemented("list_groups", Range(0, 5)),
    keys.LIST_OFFSETS: Implemented("list_offsets", Range(0, 11)),
    keys.LIST_PARTITION_REASSIGNMENTS: Implemented("list_partition_reassignments", Range(0, 0)),
    keys.LIST_TRANSACTIONS: Implemented("list_transactions", Range(0, 2)),
    keys.METADATA: Implemented("metadata", Range(0, 13)),
    keys.OFFSET_COMMIT: Implemented("offset_commit", Range(0, 10)),
    keys.OFFSET_DELETE: Implemented("offset_delete", Range(0, 0)),
    keys.OFFSET_FETCH: Implemented("offset_fetch", Range(0, 10)),
    keys.OFFSET_FOR_LEADER_EPOCH: Implemented("offset_for_leader_epoch", Range(0, 4)),
    keys.PRODUCE: Implemented("produce", Range(0, 13)),
    keys.SASL_AUTHENTICATE: Implemented("sasl_authenticate", Range(0, 2)),
    keys.SASL_HANDSHAKE: Implemented("sasl_handshake", Range(0, 1)),
    keys.SHARE_ACKNOWLEDGE: Implemented("share_acknowledge", Range(1, 2)),
    keys.SHARE_FETCH: Implemented("share_fetch", Range(1, 2)),
    keys.SHARE_GROUP_DESCRIBE: Implemented("share_group_describe", Range(1, 1)),
    keys.SHARE_GROUP_HEARTBEAT: Implemented("share_group_heartbeat", Range(1, 1)),
    keys.SYNC_GROUP: Implemented("sync_group", Range(0, 5)),
    keys.TXN_OFFSET_COMMIT: Implemented("txn_offset_commit", Range(0, 6)),
    keys.UNREGISTER_BROKER: Implemented("unregister_broker", Range(0, 0)),
    keys.UPDATE_FEATURES: Implemented("update_features", Range(0, 2)),
    keys.WRITE_TXN_MARKERS: Implemented("write_txn_markers", Range(0, 2)),
}
DRAFTS: Mapping[int, tuple[Implemented, ...]] = {
    keys.FETCH: (
        Implemented("incremental_fetch", Range(7, 7), "uuid", "handle_full"),
        Implemented("snapshot_draft", Range(12, 12), "logBeginOffset", "handle_fetch"),
    ),
    keys.INCREMENTAL_FETCH: (Implemented("incremental_fetch", Range(0, 0), "uuid"),),
    keys.FETCH_SNAPSHOT: (Implemented("snapshot_draft", Range(0, 0), "continue", "handle_fetch_snapshot"),),
}
