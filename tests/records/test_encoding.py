"""encode(decode(b)) == b, whatever the bytes are."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcli.errors import EncodeError
from kcli.records.encoding import encode_batch, encode_batches
from kcli.records.text import batches_json
from tests.records.vectors import Case, bad, good, mixed_batches


def again(data: bytes) -> bytes:
    return encode_batches(json.loads(batches_json(data)))


@pytest.mark.parametrize("case", [*good(), *bad()], ids=str)
def test_decoded_batches_become_the_same_bytes(case: Case) -> None:
    assert again(case.data) == case.data


@pytest.mark.parametrize("case", [case for case in good() if isinstance(case.converted[1], bytes)], ids=str)
@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_become_the_same_bytes(case: Case, magic: int) -> None:
    data = case.converted[magic]
    assert not data or again(data) == data


@pytest.mark.parametrize("seed", range(8))
def test_damaged_bytes_become_the_same_bytes(seed: int) -> None:
    """Cut anywhere, flipped anywhere: nothing is lost."""
    chance = random.Random(seed)
    segments = [case.data for case in good() if 0 < len(case.data) < 4000]
    for _ in range(120):
        data = bytearray(chance.choice(segments))
        if chance.random() < 0.25:
            del data[chance.randrange(len(data)) :]
        for _ in range(chance.choice((0, 1, 1, 2, 4))):
            if data:
                data[chance.randrange(len(data))] = chance.randrange(256)
        assert not data or again(bytes(data)) == bytes(data)


contents = st.none() | st.binary(max_size=40) | st.text(max_size=20).map(str.encode)
records = st.lists(st.tuples(st.integers(-1, 1 << 50), contents, contents), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(rows=records, codec=st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]), magic=st.sampled_from([0, 1, 2]))
def test_values_come_back_through_every_codec(
    rows: list[tuple[int, bytes | None, bytes | None]], codec: str, magic: int
) -> None:
    if magic < 2 and codec == "zstd":
        codec = "none"
    made = encode_batch(
        {
            "magic": magic,
            "compression": codec,
            "baseOffset": 9,
            "records": [{"timestamp": time, "key": shown(key), "value": shown(value)} for time, key, value in rows],
        }
    )
    found = [record for row in json.loads(batches_json(made)) for record in row["records"]]
    assert [record["offset"] for record in found] == list(range(9, 9 + len(rows)))
    assert [(plain(r["key"]), plain(r["value"])) for r in found] == [(key, value) for _, key, value in rows]
    if magic:
        assert [record["timestamp"] for record in found] == [time for time, _, _ in rows]
    assert again(made) == made


def shown(value: bytes | None) -> Any:
    import base64

    return None if value is None else {"base64": base64.b64encode(value).decode()}


def plain(value: Any) -> bytes | None:
    import base64

    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    return None if value is None else value.encode()


def test_a_misspelt_field_is_refused() -> None:
    with pytest.raises(EncodeError, match=r"^batches\[0\].recrods: no such field \(there are: baseOffset, "):
        encode_batches([{"records": [], "recrods": [{"value": "a"}]}])
    with pytest.raises(EncodeError, match=r"records\[1\].valu: no such field \(there are: headers, key, "):
        encode_batches([{"records": [{"value": "a"}, {"valu": "a"}]}])
    assert encode_batches([{"records": [{"value": "a", "_record": {}}], "_seen": 1}])


def test_edited_records_are_written_anew() -> None:
    rows = json.loads(batches_json(mixed_batches()))
    packed = next(row for row in rows if row["compression"] == "lz4" and row["magic"] == 2)
    packed["records"][0]["value"] = "another"
    (found,) = json.loads(batches_json(encode_batch(packed)))
    assert found["records"][0]["value"] == "another" and found["crcValid"] is True


def test_an_edited_header_keeps_the_stored_payload() -> None:
    row = json.loads(batches_json(mixed_batches()))[1 + 2 * 4]
    assert row["compression"] == "gzip"
    row["partitionLeaderEpoch"] = 77
    (found,) = json.loads(batches_json(encode_batch(row)))
    assert found["partitionLeaderEpoch"] == 77 and found["_payload"] == row["_payload"]


def test_a_batch_of_values_alone() -> None:
    (found,) = json.loads(batches_json(encode_batch({"records": [{"value": "hello"}, {"key": "k", "value": None}]})))
    assert [record["offset"] for record in found["records"]] == [0, 1]
    assert found["producerId"] == -1 and found["crcValid"] is True


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ([], ""),
        ({}, "records"),
        ({"records": [{"value": 5}]}, "records[0].value"),
        ({"records": [{"value": {"base64": "?"}}]}, "records[0].value"),
        ({"records": [{"value": "a", "headers": [{"value": "x"}]}]}, "records[0].headers"),
        ({"records": [7]}, "records[0]"),
        ({"records": 7}, "records"),
        ({"records": [{"value": "\ud800"}]}, "records[0].value"),
        ({"magic": 128, "records": []}, "magic"),
        ({"magic": "2", "records": []}, "magic"),
        ({"compression": "brotli", "records": []}, "compression"),
        ({"magic": 1, "compression": "zstd", "records": [{"value": "a"}]}, "compression"),
        ({"timestampType": "Later", "records": []}, "timestampType"),
        ({"lastOffset": 1 << 40, "records": [{"value": "a"}]}, "lastOffset"),
        ({"records": [{"offset": 0}, {"offset": 1 << 40}]}, "records"),
        ({"event": "undecodable"}, "base64"),
    ],
)
def test_what_has_no_bytes_is_named(row: Any, path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        encode_batches([row])
    assert caught.value.path == ("batches[0]" + (f".{path}" if path else ""))
