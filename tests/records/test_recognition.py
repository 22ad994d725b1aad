"""Logs are recognized by their first bytes."""

from pathlib import Path

import pytest

from kcli.records.builder import build_batch, build_control_batch, build_marker, build_message_set
from kcli.records.recognition import LOOKED_AT, is_metadata, segment_name, starts_log

LONG = bytes(range(256)) * 40
LEADER_CHANGE, HEADER = (b"\0\0\0" + bytes([kind]) for kind in (2, 3))


def control(key: bytes, offset: int = 0) -> bytes:
    return build_control_batch([(key, bytes(8))], 1_700_000_000_000, offset)


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_of_magic_2(codec: str, long: bool) -> None:
    data = build_batch([(0, None, LONG if long else b"v", ())], codec=codec, offsets=[7])
    assert starts_log(data[:LOOKED_AT]) and starts_log((data * 99)[:LOOKED_AT])
    damaged = bytearray(data)
    damaged[-1] ^= 1
    assert not starts_log(bytes(damaged)) or len(data) > LOOKED_AT


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy"])
def test_message_sets(magic: int, codec: str) -> None:
    import random

    value = random.Random(34).randbytes(2 * LOOKED_AT)
    for key, content in ((None, b"v"), (b"k", b"v"), (None, value)):
        assert starts_log(build_message_set([(0, key, content)], magic=magic, codec=codec)[:LOOKED_AT])


def test_what_is_no_log(samples: Path) -> None:
    produce = bytes.fromhex("0000000900000001000161020002fff0007530") + bytes(2 * LOOKED_AT)
    for data in (
        b"",
        bytes(17),
        bytes(LOOKED_AT),
        produce[:LOOKED_AT],
        (samples / "tls.pcap").read_bytes()[:LOOKED_AT],
    ):
        assert not starts_log(data)


def test_kraft(samples: Path) -> None:
    data = b"".join([control(LEADER_CHANGE), build_batch([(0, None, b"v", ())], 1)])
    assert (is_metadata(data), segment_name(data)) == (True, "00000000000000000000.log")
    assert (is_metadata(control(HEADER)), segment_name(control(HEADER))) == (True, None)
    assert segment_name(control(LEADER_CHANGE, 53)) == "00000000000000000053.log"
    for other in (build_marker(True, 0, 0, 1, 0, 0), build_batch([(0, None, b"v", ())]), b"", control(b"")):
        assert not is_metadata(other) and segment_name(other) is None
