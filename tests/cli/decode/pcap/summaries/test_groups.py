"""Summaries of groups and their offsets."""

import pytest

from kcli.cli.decode.pcap.summaries.groups import find_coordinator, leave_group
from tests.capture.wires import SAMPLES
from tests.cli.decode.pcap.summaries.exchanges import summary_of


@pytest.mark.parametrize(
    ("api", "number", "text"),
    [
        ("FIND_COORDINATOR", 1, "transaction pay-1 -> 1 at 127.0.0.1:21000"),
        ("JOIN_GROUP", 0, "pay as new member -> generation -1, no protocol"),
        ("OFFSET_FETCH", 0, "pay: pay-in[0, 1] -> 0 of 2 partitions committed"),
        ("TXN_OFFSET_COMMIT", 0, "pay: pay-in[0] 16, pay-in[1] 17"),
    ],
)
def test_groups_and_their_offsets(api: str, number: int, text: str) -> None:
    assert summary_of(SAMPLES / "java44-txn.pcap", api, number) == text


def test_who_leaves_and_why() -> None:
    reason = "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer"
    left = {"groupId": "g", "members": [
        {"memberId": "m-1", "groupInstanceId": None, "reason": reason},
        {"memberId": "", "groupInstanceId": "i-2", "reason": None},
    ]}  # fmt: skip
    asked, _ = leave_group(left, {})
    assert asked == f"g: m-1 ({reason[:80]}… (100 characters)), i-2"
    assert leave_group({"groupId": "g", "memberId": "m"}, {}) == ("g: m", "")


@pytest.mark.parametrize(("kind", "word"), [({}, "group"), ({"keyType": 0}, "group"), ({"keyType": 2}, "share group")])
def test_whose_coordinator_is_looked_for(kind: dict[str, int], word: str) -> None:
    assert find_coordinator({"key": "g"} | kind, {}) == (f"{word} g", "")
