import pytest

from kcli.core.codec.varints import write_unsigned
from kcli.errors import DecodeError
from kcli.schemas.catalog import catalog
from kcli.snapshots.reading.decoding import Decoder, upper_snake
from tests.snapshots.made import TOPIC_ID, partition


def test_names_are_kafka_s() -> None:
    assert upper_snake("PartitionRecord") == "PARTITION_RECORD"
    assert upper_snake("ZkMigrationStateRecord") == "ZK_MIGRATION_STATE_RECORD"
    assert Decoder().type_names[18] == "ACCESS_CONTROL_ENTRY_RECORD"


def test_every_type_and_version_there_ever_was_has_a_codec() -> None:
    decoder, count = Decoder(), 0
    for key, name in decoder.names.items():
        for version in catalog().message(name).versions:
            assert decoder.codec(key, version) is not None
            count += 1
    assert count >= 38
    assert {6, 16, 21, 28, 29} <= decoder.names.keys()


def test_what_is_unknown_is_said() -> None:
    decoder = Decoder()
    assert decoder.codec(99, 0) is None
    assert decoder.codec(2, 7) is None
    assert decoder.why_unknown(99, 0) == "unknown record type 99"
    assert "TopicRecord v7 is unknown" in decoder.why_unknown(2, 7)
    with pytest.raises(DecodeError, match="unknown record type 99"):
        decoder.read(99, 0, memoryview(b""))
    with pytest.raises(DecodeError, match="SNAPSHOT_HEADER version 5 is unknown"):
        decoder.read_control(3, memoryview(b"\0\5" + bytes(9)))
    with pytest.raises(DecodeError, match="unknown control record type 77"):
        decoder.read_control(77, memoryview(b"\0\0"))
    assert "0 bytes" in decoder.why_unknown_control(4, memoryview(b""))


def test_a_message_takes_its_bytes_to_the_last() -> None:
    decoder = Decoder()
    framed = decoder.write("PartitionRecord", 1, partition(4))
    assert decoder.read_framed(framed)["partitionId"] == 4
    with pytest.raises(DecodeError, match="1 bytes after the end"):
        decoder.read_framed(framed + b"\0")
    with pytest.raises(DecodeError):
        decoder.read_framed(framed[:-5])


def test_layouts_of_old_releases_are_found_by_what_fits() -> None:
    decoder = Decoder()
    plain = b"\0\6orders" + bytes(range(16))  # 2.8: no compact lengths, no tags
    assert decoder.read(2, 0, memoryview(plain))["name"] == "orders"
    levels = b"\0\7feature\0\1\0\3"
    assert decoder.read(12, 0, memoryview(levels))["maxFeatureLevel"] == 3


def test_varints() -> None:
    assert (write_unsigned(1), write_unsigned(300)) == (b"\1", b"\xac\2")
    assert TOPIC_ID
