"""Attempts of requests to the transaction coordinator: their results, or the error codes of their refusals."""

from collections.abc import Callable
from typing import TypeVar

from kcli.broker.request import Request
from kcli.records.acceptance import RefusedError
from kcli.schemas.errors import error_code

Made = TypeVar("Made")


def attempt(
    request: Request, work: Callable[[], Made], *, fenced_since: int, name: str | None = None
) -> tuple[int, Made | None]:
    """Run `work`; return the error code of its RefusedError or OSError (0 for none), and its result. fenced_since: the
    API version from which clients know PRODUCER_FENCED; older ones get INVALID_PRODUCER_EPOCH (KIP-588). name: the
    transactional id, whose coordinator this node has to be; None if any node may answer.
    """
    if code := request.fault() or (request.transaction_refusal(name) if name else 0):
        return code, None
    try:
        return 0, work()
    except RefusedError as refused:
        fenced = refused.error == "PRODUCER_FENCED" and request.version < fenced_since
        return error_code("INVALID_PRODUCER_EPOCH" if fenced else refused.error), None
    except OSError as error:
        request.services.note(f"transactions: {error.strerror}")
        return error_code("COORDINATOR_NOT_AVAILABLE"), None
