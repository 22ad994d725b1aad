"""InitProducerId v0-v6 (KIP-98, KIP-360; two-phase commit of KIP-939 is refused).

* Without a transactional id the producer gets a new id with epoch 0. If it sends its id and epoch (v3 on), it gets the
  same id with the next epoch.
* With a transactional id it gets the producer id of that id, and the next epoch; see
  `kcli.broker.transactions.coordinator`.
"""

from typing import Any

from kcli.broker.request import Request
from kcli.broker.transactions.attempts import attempt
from kcli.broker.transactions.transaction import LAST_EPOCH
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Operation, Resource

FENCED_SINCE = 4


def handle(request: Request) -> dict[str, Any]:
    name = request.body["transactionalId"]
    code, made = attempt(request, lambda: producer_of(request), fenced_since=FENCED_SINCE, name=name)
    if made is None:
        return {"errorCode": code, "producerId": -1, "producerEpoch": -1}
    return {"errorCode": 0, "producerId": made[0], "producerEpoch": made[1]}


def producer_of(request: Request) -> tuple[int, int]:
    """Return the producer's id and epoch. Raises RefusedError."""
    body = request.body
    if body["transactionalId"] == "":
        raise RefusedError("INVALID_REQUEST", "an empty transactional id")
    if body.get("enable2Pc"):
        raise RefusedError("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "two-phase commit")
    may = request.may(Operation.IDEMPOTENT_WRITE) or request.may_with_any(Operation.WRITE, Resource.TOPIC)
    if body["transactionalId"] is None and not may:
        raise RefusedError("CLUSTER_AUTHORIZATION_FAILED", "the client may write to no topic")
    name, known, epoch = body["transactionalId"], body.get("producerId", -1), body.get("producerEpoch", -1)
    if (known == -1) != (epoch == -1):
        raise RefusedError("INVALID_REQUEST", "a producer id without an epoch, or an epoch without an id")
    if name is not None:
        each = request.transactions.begin(name, body["transactionTimeoutMs"], known, epoch)
        return each.producer_id, each.epoch
    if 0 <= epoch < LAST_EPOCH and known >= 0:
        return known, epoch + 1
    return request.metadata.new_producer_id(), 0
