"""From tables to grammars. Every message of every version goes both ways in tests/test_every_message.py."""

import pytest

from kcli.errors import SchemaError
from kcli.grammar import messages


def test_a_codec_is_made_once() -> None:
    assert messages.request(1, 12) is messages.request(1, 12)


def test_headers_follow_the_version() -> None:
    assert messages.request_header(1, 11).version == 1
    assert messages.request_header(1, 12).version == 2
    assert messages.request_header(7, 0).version == 0
    assert messages.response_header(1, 12).version == 1
    assert messages.response_header(18, 3).version == 0
    assert messages.request_header(9999, 0).version == 2


def test_what_the_tables_lack_is_said() -> None:
    with pytest.raises(SchemaError, match="api key 9999 is unknown"):
        messages.request(9999, 0)
    with pytest.raises(SchemaError, match="FetchRequest v99 is unknown: the tables have 0-18"):
        messages.request(1, 99)


def test_an_unknown_message_is_all_trailing_bytes() -> None:
    codec = messages.unknown("request", 9999, 3)
    value = codec.read_whole(b"abc")
    assert value == {"_trailing": b"abc"}
    assert codec.write(value) == b"abc"


def test_the_client_id_of_a_flexible_header_is_a_classic_string() -> None:
    header = {"requestApiKey": 1, "requestApiVersion": 12, "correlationId": 7, "clientId": "c"}
    assert messages.request_header(1, 12).write(header) == b"\0\1\0\x0c\0\0\0\7\0\1c\0"


def test_a_dialect_has_codecs_of_its_own() -> None:
    drafted = messages.request(1, 18, "kip-1018")
    assert drafted is not messages.request(1, 18)
    assert b"remotePartitionMaxBytes" in drafted.json(drafted.write({"topics": [{"partitions": [{}]}]}))[0]


def test_a_tagged_struct_is_null_by_a_zero() -> None:
    """Unlike one in the plain order, whose null is -1; the bytes are those of Kafka 4.4's own classes."""
    codec = messages.data("ConsumerGroupMemberMetadataValue", 0)
    data = bytes.fromhex("01010101020101ffffffff0101000100")
    value = codec.read_whole(data)
    assert value["classicMemberMetadata"] is None
    assert codec.write(value) == data
