"""ShareAcknowledge v1-v2 (KIP-932, KIP-1222 renewed locks): it acknowledges records that the member acquired."""

from typing import Any

from kcli.broker.fetch.fetching import by_topic
from kcli.broker.request import Request
from kcli.broker.share.acknowledging import acknowledge, checked_group, error_row, limits_of
from kcli.broker.share.sessions import FIRST, LAST
from kcli.records.acceptance import RefusedError


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    if code := request.fault() or request.denial_of_group(body["groupId"]):
        return {"errorCode": code, "errorMessage": None, "responses": []}
    try:
        group = checked_group(request)
        epoch = body["shareSessionEpoch"]
        if epoch == FIRST:
            raise RefusedError("INVALID_SHARE_SESSION_EPOCH", "a session begins with a fetch")
        session = request.node.share_sessions.known(group, body["memberId"], epoch)
    except RefusedError as refused:
        return refused.row() | {"responses": []}
    done = acknowledge(request, group, body["topics"])
    if epoch == LAST:
        session.release()
    rows = ((key, error_row(request, key, *result)) for key, result in done.items())
    timeout = round(limits_of(request, group.id).lock * 1000)
    return {"errorCode": 0, "acquisitionLockTimeoutMs": timeout, "responses": by_topic("topicId", rows)}
