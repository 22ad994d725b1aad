"""Message fields that columns are made from, with their paths."""

from dataclasses import dataclass

from kcli.schemas.apikeys import FETCH, JOIN_GROUP, PRODUCE, SHARE_FETCH

# APIs whose `brokerId` is the sender; in others it is the subject. ControlledShutdown, AlterPartition,
# BrokerRegistration, BrokerHeartbeat, AllocateProducerIds, AssignReplicasToDirs.
OF_BROKERS = frozenset({7, 56, 62, 63, 67, 73})


@dataclass(frozen=True, slots=True)
class MessageField:
    """paths: if a message has several, the last one counts. response: the field is in the response, not in the request.
    apis: the keys of APIs that have it; None: any. text: it is text, not a number.
    """

    name: str
    paths: tuple[str, ...]
    response: bool = False
    apis: frozenset[int] | None = None
    text: bool = False


FIELDS = (
    MessageField("acks", ("acks?",), apis=frozenset({PRODUCE})),
    MessageField("min_bytes", ("minBytes?",), apis=frozenset({FETCH, SHARE_FETCH})),
    MessageField("max_wait_ms", ("maxWaitMs?",), apis=frozenset({FETCH, SHARE_FETCH})),
    MessageField(
        "rebalance_timeout_ms", ("sessionTimeoutMs?", "rebalanceTimeoutMs?"), apis=frozenset({JOIN_GROUP})
    ),
    MessageField("throttle_ms", ("throttleTimeMs?",), response=True),
    MessageField("replica_id", ("replicaId?", "replicaState.replicaId?")),
    MessageField("replica_id", ("brokerId?",), apis=OF_BROKERS),
    MessageField("group_id", ("groupId?",), text=True),
    MessageField("transactional_id", ("transactionalId?", "v3AndBelowTransactionalId?"), text=True),
    # Only for the facts of the report and of diagnose.
    MessageField("isolation_level", ("isolationLevel?",), apis=frozenset({FETCH})),
    MessageField("session_id", ("sessionId?",), apis=frozenset({FETCH})),
    MessageField("session_epoch", ("sessionEpoch?",), apis=frozenset({FETCH})),
    MessageField("granted_id", ("sessionId?",), response=True, apis=frozenset({FETCH})),
)  # fmt: skip
TEXTS = frozenset(field.name for field in FIELDS if field.text)


def paths_of(api_key: int, names: frozenset[str], *, response: bool) -> dict[str, str]:
    """Return {path: column} for the paths of a message. names: the columns to fill."""
    return {
        path: field.name
        for field in FIELDS
        if field.name in names and field.response == response and (field.apis is None or api_key in field.apis)
        for path in field.paths
    }
