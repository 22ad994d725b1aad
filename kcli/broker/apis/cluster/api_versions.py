"""ApiVersions v0-v5 (KIP-35, KIP-511, KIP-584, KIP-1242).

* A request in a version that the broker does not have gets a v0 response with UNSUPPORTED_VERSION and the versions of
  ApiVersions.
* The features (v3 on) are those of `metadata.features`.
* The client's software name and version (v3 on) are kept with its connection. INVALID_REQUEST if one has characters
  that Kafka does not allow.
* A client that names the cluster and the node that it expects (v5) gets REBOOTSTRAP_REQUIRED from any other node;
  INVALID_REQUEST if it names only one of the two.
* A dialect that replaces messages of Apache's is used only with kcli clients whose software version ends with the
  dialect's name; other clients get Apache's messages. A dialect that only adds messages is used with all clients. A
  feature with the dialect's name tells the client that the broker uses it.
"""

import re
from typing import Any

from kcli.broker.metadata.features import rows as finalized_rows
from kcli.broker.metadata.features import supported_by
from kcli.broker.metadata.registry import offered
from kcli.broker.request import Request
from kcli.client.dialects import feature, spoken
from kcli.schemas.apikeys import API_VERSIONS
from kcli.schemas.catalog import catalog
from kcli.schemas.errors import error_code

SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

LEAST_0_SINCE = 4
NO_NODE = -1


def handle(request: Request) -> dict[str, Any]:
    if not request.api.known:
        mine = offered(request.api.dialect, request.services.release, request.services.answers)[API_VERSIONS]
        rows = [{"apiKey": API_VERSIONS, "minVersion": mine.lo, "maxVersion": mine.hi}]
        return {"errorCode": error_code("UNSUPPORTED_VERSION"), "apiKeys": rows}
    if code := request.fault() or check_software(request) or check_place(request):
        return {"errorCode": code}
    dialect = request.client.dialect
    versions = offered(dialect, request.services.release, request.services.answers)
    rows = [{"apiKey": key, "minVersion": each.lo, "maxVersion": each.hi} for key, each in sorted(versions.items())]
    supported, finalized = features(request)
    return {
        "apiKeys": rows,
        "finalizedFeaturesEpoch": request.metadata.log.end_offset,
        "supportedFeatures": supported + ([feature(dialect)] if dialect is not None else []),
        "finalizedFeatures": finalized,
    }


def features(request: Request) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of supported and of finalized features. Before v4 features with the minimum level 0 are left out
    of the supported ones.
    """
    supported = supported_by(request.services.release)
    rows = [
        {"name": name, "minVersion": each.lo, "maxVersion": each.hi}
        for name, each in sorted(supported.items())
        if each.lo or request.version >= LEAST_0_SINCE
    ]
    return rows, list(finalized_rows(supported, request.metadata.features))


def check_place(request: Request) -> int:
    cluster_id, node_id = request.body.get("clusterId"), request.body.get("nodeId", NO_NODE)
    if (cluster_id is None) != (node_id == NO_NODE):
        return error_code("INVALID_REQUEST")
    expected = cluster_id is None or (cluster_id, node_id) == (request.services.cluster_id, request.node.id)
    return 0 if expected else error_code("REBOOTSTRAP_REQUIRED")


def check_software(request: Request) -> int:
    if request.version < 3:
        return 0
    names = request.body["clientSoftwareName"], request.body["clientSoftwareVersion"]
    if not all(SOFTWARE.fullmatch(name) for name in names):
        return error_code("INVALID_REQUEST")
    request.client.software = names
    dialect = request.services.dialect
    if dialect is not None and catalog(dialect).rewritten:
        # Only with clients that name it, as some of its messages differ from Apache's of the same version.
        request.client.dialect = dialect if names == ("kcli", spoken(dialect)) else None
    return 0
