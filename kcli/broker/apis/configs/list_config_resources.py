"""ListConfigResources v0-v1 (KIP-714, KIP-1142): the resources that have configs; v0 lists only client metrics."""

from collections.abc import Iterator
from typing import Any

from kcli.broker.request import Request
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import ConfigResource, names_of

KINDS = tuple(sorted(names_of(ConfigResource), reverse=True))[:-1]  # without UNKNOWN
TYPES_SINCE = 1


def handle(request: Request) -> dict[str, Any]:
    known = KINDS if request.version >= TYPES_SINCE else (ConfigResource.CLIENT_METRICS,)
    kinds = request.body.get("resourceTypes") or known
    code = request.fault() or (0 if set(kinds) <= set(KINDS) else error_code("UNSUPPORTED_VERSION"))
    rows = [
        {"resourceName": name, "resourceType": kind} for kind in KINDS if kind in kinds for name in names(request, kind)
    ]
    return {"errorCode": code, "configResources": [] if code else rows}


def names(request: Request, kind: int) -> Iterator[str]:
    """Yield the names of the resources of a type."""
    if kind == ConfigResource.TOPIC:
        yield from request.topics.by_name
    elif kind in (ConfigResource.BROKER, ConfigResource.BROKER_LOGGER):
        yield from (str(each["nodeId"]) for each in request.endpoints())
    else:
        yield from sorted(name for one, name in request.controller.resources if one == kind)
