"""EndTxn v0-v5 (KIP-98, KIP-588; KIP-890: from v5 on the response has the epoch of the next transaction)."""

from typing import Any

from kcli.broker.request import Request
from kcli.broker.transactions.attempts import attempt

FENCED_SINCE, BUMPING_SINCE = 2, 5


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    producer = body["transactionalId"], body["producerId"], body["producerEpoch"]
    bumping = request.version >= BUMPING_SINCE
    code, each = attempt(
        request,
        lambda: request.transactions.end(*producer, commit=body["committed"], version=2 if bumping else 0),
        fenced_since=FENCED_SINCE,
        name=body["transactionalId"],
    )
    if each is None or not bumping:
        return {"errorCode": code, "producerId": -1, "producerEpoch": -1}
    return {"errorCode": code, "producerId": each.producer_id, "producerEpoch": each.epoch}
