"""The rules of StandardAuthorizer, case by case."""

import pytest

from kcli.broker.configs import Configs
from kcli.broker.security.acls import CLASS, Acl, AclFilter, Authorizer, acl_fault, authorizer_of
from kcli.errors import UsageError
from kcli.schemas.acl_codes import Operation, Pattern, Permission, Resource

ALICE, BOB = "User:alice", "User:bob"
HERE, THERE = "127.0.0.1", "10.0.0.1"


def acl(
    name: str,
    operation: Operation,
    *,
    pattern: Pattern = Pattern.LITERAL,
    principal: str = ALICE,
    host: str = "*",
    permission: Permission = Permission.ALLOW,
    kind: Resource = Resource.TOPIC,
) -> Acl:
    return Acl(kind, name, pattern, principal, host, operation, permission)


def authorizer(*acls: Acl, **configs: str) -> Authorizer:
    named = {name.replace("_", "."): text for name, text in configs.items()}
    return Authorizer(Configs(named), {str(at): each for at, each in enumerate(acls)})


def may(rules: Authorizer, operation: Operation, name: str = "orders", who: str = ALICE, host: str = HERE) -> bool:
    return rules.allows(who, host, operation, Resource.TOPIC, name)


def test_nobody_may_without_an_acl() -> None:
    assert not may(authorizer(), Operation.READ)
    assert may(authorizer(super_users="User:root; User:alice"), Operation.READ)
    everybody = authorizer(acl("x", Operation.READ), allow_everyone_if_no_acl_found="true")
    assert may(everybody, Operation.READ) and not may(everybody, Operation.READ, "x", BOB)


def test_who_is_meant() -> None:
    rules = authorizer(acl("orders", Operation.READ, host=HERE))
    assert may(rules, Operation.READ)
    assert not may(rules, Operation.READ, who=BOB)
    assert not may(rules, Operation.READ, host=THERE)
    assert not may(rules, Operation.READ, "orders2")
    assert not may(rules, Operation.WRITE)
    assert may(authorizer(acl("*", Operation.READ, principal="User:*")), Operation.READ, "any", BOB)
    prefixed = authorizer(acl("ord", Operation.ALL, pattern=Pattern.PREFIXED))
    assert may(prefixed, Operation.ALTER) and not may(prefixed, Operation.ALTER, "or")
    assert not rules.allows(ALICE, HERE, Operation.READ, Resource.GROUP, "orders")


def test_what_is_denied_stays_denied() -> None:
    denied = acl("*", Operation.WRITE, principal="User:*", permission=Permission.DENY)
    rules = authorizer(acl("orders", Operation.ALL), denied)
    assert not may(rules, Operation.WRITE) and may(rules, Operation.READ)
    assert not may(
        authorizer(
            acl("orders", Operation.READ),
            acl("ord", Operation.ALL, pattern=Pattern.PREFIXED, permission=Permission.DENY),
        ),
        Operation.READ,
    )


@pytest.mark.parametrize("given", [Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER])
def test_describe_is_implied_where_it_is_allowed(given: Operation) -> None:
    assert may(authorizer(acl("orders", given)), Operation.DESCRIBE)
    denied = authorizer(acl("orders", given, permission=Permission.DENY), acl("orders", Operation.DESCRIBE))
    assert may(denied, Operation.DESCRIBE)


def test_configs_are_described_by_who_alters_them() -> None:
    assert may(authorizer(acl("orders", Operation.ALTER_CONFIGS)), Operation.DESCRIBE_CONFIGS)
    assert not may(authorizer(acl("orders", Operation.DESCRIBE_CONFIGS)), Operation.ALTER_CONFIGS)


def test_some_resource_of_a_type() -> None:
    def some(*acls: Acl) -> bool:
        return authorizer(*acls).allows_any(ALICE, HERE, Operation.WRITE, Resource.TOPIC)

    denied = {"operation": Operation.WRITE, "permission": Permission.DENY}
    assert not some() and some(acl("orders", Operation.WRITE))
    assert not some(acl("orders", Operation.WRITE), acl("*", **denied))  # type: ignore[arg-type]
    assert not some(acl("orders", Operation.WRITE), acl("or", pattern=Pattern.PREFIXED, **denied))  # type: ignore[arg-type]
    assert some(acl("o", Operation.WRITE, pattern=Pattern.PREFIXED), acl("or", pattern=Pattern.PREFIXED, **denied))  # type: ignore[arg-type]
    assert not some(acl("orders", Operation.WRITE), acl("orders", **denied))  # type: ignore[arg-type]


def test_filters() -> None:
    one = acl("ord", Operation.READ, pattern=Pattern.PREFIXED)
    everything = AclFilter(Resource.ANY, None, Pattern.ANY, None, None, Operation.ANY, Permission.ANY)
    assert everything.matches(one)
    assert everything._replace(name="orders", pattern=Pattern.MATCH).matches(one)
    assert not everything._replace(name="orders", pattern=Pattern.ANY).matches(one)
    assert not everything._replace(name="or", pattern=Pattern.MATCH).matches(one)
    for changes in ({"kind": Resource.GROUP}, {"principal": BOB}, {"host": HERE}, {"operation": Operation.ALL}):
        assert not everything._replace(**changes).matches(one)


def test_acls_that_are_none() -> None:
    fine = acl("t", Operation.READ)
    assert acl_fault(fine) == ""
    for changes in (
        {"pattern": 9},
        {"permission": 9},
        {"operation": 99},
        {"kind": 99},
        {"name": ""},
        {"host": ""},
        {"principal": "alice"},
        {"kind": Resource.CLUSTER, "name": "t"},
    ):
        assert acl_fault(fine._replace(**changes)), changes


def test_another_authorizer_is_not_there() -> None:
    assert authorizer_of(Configs({}), {}) is None
    assert authorizer_of(Configs({"authorizer.class.name": CLASS}), {}) is not None
    with pytest.raises(UsageError, match="StandardAuthorizer expected"):
        authorizer_of(Configs({"authorizer.class.name": "x.Y"}), {})
