"""Throttling of clients by their quotas: requests and responses are counted, and responses get a throttle time."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable

from kcli.broker.request import Handler, Request
from kcli.broker.response import Answer, EncodedBody, Outcome
from kcli.broker.security.quotas import FETCHED, REQUEST_SHARE, SENT, Quotas
from kcli.schemas.apikeys import FETCH, PRODUCE

LEAST_SECONDS = 0.001


def throttled(quotas: Quotas, request: Request, handle: Handler, size: int) -> Handler:
    """Return a handler that also counts, and throttles the client if it exceeds a quota. size: bytes of the request."""
    begun = time.perf_counter()

    def answer(received: Request) -> Outcome:
        outcome = handle(received)
        if inspect.isawaitable(outcome):
            return finish(outcome)
        return count(quotas, request, outcome, size, time.perf_counter() - begun)

    async def finish(waited: Awaitable[Answer]) -> Answer:
        return count(quotas, request, await waited, size, 0.0)

    return answer


def count(quotas: Quotas, request: Request, answer: Answer, size: int, seconds: float) -> Answer:
    """Count a request and its response; mute the client and return the response with the throttle time if a quota is
    exceeded. size: bytes of the request; seconds: of its processing.
    """
    user = request.client.principal.partition(":")[2]
    waits = [quotas.wait(user, request.client_id, REQUEST_SHARE, seconds * 100)]
    if request.api.key == PRODUCE:
        waits.append(quotas.wait(user, request.client_id, SENT, size))
    elif request.api.key == FETCH and isinstance(answer, EncodedBody):
        fetched = sum(len(each) if isinstance(each, bytes) else each.size for each in answer.pieces)
        waits.append(quotas.wait(user, request.client_id, FETCHED, fetched))
    throttle = max(waits)
    if throttle < LEAST_SECONDS:
        return answer
    request.client.mute(throttle)
    throttle_ms = min(round(throttle * 1000), (1 << 31) - 1)
    found = with_throttle_time(request, answer, throttle_ms)
    if found is not answer and request.kept is not None and request.kept.response is not None:
        request.kept.response = request.kept.response | {"throttleTimeMs": throttle_ms}
    return found


def with_throttle_time(request: Request, answer: Answer, throttle_ms: int) -> Answer:
    """Return a response with a throttle time; unchanged if it is encoded in a version that has none."""
    throttle = {"throttleTimeMs": throttle_ms}
    if isinstance(answer, dict):
        return answer | throttle
    fields = [each.name for each in request.api.response.grammar.fields]
    if not isinstance(answer, EncodedBody) or "throttleTimeMs" not in fields:
        return answer
    value, (first, *more) = (answer.value or {}) | throttle, answer.pieces
    if fields[0] == "throttleTimeMs" and isinstance(first, bytes):  # a Fetch's, whose records are not read again
        return EncodedBody([throttle_ms.to_bytes(4, "big") + first[4:], *more], value)
    return EncodedBody([request.api.encode(value)], value) if answer.value is not None and not more else answer
