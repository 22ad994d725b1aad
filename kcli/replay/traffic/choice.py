"""Chooses the exchanges of a capture that a replay makes again, and whether others wait for them."""

from collections.abc import Collection
from dataclasses import dataclass

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.name_choice import matches
from kcli.redact.rules import words
from kcli.schemas.apikeys import (
    ADD_PARTITIONS_TO_TXN,
    CREATE_TOPICS,
    FETCH,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    OFFSET_COMMIT,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SYNC_GROUP,
)
from kcli.schemas.errors import COORDINATOR_ERRORS
from kcli.schemas.lookup import Catalog
from kcli.topic_names import INTERNAL, RAFT_TOPICS

LOGIN = frozenset([SASL_HANDSHAKE, SASL_AUTHENTICATE])
# Requests between brokers that may come to listeners of clients: replication, markers of transactions, verification.
OF_BROKERS = words(
    "LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown WriteTxnMarkers Vote BeginQuorumEpoch"
    " EndQuorumEpoch AlterPartition Envelope FetchSnapshot BrokerRegistration BrokerHeartbeat AllocateProducerIds"
    " ControllerRegistration AssignReplicasToDirs UpdateRaftVoter InitializeShareGroupState ReadShareGroupState"
    " WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary"
)
BY_BROKERS_SINCE = 4  # the first version of AddPartitionsToTxn that only brokers send (KIP-890)
# Requests that change a cluster, not only its data.
ADMIN = words(
    "CreateTopics DeleteTopics DeleteRecords CreateAcls DeleteAcls AlterConfigs AlterReplicaLogDirs"
    " CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken DeleteGroups ElectLeaders"
    " IncrementalAlterConfigs AlterPartitionReassignments OffsetDelete AlterClientQuotas"
    " AlterUserScramCredentials UpdateFeatures UnregisterBroker AddRaftVoter RemoveRaftVoter"
    " AlterShareGroupOffsets DeleteShareGroupOffsets UnregisterController StreamsGroupTopologyDescriptionUpdate"
)
# Requests that change nothing: only their own connection waits for their responses.
READS = words(
    "Fetch ShareFetch IncrementalFetch ListOffsets OffsetFetch ApiVersions OffsetForLeaderEpoch"
    " DescribeGroups ListGroups DescribeAcls DescribeConfigs DescribeLogDirs DescribeDelegationToken"
    " ListPartitionReassignments DescribeClientQuotas DescribeUserScramCredentials DescribeQuorum DescribeCluster"
    " DescribeProducers DescribeTransactions ListTransactions ConsumerGroupDescribe GetTelemetrySubscriptions"
    " PushTelemetry ListConfigResources DescribeTopicPartitions ShareGroupDescribe StreamsGroupDescribe"
    " DescribeShareGroupOffsets"
)
# Requests that brokers answer when other members' have come: requests of groups after them are sent a moment later.
HELD = frozenset([JOIN_GROUP, SYNC_GROUP])
GROUP_APIS = frozenset([*HELD, OFFSET_COMMIT, HEARTBEAT, LEAVE_GROUP])
# Requests that change groups and transactions, and the errors of coordinators that are not ready.
OF_COORDINATORS = words(
    "JoinGroup SyncGroup Heartbeat LeaveGroup OffsetCommit InitProducerId AddPartitionsToTxn AddOffsetsToTxn EndTxn"
    " TxnOffsetCommit ConsumerGroupHeartbeat ShareGroupHeartbeat StreamsGroupHeartbeat"
)
NOT_READY = {*COORDINATOR_ERRORS, "CONCURRENT_TRANSACTIONS", "OPERATION_NOT_ATTEMPTED"}


def was_refused(exchange: Exchange) -> bool:
    """Return whether the captured coordinator was not ready. The request changed nothing then, but would change the
    live cluster's group.
    """
    return exchange.api in OF_COORDINATORS and set() < set(exchange.known_errors) <= NOT_READY


@dataclass(frozen=True)
class Choice:
    """The user's choice of exchanges. only, skip: API keys; client_id: a name or pattern; admin: also make those that
    change the cluster.
    """

    known: Catalog
    only: Collection[int] = ()
    skip: Collection[int] = ()
    client_id: str | None = None
    admin: bool = False

    def reason(self, exchange: Exchange) -> str | None:
        """Return why an exchange is not made again, "" if the user left it out; None if it is made."""
        key = exchange.api_key
        if (self.only and key not in self.only) or key in self.skip:
            return ""
        if self.client_id is not None and not matches(exchange.client_id, self.client_id):
            return ""
        api = self.known.api(key)
        if api is None or exchange.api_version not in api.versions:
            return "unknown to kcli"
        if key in LOGIN:
            return "logins (--config has the replay's own)"
        if api.name in OF_BROKERS or (key == ADD_PARTITIONS_TO_TXN and exchange.api_version >= BY_BROKERS_SINCE):
            return "of brokers among themselves"
        if api.name in ADMIN and not self.admin:
            return "that change the cluster (--admin)"
        if exchange.request is None:
            return "that can't be decoded"
        if key == CREATE_TOPICS and set() < {each["name"] for each in exchange.request["topics"]} <= INTERNAL:
            return "of brokers among themselves"
        if key == FETCH and is_of_metadata(exchange):
            return "of the metadata log"
        return None

    def is_write(self, exchange: Exchange) -> bool:
        """Return whether other connections may wait for its response."""
        return exchange.api not in READS


def is_of_metadata(exchange: Exchange) -> bool:
    """Return whether a Fetch reads the metadata log of KRaft, which brokers' listeners do not serve."""
    topics = exchange.request.get("topics") or ()
    return any((each.get("topicId") or each.get("topic")) in RAFT_TOPICS for each in topics)
