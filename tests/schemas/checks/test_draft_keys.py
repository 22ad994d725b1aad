"""API keys of drafts: which each message gets, and contradictions."""

import pytest

from kcli.schemas.catalog import catalog
from kcli.schemas.checks.draft_keys import PRIVATE_KEYS, key_faults, names_of_apis, with_keys
from kcli.schemas.model import Message
from kcli.schemas.ranges import NONE, Range


def rpc(name: str, key: int | None) -> Message:
    kind = "request" if name.endswith("Request") else "response"
    return Message(name, kind, key, Range(0, 0), NONE, ())


def test_a_key_stands_with_either_of_a_pair_or_is_handed_out() -> None:
    messages = [rpc("BRequest", None), rpc("BResponse", 31000), rpc("ARequest", None), rpc("AResponse", None)]
    messages += [rpc("FetchRequest", None), rpc("CRequest", 5000)]
    found = {each.name: each.api_key for each in with_keys(catalog(), {"C": 6000}, messages)}
    first = PRIVATE_KEYS[0]
    assert found == {"ARequest": first, "BRequest": 31000, "CRequest": 6000, "FetchRequest": 1,
                     "AResponse": first, "BResponse": 31000}  # fmt: skip
    assert names_of_apis(catalog(), messages) == ["A", "B", "C", "Fetch"]


@pytest.mark.parametrize(
    ("settings", "messages", "expected"),
    [
        ({}, [rpc("ARequest", 30001), rpc("AResponse", 30001)], []),
        ({"A": 30002}, [rpc("ARequest", 30001), rpc("AResponse", 30000)], []),
        ({}, [rpc("ARequest", 30001), rpc("AResponse", 30000)], [("AResponse", "", "keys-differ")]),
        ({}, [rpc("ARequest", 30001), rpc("BRequest", 30001)], [("BRequest", "", "key-twice")]),
        ({"B": 30001}, [rpc("ARequest", 30001), rpc("BRequest", 7)], [("BRequest", "B", "key-twice")]),
        ({"B": 3}, [rpc("BRequest", None)], [("BRequest", "B", "key-taken")]),
        ({"B": 30003}, [rpc("ARequest", 30001)], [("", "B", "api-unknown")]),
        ({}, [rpc("FetchRequest", 30001)], [("FetchRequest", "", "released-key")]),
        ({}, [rpc("ARequest", -1)], [("ARequest", "", "key-range")]),
    ],
)
def test_contradictions(
    settings: dict[str, int], messages: list[Message], expected: list[tuple[str, str, str]]
) -> None:
    assert [fault[:3] for fault in key_faults(catalog(), settings, messages)] == expected
