"""Values of definitions as Kafka's generator takes them."""

import pytest

from kcli.schemas.checks.generator_rules import wrong_default, wrong_entity


@pytest.mark.parametrize(
    ("kind", "text", "taken"),
    [
        ("int8", "127", True),
        ("int8", "0x80", False),
        ("uint32", "4294967295", True),
        ("bool", "TRUE", True),
        ("float64", "1e3", True),
        ("uuid", "AAAAAAAAAAAAAAAAAAAAAQ", True),
        ("uuid", "AAAA", False),
        ("string", "anything", True),
        ("bytes", "x", False),
    ],
)
def test_defaults(kind: str, text: str, taken: bool) -> None:
    assert (wrong_default(kind, text) == "") == taken


def test_entities() -> None:
    assert wrong_entity("brokerId", "[]int32") == "" and "is a int32" in wrong_entity("brokerId", "string")
