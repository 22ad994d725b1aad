"""Batches as Kafka's Java producer writes them."""

from typing import Any

import pytest

from kcli.jsontext import loads
from kcli.records import build_batch, build_marker
from kcli.records.encoding import encode_batch
from kcli.records.java import java_batches, java_batches_of
from kcli.records.text import batches_json

ROWS: list[Any] = [(5, b"k", b"v", ()), (7, None, b"w", [(b"h", b"x")])]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_the_producer_writes_stays(codec: str) -> None:
    batch = encode_batch({"compression": codec, "records": [{"timestamp": 5, "value": "v" * 500}]})
    assert java_batches(batch) == batch
    assert java_batches(batch + batch) == batch * 2
    assert java_batches(b"") == b""


def test_what_a_broker_or_a_careless_client_wrote_is_written_anew() -> None:
    batch = build_batch(ROWS)
    [row] = loads(batches_json(batch, secrets=True))
    odd = row | {"baseOffset": 40, "lastOffset": 41, "partitionLeaderEpoch": 3, "maxTimestamp": 9, "_attributes": 0x80}
    odd["records"] = [each | {"offset": each["offset"] + 40} for each in row["records"]]
    other = encode_batch({name: value for name, value in odd.items() if name not in ("_payload", "crc", "crcValid")})
    assert other != batch and java_batches(other) == batch
    wide = bytearray(batch)
    wide[61:62] = bytes([wide[61] | 0x80, 0])  # the first record's length in two bytes
    wide[8:12] = (len(wide) - 12).to_bytes(4, "big")
    assert java_batches(bytes(wide)) == batch


def test_other_compression_is_none_of_the_difference() -> None:
    records = [{"timestamp": 5, "value": "v" * 5000}]
    best = encode_batch({"compression": "gzip", "records": records}, level=9)
    least = encode_batch({"compression": "gzip", "records": records}, level=1)
    assert best != least and java_batches(best) == best and java_batches(least) == least


def test_what_no_producer_sends_stays() -> None:
    marker = build_marker(True, 1, 0, 5, 0, 0)
    old = encode_batch({"magic": 1, "records": [{"timestamp": 5, "value": "v"}]})
    cut = build_batch(ROWS)[:-3]
    for data in (marker, old, cut):
        assert java_batches(data) == data
    assert java_batches_of([{"records": [{"value": "v"}]}])[16] == 2
