"""ListTransactions v0-v1 (KIP-664, KIP-994 by duration; v2's pattern is not taken: RE2 is not Python's)."""

from __future__ import annotations

from typing import Any

from kcli.broker.request import Request
from kcli.broker.transactions.transaction import Transaction, TransactionState

NAMES = {each.title for each in TransactionState}


def handle(request: Request) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "unknownStateFilters": [], "transactionStates": []}
    states = request.body["stateFilters"]
    rows = [
        {"transactionalId": each.name, "producerId": each.producer_id, "transactionState": each.state.title}
        for each in request.transactions
        if not request.transaction_refusal(each.name) and is_wanted(request, each)
    ]
    return {
        "errorCode": 0,
        "unknownStateFilters": [name for name in states if name not in NAMES],
        "transactionStates": rows,
    }


def is_wanted(request: Request, each: Transaction) -> bool:
    """Whether a transaction passes the request's filters."""
    body = request.body
    known, producers = NAMES.intersection(body["stateFilters"]), body["producerIdFilters"]
    least = body.get("durationFilter", -1)
    return (
        (not body["stateFilters"] or each.state.title in known)
        and (not producers or each.producer_id in producers)
        and (least < 0 or 0 <= each.started <= request.now() - least)
    )
