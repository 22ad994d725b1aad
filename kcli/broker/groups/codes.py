"""Error codes in the responses of group APIs."""

from kcli.schemas.errors import error_code

UNKNOWN_MEMBER, ILLEGAL_GENERATION = error_code("UNKNOWN_MEMBER_ID"), error_code("ILLEGAL_GENERATION")
REBALANCING, FENCED = error_code("REBALANCE_IN_PROGRESS"), error_code("FENCED_INSTANCE_ID")
INVALID_GROUP = error_code("INVALID_GROUP_ID")
INCONSISTENT = error_code("INCONSISTENT_GROUP_PROTOCOL")


def no_group(group_id: str) -> int:
    """Return the error code of an empty group id, else 0."""
    return 0 if group_id else INVALID_GROUP
