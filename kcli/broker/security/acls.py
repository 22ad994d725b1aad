"""Access control lists by the rules of Kafka's StandardAuthorizer.

* A superuser is allowed everything. For others an ACL that denies an operation overrides all that allow it.
* Read, Write, Delete and Alter allow Describe, too; AlterConfigs allows DescribeConfigs.
* For a resource without ACLs `allow.everyone.if.no.acl.found` decides.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kcli.broker.configs import Configs
from kcli.errors import UsageError
from kcli.schemas.acl_codes import Operation, Pattern, Permission, Resource

CLASS = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
CLUSTER_NAME = "kafka-cluster"
ANONYMOUS = "User:ANONYMOUS"
WILDCARD = "*"
ANYBODY = "User:*"


IMPLIED_BY: Mapping[Operation, frozenset[int]] = {
    Operation.DESCRIBE: frozenset([Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER]),
    Operation.DESCRIBE_CONFIGS: frozenset([Operation.ALTER_CONFIGS]),
}


class Acl(NamedTuple):
    """An ACL. kind, pattern, operation, permission: Kafka's numbers; name: of the resource."""

    kind: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int

    def takes_name(self, name: str) -> bool:
        """Return whether the ACL applies to the resource with this name."""
        if self.pattern == Pattern.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, WILDCARD)

    def takes_client(self, principal: str, host: str) -> bool:
        """Return whether the ACL applies to this principal at this address."""
        return self.principal in (principal, ANYBODY) and self.host in (host, WILDCARD)

    def takes_operation(self, operation: Operation) -> bool:
        """Return whether the ACL applies to this operation: it allows or denies it."""
        if self.operation in (Operation.ALL, operation):
            return True
        return self.permission == Permission.ALLOW and self.operation in IMPLIED_BY.get(operation, ())


class AclFilter(NamedTuple):
    """A filter of ACLs. None and ANY match everything."""

    kind: int
    name: str | None
    pattern: int
    principal: str | None
    host: str | None
    operation: int
    permission: int

    @property
    def is_known(self) -> bool:
        """Return whether Kafka knows all numbers of the filter."""
        known = self.kind in list(Resource) and self.pattern in list(Pattern)
        return known and self.operation in list(Operation) and self.permission in list(Permission)

    def matches(self, acl: Acl) -> bool:
        """Return whether an ACL matches."""
        return (
            self.kind in (Resource.ANY, acl.kind)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.takes_pattern(acl)
        )

    def takes_pattern(self, acl: Acl) -> bool:
        """Return whether the name and pattern of an ACL's resource match."""
        if self.pattern == Pattern.MATCH:
            return self.name is None or acl.takes_name(self.name)
        return self.pattern in (Pattern.ANY, acl.pattern) and self.name in (None, acl.name)


class Authorizer:
    """Decides by superusers and ACLs. acls: by id."""

    def __init__(self, configs: Configs, acls: Mapping[str, Acl]) -> None:
        self.acls = acls
        self.superusers = {each.strip() for each in configs.text("super.users").split(";") if each.strip()}
        self.open = configs.bool("allow.everyone.if.no.acl.found")

    def allows(self, principal: str, host: str, operation: Operation, kind: Resource, name: str) -> bool:
        """Return whether a principal at a host may perform an operation on a resource."""
        if principal in self.superusers:
            return True
        about = [each for each in self.acls.values() if each.kind == kind and each.takes_name(name)]
        if not about:
            return self.open
        return decided(each for each in about if each.takes_client(principal, host) and each.takes_operation(operation))

    def allows_any(self, principal: str, host: str, operation: Operation, kind: Resource) -> bool:
        """Return whether a principal at a host may perform an operation on at least one resource of a type."""
        if principal in self.superusers or self.allows(principal, host, operation, kind, "hardcode"):
            return True
        about = [
            each
            for each in self.acls.values()
            if each.kind == kind and each.takes_client(principal, host) and each.takes_operation(operation)
        ]
        denied = [each for each in about if each.permission == Permission.DENY]
        return any(each.permission == Permission.ALLOW and not covered(each, denied) for each in about)


def decided(found: Iterable[Acl]) -> bool:
    permissions = {each.permission for each in found}
    return Permission.DENY not in permissions and Permission.ALLOW in permissions


def covered(acl: Acl, denied: Iterable[Acl]) -> bool:
    """Return whether one of the denying ACLs applies to all resources that an allowing one applies to."""
    prefixed = acl.pattern == Pattern.PREFIXED
    return any(
        each.name == WILDCARD
        or (each.pattern == Pattern.PREFIXED and acl.name.startswith(each.name))
        or (not prefixed and each.pattern == Pattern.LITERAL and each.name == acl.name)
        for each in denied
    )


def authorizer_of(configs: Configs, acls: Mapping[str, Acl]) -> Authorizer | None:
    """Make the authorizer by authorizer.class.name; None if that is empty. Raises UsageError for any other class."""
    name = configs.text("authorizer.class.name")
    if name not in ("", CLASS):
        raise UsageError(f"authorizer.class.name={name}: {CLASS} expected")
    return Authorizer(configs, acls) if name else None


def is_concrete(acl: Acl) -> bool:
    """Return whether an ACL has no value that is only for filters."""
    pattern = acl.pattern not in (Pattern.ANY, Pattern.MATCH)
    return pattern and acl.kind != Resource.ANY and acl.operation != Operation.ANY and acl.permission != Permission.ANY


def has_unknown(*numbers: int) -> bool:
    """Return whether one of a request's numbers is 0 (UNKNOWN), which Kafka refuses to parse."""
    return 0 in numbers


def acl_fault(acl: Acl) -> str:
    """Return why an ACL is invalid, "" if it is valid (Kafka's AclControlManager)."""
    known = (("patternType", acl.pattern, Pattern), ("permissionType", acl.permission, Permission))
    for name, number, numbers in (
        *known,
        ("operation", acl.operation, Operation),
        ("resourceType", acl.kind, Resource),
    ):
        if number not in list(numbers):
            return f"Invalid {name} UNKNOWN"
    if not acl.name:
        return "Resource name should not be empty"
    if not acl.host:
        return "Host should not be empty"
    if ":" not in acl.principal:
        return f"Could not parse principal from `{acl.principal}`: no colon separates its type from its name"
    if acl.kind == Resource.CLUSTER and acl.name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    return ""


def by_resource(acls: Iterable[Acl]) -> Iterator[tuple[tuple[int, str, int], list[Acl]]]:
    """Group ACLs by resource; yield each (kind, name, pattern) with its ACLs."""
    found: dict[tuple[int, str, int], list[Acl]] = {}
    for each in acls:
        found.setdefault(each[:3], []).append(each)
    yield from found.items()
