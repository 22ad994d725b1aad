"""AddOffsetsToTxn v0-v4 (KIP-98, KIP-588): it adds the partition with a group's offsets to a transaction."""

from typing import Any

from kcli.broker.request import Request
from kcli.broker.transactions.attempts import attempt
from kcli.schemas.acl_codes import Resource

FENCED_SINCE = 2


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    producer = body["transactionalId"], body["producerId"], body["producerEpoch"]

    def add() -> None:
        request.transactions.add(*producer, [request.groups.store.place(body["groupId"])])

    if code := request.denial(Resource.GROUP, body["groupId"]):
        return {"errorCode": code}
    return {"errorCode": attempt(request, add, fenced_since=FENCED_SINCE, name=body["transactionalId"])[0]}
