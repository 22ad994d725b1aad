"""FindCoordinator v0-v6 (KIP-699 batches from v4 on): of groups (key type 0), transactions (1), and of the
states of share groups (2, KIP-932), whose keys are GROUP:TOPIC_ID:PARTITION.
"""

import re
from typing import Any

from kcli.broker.metadata.coordinators import NOT_AVAILABLE
from kcli.broker.request import Request
from kcli.schemas.acl_codes import Operation, Resource
from kcli.schemas.errors import error_code, error_name
from kcli.schemas.field_codes import CoordinatorType
from kcli.topic_names import CONSUMER_OFFSETS, SHARE_STATE, TRANSACTION_STATE

BATCHES_SINCE = 4
TOPICS = {
    CoordinatorType.GROUP: CONSUMER_OFFSETS,
    CoordinatorType.TRANSACTION: TRANSACTION_STATE,
    CoordinatorType.SHARE: SHARE_STATE,
}
SHARE_KEY = re.compile(r".+:[A-Za-z0-9_-]{22}:-?[0-9]{1,10}")


def handle(request: Request) -> dict[str, Any]:
    if request.version >= BATCHES_SINCE:
        return {"coordinators": [row(request, key) | {"key": key} for key in request.body["coordinatorKeys"]]}
    return row(request, request.body["key"])


def row(request: Request, key: str) -> dict[str, Any]:
    kind = request.body.get("keyType", CoordinatorType.GROUP)
    if code := request.fault() or check(request, key, kind):
        return nobody(request, code)
    node_id = request.services.coordinators.node(TOPICS[kind], key)
    node = next((each for each in request.endpoints() if each["nodeId"] == node_id), None)
    if node is None:
        return nobody(request, NOT_AVAILABLE)
    found = {name: node[name] for name in ("nodeId", "host", "port")}
    return {"errorCode": 0, "errorMessage": text_of(request, 0)} | found


def nobody(request: Request, code: int) -> dict[str, Any]:
    return {"errorCode": code, "errorMessage": text_of(request, code), "nodeId": -1, "host": "", "port": -1}


def text_of(request: Request, code: int) -> str:
    """Return the error message as in Kafka: the error's name, "" from v4 on."""
    return "" if request.version >= BATCHES_SINCE else error_name(code)


def check(request: Request, key: str, kind: int) -> int:
    if kind not in TOPICS or (kind == CoordinatorType.SHARE and not SHARE_KEY.fullmatch(key)):
        return error_code("INVALID_REQUEST")
    if kind == CoordinatorType.SHARE:
        return 0 if request.may(Operation.CLUSTER_ACTION) else error_code("CLUSTER_AUTHORIZATION_FAILED")
    return request.denial(Resource.GROUP if kind == CoordinatorType.GROUP else Resource.TRANSACTIONAL_ID, key)
