"""ApiVersions v0-v5 (KIP-35, KIP-511, KIP-584).

* A version that the broker does not have is answered in v0 with UNSUPPORTED_VERSION and the versions of ApiVersions.
* The client's software name and version (v3 on) are kept with its connection; odd ones are INVALID_REQUEST. A dialect
  that this broker has is spoken with a client whose version ends with the dialect's name, which is told so by a
  feature of that name; others get Apache's messages.
"""

from __future__ import annotations

import re
from typing import Any

from kcli.broker.apis import offered
from kcli.broker.calls import Call
from kcli.broker.codes import error_code
from kcli.client.dialects import feature, spoken
from kcli.schemas.apikeys import API_VERSIONS

SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(call: Call) -> dict[str, Any]:
    if not call.route.known:
        mine = offered(call.route.dialect, call.broker.release)[API_VERSIONS]
        rows = [{"apiKey": API_VERSIONS, "minVersion": mine.lo, "maxVersion": mine.hi}]
        return {"errorCode": error_code("UNSUPPORTED_VERSION"), "apiKeys": rows}
    if code := call.fault() or check_software(call):
        return {"errorCode": code}
    dialect = call.connection.dialect
    versions = offered(dialect, call.broker.release)
    rows = [{"apiKey": key, "minVersion": each.lo, "maxVersion": each.hi} for key, each in sorted(versions.items())]
    return {
        "apiKeys": rows,
        "finalizedFeaturesEpoch": 0,
        "supportedFeatures": [feature(dialect)] if dialect is not None else [],
    }


def check_software(call: Call) -> int:
    if call.version < 3:
        return 0
    names = call.body["clientSoftwareName"], call.body["clientSoftwareVersion"]
    if not all(SOFTWARE.fullmatch(name) for name in names):
        return error_code("INVALID_REQUEST")
    call.connection.software = names
    if call.broker.dialect is not None:
        # Spoken with those only who say that they do: its versions are other messages than Apache's of that number.
        mine = names == ("kcli", spoken(call.broker.dialect))
        call.connection.dialect = call.broker.dialect if mine else None
    return 0
