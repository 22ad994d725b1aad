"""Records of the metadata log are KRaft's, and nothing else is taken for one."""

import pytest

from kcli.broker.metadata.kraft_records import config_records, decode, encode
from kcli.errors import InputError
from kcli.schemas.field_codes import ConfigResource

TOPIC_RECORD = {"name": "t", "topicId": "Zm9vYmFyYmF6cXV4MTIzNA"}


def test_a_record_is_read_as_it_was_written() -> None:
    assert encode("TopicRecord", 0, TOPIC_RECORD)[:3] == b"\1\2\0"
    assert decode(encode("TopicRecord", 0, TOPIC_RECORD)) == ("TopicRecord", TOPIC_RECORD)


@pytest.mark.parametrize("data", [b"", b"\1\2", b"\2\2\0", b"\1\x7e\0", b"\1\xff\1"])
def test_other_bytes_are_no_record(data: bytes) -> None:
    with pytest.raises(InputError, match="no metadata record"):
        decode(data)


def test_configs_of_a_topic() -> None:
    rows = config_records(ConfigResource.TOPIC, "t", {"retention.ms": "5", "cleanup.policy": None})
    assert [(value["name"], value["value"]) for _, _, value in rows] == [
        ("retention.ms", "5"),
        ("cleanup.policy", None),
    ]
    assert all(name == "ConfigRecord" and decode(encode(name, version, value)) for name, version, value in rows)
