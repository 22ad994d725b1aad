"""The operations that a client may do with a resource, in answers to who asks for them (KIP-430): without an authorizer
all that Kafka knows of that kind of resource.
"""

from __future__ import annotations

from kcli.broker.request import Request

# A bit for each of Kafka's AclOperation codes.
READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION = (1 << code for code in range(3, 10))
DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = (1 << code for code in range(10, 13))
TOPIC_OPERATIONS = READ | WRITE | CREATE | DELETE | ALTER | DESCRIBE | DESCRIBE_CONFIGS | ALTER_CONFIGS
CLUSTER_OPERATIONS = CREATE | ALTER | DESCRIBE | CLUSTER_ACTION | DESCRIBE_CONFIGS | ALTER_CONFIGS | IDEMPOTENT_WRITE
GROUP_OPERATIONS = READ | DELETE | DESCRIBE | DESCRIBE_CONFIGS | ALTER_CONFIGS
NOT_ASKED = -(1 << 31)


def allowed(request: Request, field: str, operations: int) -> int:
    """Return the operations where the request's field asks for them."""
    return operations if request.body.get(field) else NOT_ASKED
