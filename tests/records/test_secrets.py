"""Secrets in records of the metadata log: JSON text of batches by both writers, spans, columns, and the way back."""

import json
import re
from base64 import b64decode
from collections.abc import Iterator

import pytest

from kcli.core.codec.values import NOT_HERE
from kcli.errors import EncodeError
from kcli.grammar import messages
from kcli.grammar.secrets import Hidden, redacted
from kcli.records.builder import build_batch, build_message_set
from kcli.records.chunks import Chunk
from kcli.records.codecs import decompress
from kcli.records.columns import arrow_batches
from kcli.records.encoding import encode_batches
from kcli.records.internal import record_members
from kcli.records.secrets import holds_secret, is_secret_value, secret_types
from kcli.records.spans import batch_spans
from kcli.records.text import batches_json, new_writer, write_chunk
from kcli.topic_names import CLUSTER_METADATA
from tests.oracle.records.batches import BatchText

MARK = b"S3CRET-" * 5


def framed(name: str, value: dict[str, object], version: int = 0) -> bytes:
    types = {record: number for number, record in secret_types().items()}
    return bytes([1, types[name], version]) + messages.data(name, version).write(value)


SCRAM = framed(
    "UserScramCredentialRecord",
    {"name": "u", "mechanism": 1, "salt": MARK, "storedKey": MARK, "serverKey": MARK, "iterations": 4096},
)
CONFIG = {"resourceType": 4, "resourceName": "1", "name": "ssl.key.password", "value": MARK.decode()}
KEY = b"K3Y" + MARK[:29]
SCRAM_256 = framed(
    "UserScramCredentialRecord",
    {"name": "u", "mechanism": 1, "salt": MARK, "storedKey": KEY, "serverKey": KEY, "iterations": 4096},
)
PASSWORD = framed("ConfigRecord", CONFIG)
PLAIN = framed("ConfigRecord", CONFIG | {"name": "log.retention.ms"})


def test_values_that_are_secrets() -> None:
    assert is_secret_value(SCRAM) and is_secret_value(memoryview(PASSWORD))
    assert not is_secret_value(PLAIN)
    assert not any(map(is_secret_value, (b"", b"\1", b"\1\x0b", b"text", b"\2" + SCRAM[1:], b"\1\3\0abc")))
    assert is_secret_value(SCRAM[:-4])  # cut: what is left may be a key
    assert not is_secret_value(framed("ConfigRecord", CONFIG | {"value": None}))


def test_secrets_within_other_bytes() -> None:
    assert holds_secret(b"\0\1\x0b" + SCRAM + b"\0") and holds_secret(b"x" + PASSWORD)
    assert holds_secret(b"\1\x0b\0" * 10_000)  # too many to try
    assert not holds_secret(b"x" + PLAIN) and not holds_secret(bytes(range(256)) * 100)


def test_records_that_are_cut_are_secrets_as_far_as_they_read() -> None:
    """A metadata log whose last batch was cut by a crash showed the salts and keys in it."""
    assert [holds_secret(b"\0" * 8 + SCRAM[:size]) for size in (4, 5, 6, 7, 20, 60, len(SCRAM) - 1)] == [
        False, False, True, True, True, True, True,
    ]  # fmt: skip
    assert holds_secret(b"\0" * 8 + PASSWORD[:-6]) and holds_secret(b"\0" * 8 + PASSWORD[:20])  # of what config?
    assert not holds_secret(b"\0" * 8 + PLAIN[:-6])
    (row,) = json.loads(batches_json(batch(b"hello", SCRAM)[:-60]))
    assert row["event"] == "truncated" and set(row["base64"]) == {"redacted"}


def batch(*values: bytes, codec: str = "none") -> bytes:
    return bytes(build_batch([(0, None, value, ()) for value in values], codec=codec))


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_json_of_batches(codec: str) -> None:
    data = batch(SCRAM, b"hello", PLAIN, codec=codec)
    text = batches_json(data)
    (row,) = json.loads(text)
    assert [record["value"] for record in row["records"]][:2] == [redacted(len(SCRAM)), "hello"]
    assert "base64" in row["records"][2]["value"]
    assert row.get("_payload") == (None if codec == "none" else redacted(len(data) - 61))
    ours = BatchText(decompress, None, None, True, False, is_secret_value, holds_secret, bytes(secret_types()))
    ours.write(data, 0, len(data), 0, True)
    assert b"[" + ours.take() + b"]" == text
    shown = batches_json(data, secrets=True)
    assert encode_batches(json.loads(shown)) == data
    with pytest.raises(EncodeError, match="--show-secrets"):
        encode_batches([row])


def test_a_batch_without_secrets_keeps_its_payload() -> None:
    data = batch(PLAIN, b"hello", codec="gzip")
    assert encode_batches(json.loads(batches_json(data))) == data


def test_messages_of_old_magics() -> None:
    data = build_message_set([(0, None, SCRAM)], magic=1)
    (row,) = json.loads(batches_json(data))
    assert row["records"][0]["value"] == redacted(len(SCRAM))


def test_damaged_batches() -> None:
    data = bytearray(batch(b"hello", SCRAM))
    data[60] = 7  # records more than there are: the stored bytes stand beside them
    (row,) = json.loads(batches_json(bytes(data)))
    assert row["_error"] and row["_payload"] == redacted(len(data) - 61)
    broken = bytearray(batch(SCRAM, b"hello"))
    broken[61] = 1  # the first record's length
    (row,) = json.loads(batches_json(bytes(broken)))
    assert row["_payload"] == redacted(len(broken) - 61)
    (row,) = json.loads(batches_json(b"\0" * 8 + SCRAM))
    assert row["base64"] == redacted(8 + len(SCRAM))
    (row,) = json.loads(batches_json(b"\0" * 8 + SCRAM, secrets=True))
    assert isinstance(row["base64"], str)


def damages(data: bytes) -> Iterator[bytes]:
    """Yield a batch with one fault: a flipped bit, zeroed, deleted or added bytes, at each place behind its length."""
    for at in range(16, len(data)):
        yield data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]
        yield data[:at] + b"\0" * len(data[at : at + 3]) + data[at + 3 :]
        yield data[:at] + data[at + 1 + at % 3 :]
        yield data[:at] + b"\2" + data[at:]


def shown_of(data: bytes, metadata: bool = False) -> bytes:
    """Return all bytes of keys, values, headers and events that the JSON of a log shows."""
    writer = new_writer(metadata=metadata)
    write_chunk(writer, Chunk(bytearray(data), len(data), len(data), 0, True), True, True, [])
    text = bytes(writer.take())
    return text + b"".join(
        b64decode(each) for each in re.findall(rb'"([A-Za-z0-9+/]{8,}=*)"', text) if len(each) % 4 == 0
    )


@pytest.mark.parametrize("value", [SCRAM_256, PASSWORD], ids=["key", "password"])
def test_no_single_damage_shows_a_secret(value: bytes) -> None:
    """Under a wrong checksum no type and no length is sure; a damaged type byte alone made a record a plain one."""
    for count, broken in enumerate(damages(batch(b"hello", value, b"bye"))):
        assert MARK[:9] not in shown_of(broken + batch(b"hello"))
        spans, _ = batch_spans(broken)
        assert not any(MARK[:9] in span.value for span in spans if isinstance(span.value, bytes))
        assert count % 8 or MARK[:9] not in columns_of(broken)


def test_a_compressed_batch_with_a_damaged_type() -> None:
    data = bytearray(batch(b"\1\x7f" + SCRAM_256[2:], codec="gzip"))
    data[17] ^= 1  # the checksum
    (row,) = json.loads(batches_json(bytes(data)))
    assert row["records"][0]["value"] == redacted(len(SCRAM_256)) and row["_payload"] == redacted(len(data) - 61)
    assert isinstance(batch_spans(bytes(data))[0][-1].value, Hidden)
    assert columns_of(bytes(data)) == b'{"redacted":%d}' % len(SCRAM_256)


def columns_of(data: bytes) -> bytes:
    pytest.importorskip("pyarrow")
    return b"".join(
        each or b"" for table in arrow_batches(memoryview(data)) for name in ("key", "value")
        for each in table.column(name).to_pylist()
    )  # fmt: skip


def test_all_of_a_damaged_batch_is_hidden() -> None:
    data = bytes(build_batch([(0, b"key", SCRAM, [("name", b"header")]), (0, None, b"text", ())]))
    broken = data[:17] + bytes([data[17] ^ 1]) + data[18:]  # the checksum
    (row,) = json.loads(batches_json(broken))
    assert [record["key"] for record in row["records"]] == [redacted(3), None]
    assert row["records"][0]["headers"] == [{"key": redacted(4), "value": redacted(6)}]
    assert row["records"][1]["value"] == redacted(4)
    for each in (
        broken,
        broken[:60] + b"\0" + broken[61:],
        build_message_set([(0, b"k", SCRAM)], magic=1)[:-1] + b"\1",
    ):
        ours = BatchText(decompress, None, None, True, False, is_secret_value, holds_secret, bytes(secret_types()))
        ours.write(each, 0, len(each), 0, True)
        assert b"[" + ours.take() + b"]" == batches_json(each)
    (row,) = json.loads(batches_json(broken, secrets=True))
    assert row["records"][1]["value"] == "text"
    pytest.importorskip("pyarrow")
    (table,) = arrow_batches(memoryview(broken))
    assert table.column("headers").to_pylist()[0] == [{"key": b'{"redacted":4}', "value": b'{"redacted":6}'}]
    assert table.column("value").to_pylist()[1] == b'{"redacted":4}'


def test_what_is_damaged_without_a_secret_is_shown() -> None:
    data = batch(b"hello", PLAIN, bytes(range(256)))
    for broken in (data[:-1] + b"\1", data[:17] + b"\0" + data[18:]):
        (row,) = json.loads(batches_json(broken))
        assert row["records"][0]["value"] == "hello"


def test_of_a_metadata_log_nothing_damaged_is_shown() -> None:
    """Rests of records are recognized by nothing; the log's name says what they may be."""
    data = batch(PASSWORD)
    rest = data[data.index(MARK) + 2 :] + batch(b"hello")
    assert MARK[2:12] in shown_of(rest) and MARK[2:12] not in shown_of(rest, metadata=True)


def test_a_judge_that_fails_hides_and_is_heard() -> None:
    def fail(_value: memoryview) -> bool:
        raise KeyError("judge")

    writer = type(new_writer())(decompress, None, None, True, False, fail, holds_secret, bytes(secret_types()))
    with pytest.raises(KeyError, match="judge"):
        writer.write(batch(SCRAM), 0, 200, 0, True)


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_spans(codec: str) -> None:
    data = batch(SCRAM, codec=codec)
    spans, problem = batch_spans(data)
    assert problem is None
    assert [span.path.rpartition(".")[2] for span in spans if isinstance(span.value, Hidden)] == [
        "value" if codec == "none" else "records"
    ]
    assert not any(isinstance(span.value, Hidden) for span in batch_spans(data, secrets=True)[0])
    spans, problem = batch_spans(b"\0" * 8 + SCRAM)
    assert problem is not None and isinstance(spans[-1].value, Hidden)


def test_spans_of_a_damaged_batch_with_secrets() -> None:
    """Where a length is wrong, a key's bytes stand in a header's name, or in what is left over."""
    data = batch(b"hello", SCRAM)
    at = data.index(SCRAM) - 2
    for broken in (
        data[:at] + b"\0\0" + data[at + 2 :],
        data[:at] + data[at + 3 :],
        data[: at + 1] + b"\2" + data[at + 2 :],
    ):
        spans, _ = batch_spans(broken)
        shown = b"".join(broken[span.start : span.end] for span in spans if not isinstance(span.value, Hidden))
        assert MARK[:7] not in shown
    spans, _ = batch_spans(data[:-1] + b"\1")
    assert [span.value for span in spans if span.path.endswith("batchLength")]  # numbers are shown


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_columns(codec: str) -> None:
    pytest.importorskip("pyarrow")
    data = batch(SCRAM, b"hello", PASSWORD, b"", codec=codec)
    column = next(arrow_batches(memoryview(data))).column("value").to_pylist()
    assert column == [b'{"redacted":%d}' % len(SCRAM), b"hello", b'{"redacted":%d}' % len(PASSWORD), b""]
    assert next(arrow_batches(memoryview(data), secrets=True)).column("value").to_pylist()[0] == SCRAM


def test_metadata_records_decoded() -> None:
    members = record_members(CLUSTER_METADATA)
    answer = json.loads(b"{" + members(None, SCRAM)[1:] + b"}")["_record"]
    assert answer["data"]["storedKey"] == redacted(len(MARK))
    cut = json.loads(b"{" + members(None, SCRAM[:-3])[1:] + b"}")["_record"]
    assert cut["value"] == redacted(len(SCRAM) - 3)
    shown = json.loads(b"{" + record_members(CLUSTER_METADATA, secrets=True)(None, SCRAM)[1:] + b"}")["_record"]
    assert isinstance(shown["data"]["storedKey"], str)


def test_the_refusal_names_the_option() -> None:
    assert "--show-secrets" in NOT_HERE


@pytest.mark.parametrize("last", [b"k", b"\0"])
def test_what_is_left_of_a_credential_shows_no_key(last: bytes) -> None:
    """Its front is lost, however much of it, in a file that does not bear the metadata log's name."""
    key = KEY[:31] + last
    value = {"name": "u", "mechanism": 1, "salt": MARK, "storedKey": key, "serverKey": key, "iterations": 4096}
    rest = framed("UserScramCredentialRecord", value) + b"\0"
    for cut in range(1, rest.rindex(key) + 31):
        (event,) = json.loads(batches_json(rest[cut:]))
        assert event["base64"] == redacted(len(rest) - cut)
        spans, _ = batch_spans(rest[cut:])
        assert all(isinstance(span.value, Hidden) for span in spans if isinstance(span.value, bytes))


def test_bytes_behind_no_key_are_shown() -> None:
    for rest in (b"text\0\0\0\x10\0", b"\0\0\0\0\0\0\0\5", b"x" * 70 + b"\0\0\x10\0\0"):
        (event,) = json.loads(batches_json(rest))
        assert b64decode(event["base64"]) == rest
