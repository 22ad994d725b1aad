"""InitProducerId v0-v6 (KIP-98, KIP-360; KIP-939's two phases are not taken).

* Without a transactional id: a producer id of its own; from v3 on an idempotent producer that brings its id and epoch
  gets the next epoch.
* With one: refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED, since this broker has no transaction coordinator: a
  fatal error for every client, where a retriable one would have it try for ever.
"""

from __future__ import annotations

from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.registry import handles
from kcli.broker.request import Request
from kcli.schemas.apikeys import INIT_PRODUCER_ID

LAST_EPOCH = (1 << 15) - 2


@handles(INIT_PRODUCER_ID, 0, 6)
def handle(request: Request) -> dict[str, Any]:
    code = request.fault()
    if not code and request.body["transactionalId"] is not None:
        code = error_code(
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" if request.body["transactionalId"] else "INVALID_REQUEST"
        )
    if code:
        return {"errorCode": code, "producerId": -1, "producerEpoch": -1}
    producer_id, epoch = request.body.get("producerId", -1), request.body.get("producerEpoch", -1)
    if 0 <= epoch < LAST_EPOCH and producer_id >= 0:
        return {"errorCode": 0, "producerId": producer_id, "producerEpoch": epoch + 1}
    return {"errorCode": 0, "producerId": request.metadata.new_producer_id(), "producerEpoch": 0}
