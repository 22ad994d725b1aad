"""DescribeTransactions v0 (KIP-664)."""

from typing import Any

from kcli.broker.partition import by_topic
from kcli.broker.request import Request
from kcli.schemas.errors import error_code

NOTHING = {
    "producerId": 0,
    "producerEpoch": 0,
    "transactionState": "",
    "transactionTimeoutMs": 0,
    "transactionStartTimeMs": 0,
}


def handle(request: Request) -> dict[str, Any]:
    return {"transactionStates": [row(request, name) for name in request.body["transactionalIds"]]}


def row(request: Request, name: str) -> dict[str, Any]:
    each = request.transactions.by_id.get(name)
    code = request.fault() or request.transaction_refusal(name)
    missing = error_code("TRANSACTIONAL_ID_NOT_FOUND" if name else "INVALID_REQUEST")
    code = code or (0 if each is not None else missing)
    made = {"errorCode": code, "transactionalId": name}
    if code or each is None:
        return made | NOTHING | {"topics": []}
    return made | {
        "transactionState": each.state.title,
        "transactionTimeoutMs": each.timeout_ms,
        "transactionStartTimeMs": each.started,
        "producerId": each.producer_id,
        "producerEpoch": each.epoch,
        "topics": [{"topic": topic, "partitions": ids} for topic, ids in by_topic(each.partitions).items()],
    }
