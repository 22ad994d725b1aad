"""Numbers in the fields of messages about ACLs, with the names of Kafka's enums."""

from enum import IntEnum


class Resource(IntEnum):
    """The type of a resource in an ACL (ResourceType)."""

    UNKNOWN, ANY, TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = range(8)


class Operation(IntEnum):
    """The operation of a client on a resource (AclOperation)."""

    UNKNOWN, ANY, ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION = range(10)
    DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT = range(10, 16)


class Pattern(IntEnum):
    """The type of a resource's name in an ACL (PatternType). MATCH is only for filters, and stands for all types that
    match.
    """

    UNKNOWN, ANY, MATCH, LITERAL, PREFIXED = range(5)


class Permission(IntEnum):
    """The permission of an ACL (AclPermissionType)."""

    UNKNOWN, ANY, DENY, ALLOW = range(4)
