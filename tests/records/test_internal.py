import base64
import json
from typing import Any

import pytest

from kcli.grammar import messages
from kcli.records.internal import record_members, topic_of


def decoded(topic: str, key: bytes | None, value: bytes | None) -> Any:
    text = record_members(topic)(key, value)
    assert text.startswith(b',"_record":')
    return json.loads(text.removeprefix(b',"_record":'))


def int16(number: int) -> bytes:
    return number.to_bytes(2, "big")


def test_an_offset_commit() -> None:
    key = messages.data("OffsetCommitKey", 0).write({"group": "g", "topic": "t", "partition": 3})
    value = messages.data("OffsetCommitValue", 3).write(
        {"offset": 42, "leaderEpoch": 1, "metadata": "", "commitTimestamp": 9}
    )
    found = decoded("__consumer_offsets", int16(1) + key, int16(3) + value)
    assert found["type"] == "OFFSET_COMMIT"
    assert found["key"] == {"version": 1, "data": {"group": "g", "topic": "t", "partition": 3}}
    assert found["value"]["version"] == 3 and found["value"]["data"]["offset"] == 42
    assert decoded("__consumer_offsets", int16(1) + key, None)["value"] is None


def test_a_value_that_the_message_of_its_old_key_lacks_is_of_the_newer_one() -> None:
    old = int16(0) + KEY[2:]
    assert decoded("__consumer_offsets", old, VALUE)["value"]["data"] == VALUE_1
    value = {"offset": 42, "metadata": "m", "commitTimestamp": 9}
    written = int16(0) + messages.data("LegacyOffsetCommitValue", 0).write(value)
    assert decoded("__consumer_offsets", old, written)["value"]["data"] == value


def test_a_transaction() -> None:
    key = messages.data("TransactionLogKey", 0).write({"transactionalId": "tx"})
    value = messages.data("TransactionLogValue", 0).write(
        {
            "producerId": 5,
            "producerEpoch": 1,
            "transactionTimeoutMs": 10,
            "transactionStatus": 0,
            "transactionPartitions": [],
            "transactionLastUpdateTimestampMs": 7,
            "transactionStartTimestampMs": 6,
        }
    )
    found = decoded("__transaction_state", int16(0) + key, int16(0) + value)
    assert found["type"] == "TRANSACTION_LOG" and found["key"]["data"] == {"transactionalId": "tx"}
    assert found["value"]["data"]["producerId"] == 5


def test_a_metadata_record() -> None:
    fields = messages.data("TopicRecord", 0).write({"name": "t", "topicId": "A" * 22})
    found = decoded("__cluster_metadata", None, b"\1\2\0" + fields)
    assert found == {"type": "TOPIC_RECORD", "version": 0, "data": {"name": "t", "topicId": "A" * 22}}


@pytest.mark.parametrize(
    ("topic", "key", "value", "reason"),
    [
        ("__consumer_offsets", None, b"", "needs a key"),
        ("__consumer_offsets", b"\x7f\0x", b"", "no group record of type 32512"),
        ("__consumer_offsets", int16(1) + b"\0\xff", None, "group"),
        ("__cluster_metadata", None, None, "without a value"),
        ("__cluster_metadata", None, b"\2\2\0", "frame version 2"),
        ("__cluster_metadata", None, b"\1\xff\1\0", "type 255"),
        ("__cluster_metadata", None, b"\1\xff\xff\xff\xff\xff\xff", "varint"),
    ],
)
def test_what_cannot_be_decoded_keeps_its_bytes(
    topic: str, key: bytes | None, value: bytes | None, reason: str
) -> None:
    found = decoded(topic, key, value)
    assert reason in found["reason"] and (found["key"] is None) == (key is None)


def test_the_folder_says_which_topic() -> None:
    assert topic_of("__consumer_offsets-12") == "__consumer_offsets"
    assert topic_of("__cluster_metadata-0") == "__cluster_metadata"
    assert topic_of("orders-0") is None and topic_of("__consumer_offsets") is None
    assert topic_of("__consumer_offsets-3.0123-delete") == "__consumer_offsets"


KEY = int16(1) + messages.data("OffsetCommitKey", 0).write({"group": "g", "topic": "t", "partition": 3})
VALUE_1 = {"offset": 42, "metadata": "", "commitTimestamp": 9, "expireTimestamp": -1}
VALUE = int16(1) + messages.data("OffsetCommitValue", 1).write(VALUE_1)


@pytest.mark.parametrize(
    ("value", "reason", "data"),
    [
        (VALUE[:-3], "OffsetCommitValue v1: expireTimestamp", {"offset": 42, "metadata": "", "commitTimestamp": 9}),
        (VALUE + b"?", "1 byte is left behind it", {"offset": 42, "metadata": "", "commitTimestamp": 9}),
        (int16(99) + b"?", "99", {}),
        (b"\0", "has 1 byte", {}),
    ],
)
def test_a_key_is_shown_though_its_value_can_not_be_read(value: bytes, reason: str, data: dict[str, Any]) -> None:
    found = decoded("__consumer_offsets", KEY, value)
    assert found["key"]["data"] == {"group": "g", "topic": "t", "partition": 3} and found["type"] == "OFFSET_COMMIT"
    assert reason in found["reason"] and base64.b64decode(found["value"]["base64"]) == value
    assert found["value"].get("data", {}).items() >= data.items()


def test_a_key_that_can_not_be_read_is_named_with_its_version() -> None:
    for number in (0, 1):
        assert (
            f"OffsetCommitKey v{number}:" in decoded("__consumer_offsets", int16(number) + KEY[2:-1], VALUE)["reason"]
        )


def test_what_members_of_groups_said_is_shown_when_asked_for() -> None:
    subscription = int16(0) + messages.data("ConsumerProtocolSubscription", 0).write({"topics": ["orders"]})
    member = {"memberId": "m", "clientId": "c", "clientHost": "h", "rebalanceTimeout": 1, "sessionTimeout": 1}
    group = {"protocolType": "consumer", "generation": 1, "protocol": "range", "leader": "m"}
    value = int16(1) + messages.data("GroupMetadataValue", 1).write(
        group | {"members": [member | {"subscription": subscription, "assignment": b""}]}
    )
    key = int16(2) + messages.data("GroupMetadataKey", 0).write({"group": "g"})
    for embedded in (False, True):
        row = json.loads(b"{" + record_members("__consumer_offsets", embedded=embedded)(key, value)[1:] + b"}")
        shown = row["_record"]["value"]["data"]["members"][0]
        assert ("_subscription" in shown) == embedded
    assert shown["_subscription"]["data"]["topics"] == ["orders"]
