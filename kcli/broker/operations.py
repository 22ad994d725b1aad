"""The operations that a client is authorized for, in responses (KIP-430)."""

from collections.abc import Mapping

from kcli.broker.request import Request
from kcli.broker.security.acls import CLUSTER_NAME
from kcli.schemas.acl_codes import Operation, Resource

Op = Operation
CONFIGS = (Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS)
# The operations of each resource type in Kafka.
OPERATIONS: Mapping[Resource, tuple[Operation, ...]] = {
    Resource.TOPIC: (Op.READ, Op.WRITE, Op.CREATE, Op.DELETE, Op.ALTER, Op.DESCRIBE, *CONFIGS),
    Resource.GROUP: (Op.READ, Op.DELETE, Op.DESCRIBE, *CONFIGS),
    Resource.CLUSTER: (Op.CREATE, Op.ALTER, Op.DESCRIBE, Op.CLUSTER_ACTION, *CONFIGS, Op.IDEMPOTENT_WRITE),
}
NOT_ASKED = -(1 << 31)


def allowed(request: Request, field: str, kind: Resource, name: str = CLUSTER_NAME) -> int:
    """Return the bits of the operations that the client is authorized for: NOT_ASKED if the request's field is false,
    0 for the cluster if the client may not describe it. field: "" if the API always returns them.
    """
    if not request.body.get(field, field == ""):
        return NOT_ASKED
    if kind == Resource.CLUSTER and not request.may(Op.DESCRIBE):
        return 0
    return sum(1 << each for each in OPERATIONS[kind] if request.may(each, kind, name))
