"""ListTransactions v0-v2 (KIP-664, KIP-994 filter by duration, KIP-1152 filter by a regular expression, RE2)."""

from typing import Any

from kcli.broker.patterns import regular
from kcli.broker.request import Request
from kcli.broker.transactions.transaction import Transaction, TransactionState
from kcli.errors import InputError, UsageError
from kcli.schemas.errors import error_code

NAMES = {each.title for each in TransactionState}


def handle(request: Request) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "unknownStateFilters": [], "transactionStates": []}
    try:
        pattern = regular(request.body.get("transactionalIdPattern"))
    except (InputError, UsageError) as error:
        if isinstance(error, UsageError):
            request.services.mention(str(error))
        name = "INVALID_REGULAR_EXPRESSION" if isinstance(error, InputError) else "UNKNOWN_SERVER_ERROR"
        return {"errorCode": error_code(name), "unknownStateFilters": [], "transactionStates": []}
    states = request.body["stateFilters"]
    rows = [
        {"transactionalId": each.name, "producerId": each.producer_id, "transactionState": each.state.title}
        for each in request.transactions
        if not request.transaction_refusal(each.name) and is_wanted(request, each) and pattern(each.name)
    ]
    return {
        "errorCode": 0,
        "unknownStateFilters": [name for name in states if name not in NAMES],
        "transactionStates": rows,
    }


def is_wanted(request: Request, each: Transaction) -> bool:
    """Return whether a transaction passes the request's filters."""
    body = request.body
    known, producers = NAMES.intersection(body["stateFilters"]), body["producerIdFilters"]
    least = body.get("durationFilter", -1)
    return (
        (not body["stateFilters"] or each.state.title in known)
        and (not producers or each.producer_id in producers)
        # As in Kafka, a transaction that has not begun (started is -1) is older than any.
        and (least < 0 or each.started < request.now() - least)
    )
