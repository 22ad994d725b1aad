"""What members of groups say to each other; `tests/real/test_group_data.py` has what Connect and Streams write."""

import base64
from itertools import pairwise
from typing import Any

import pytest

from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.group_data import (
    GROUPS,
    NUMBERED_INSIDE,
    VERSION_IN_FRONT,
    add_group_data,
    group_data_spans,
    open_data,
)
from kcli.jsontext import loads
from kcli.schemas.catalog import catalog


def written(name: str, version: int, value: dict[str, Any]) -> bytes:
    front = b"" if name in NUMBERED_INSIDE else version.to_bytes(2, "big")
    return front + messages.data(name, version).write(value)


STREAMS = written("SubscriptionInfoData", 11, {"version": 11, "userEndPoint": b"a:1", "errorCode": 3})
CONSUMER = written("ConsumerProtocolSubscription", 1, {"topics": ["orders"], "userData": STREAMS})
ALLOCATION = written("ConnectProtocolAssignment", 2, {"leader": "a", "delay": 5})
WORKER = written("ConnectProtocolSubscription", 2, {"url": "http://a/", "allocation": ALLOCATION})
ASSIGNED = written("ConsumerProtocolAssignment", 0, {"assignedPartitions": [{"topic": "t", "partitions": [1]}]})


def shown(name: str, version: int, value: dict[str, Any]) -> dict[str, Any]:
    codec = messages.data(name, version)
    body: dict[str, Any] = loads(codec.json(codec.write(value))[0])
    add_group_data(name, body)
    return body


def spans(name: str, version: int, value: dict[str, Any]) -> dict[str, Any]:
    codec = messages.data(name, version)
    data = codec.write(value)
    found = group_data_spans(name, codec.spans(data))
    assert [span.start for span in found] == sorted(span.start for span in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert found[-1].end == len(data)
    return {span.path: span.value for span in found}


def join(type_: str, name: str, data: bytes) -> dict[str, Any]:
    return {"protocolType": type_, "protocols": [{"name": name, "metadata": data}]}


def test_consumers_and_streams() -> None:
    [protocol] = shown("JoinGroupRequest", 9, join("consumer", "stream", CONSUMER))["protocols"]
    assert base64.b64decode(protocol["metadata"]) == CONSUMER
    data = protocol["_metadata"]["data"]
    assert (protocol["_metadata"]["type"], protocol["_metadata"]["version"]) == ("ConsumerProtocolSubscription", 1)
    assert data["topics"] == ["orders"] and data["_userData"]["version"] == 11
    assert data["_userData"]["data"]["errorCode"] == 3
    [protocol] = shown("JoinGroupRequest", 9, join("consumer", "range", CONSUMER))["protocols"]
    assert "_userData" not in protocol["_metadata"]["data"]
    found = spans("JoinGroupRequest", 9, join("consumer", "stream", CONSUMER))
    assert found["protocols[0].metadata.topics[0]"] == "orders" and found["protocols[0].metadata"] == len(CONSUMER)
    assert found["protocols[0].metadata.userData.errorCode"] == 3


def test_connect() -> None:
    [protocol] = shown("JoinGroupRequest", 0, join("connect", "sessioned", WORKER))["protocols"]
    data = protocol["_metadata"]["data"]
    assert protocol["_metadata"]["type"] == "ConnectProtocolSubscription" and data["url"] == "http://a/"
    assert data["_allocation"]["type"] == "ConnectProtocolAssignment" and data["_allocation"]["data"]["delay"] == 5
    assert (
        spans("JoinGroupRequest", 0, join("connect", "sessioned", WORKER))["protocols[0].metadata.allocation.delay"]
        == 5
    )


def test_versions_that_do_not_say_the_protocol() -> None:
    body = shown("SyncGroupRequest", 0, {"assignments": [{"assignment": each} for each in (ASSIGNED, ALLOCATION, b"")]})
    one, other, empty = body["assignments"]
    assert one["_assignment"]["type"] == "ConsumerProtocolAssignment"
    assert other["_assignment"]["type"] == "ConnectProtocolAssignment"
    assert "_assignment" not in empty
    assert shown("SyncGroupResponse", 3, {"assignment": ASSIGNED})["_assignment"]["version"] == 0
    assert "_assignment" not in shown("SyncGroupResponse", 3, {"assignment": b'{"json": 1}'})
    members = [{"metadata": CONSUMER}]
    assert shown("JoinGroupResponse", 2, {"protocolName": "stream", "members": members})["members"][0]["_metadata"][
        "data"
    ]["_userData"]


def test_groups_of_one_answer_have_each_its_type() -> None:
    member = {"memberMetadata": CONSUMER, "memberAssignment": ASSIGNED}
    groups = [
        {"protocolType": "sr", "members": [member]},
        {"protocolType": "consumer", "protocolData": "range", "members": [member]},
    ]
    other, consumer = shown("DescribeGroupsResponse", 5, {"groups": groups})["groups"]
    assert not any(name.startswith("_") for name in other["members"][0])
    assert {"_memberMetadata", "_memberAssignment"} < set(consumer["members"][0])


def test_damaged_bytes_stay_with_a_word_why() -> None:
    [protocol] = shown("JoinGroupRequest", 9, join("consumer", "range", CONSUMER[:-3]))["protocols"]
    assert protocol["_metadata"]["type"] == "ConsumerProtocolSubscription"
    assert protocol["_metadata"]["data"]["topics"] == ["orders"]  # what was read before the damage
    assert "ownedPartitions: needs 4 bytes" in protocol["_metadata"]["reason"]
    codec = messages.data("JoinGroupRequest", 9)
    found = group_data_spans("JoinGroupRequest", codec.spans(codec.write(join("consumer", "range", CONSUMER[:-3]))))
    [span] = [each for each in found if each.path.startswith("protocols[0].metadata")]
    assert span.value == CONSUMER[:-3] and "no ConsumerProtocolSubscription" in span.type
    assert "_metadata" not in shown("JoinGroupRequest", 9, join("consumer", "range", b""))["protocols"][0]


def test_consumers_read_what_is_newer_than_they_know() -> None:
    newer = b"\0\x09" + messages.data("ConsumerProtocolSubscription", 3).write({"topics": ["t"]}) + b"more"
    [protocol] = shown("JoinGroupRequest", 9, join("consumer", "range", newer))["protocols"]
    assert protocol["_metadata"]["version"] == 9 and protocol["_metadata"]["data"]["_trailing"] == "bW9yZQ=="
    assert spans("JoinGroupRequest", 9, join("consumer", "range", newer))["protocols[0].metadata._trailing"] == b"more"
    for name, data in (
        ("ConnectProtocolAssignment", b"\0\x09"),
        ("AssignmentInfo", b"\0\0\0\x0c"),
        ("AssignmentInfo", b"\0"),
    ):
        with pytest.raises(DecodeError, match="version"):
            open_data(name, data)


def test_encode_passes_over_what_was_added() -> None:
    codec = messages.data("JoinGroupRequest", 9)
    body = join("consumer", "stream", CONSUMER)
    assert codec.write(shown("JoinGroupRequest", 9, body)) == codec.write(body)


def test_the_fields_are_there() -> None:
    """Their names are those of the tables."""
    for name, fields in GROUPS.items():
        text = str(catalog().message(name).fields)
        for field in (fields.type, fields.name, *fields.data):
            assert f"name='{field}'" in text, (name, field)
    for name in VERSION_IN_FRONT | NUMBERED_INSIDE:
        assert catalog().message(name).kind == "data"
