"""A message's verbs together: trailing bytes, variants, names, spans, errors that say what they are about."""

import json

import pytest

from kcli.errors import DecodeError, EncodeError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.words.primitives import Field, Struct
from kcli.grammar.words.scalars import Primitive


def one_byte(name: str) -> Struct:
    return Struct(Field(name, Primitive("int8"), 0))


VARIED = MessageCodec(
    "Test",
    0,
    Struct(Field("new", Primitive("int16"), 0)),
    [("before 2.0", MessageCodec("Test", 0, one_byte("old")))],
)


def test_bytes_behind_the_message_are_kept() -> None:
    codec = messages.request(3, 1)
    data = codec.write({"topics": []}) + b"\1\0\0"
    value = codec.read_whole(data)
    assert value["_trailing"] == b"\1\0\0"
    assert codec.write(value) == data
    text, end = codec.json(data, whole=True)
    assert end == len(data)
    assert codec.write(json.loads(text)) == data
    assert codec.interpreted.json(data, whole=True) == (text, end)


def test_the_layout_that_fits_is_read_and_written() -> None:
    assert VARIED.read_whole(b"\0\5") == {"new": 5}
    assert VARIED.read_whole(b"\5") == {"old": 5, "_variant": "before 2.0"}
    for data in (b"\0\5", b"\5"):
        assert VARIED.write(VARIED.read_whole(data)) == data
        assert VARIED.write(json.loads(VARIED.json(data, whole=True)[0])) == data
    assert VARIED.node is None
    assert [span.path for span in VARIED.spans(b"\5")] == ["old"]


def test_the_newest_layout_is_meant_where_none_fits() -> None:
    assert VARIED.read_whole(b"\0\5\7") == {"new": 5, "_trailing": b"\7"}
    with pytest.raises(DecodeError, match="Test v0: new: needs 2 bytes"):
        VARIED.read_whole(b"")


def test_errors_name_message_and_version() -> None:
    codec = messages.request(1, 12)
    with pytest.raises(DecodeError, match=r"^FetchRequest v12: replicaId: needs 4 bytes at 0x2, 1 left$"):
        codec.read(b"\0\0\0", 2)
    with pytest.raises(EncodeError, match=r"^FetchRequest v12: topics: needs a list"):
        codec.write({"topics": 5})
    with pytest.raises(EncodeError, match=r"^FetchRequest v12: _trailing: needs bytes"):
        codec.write({"_trailing": 5})
    with pytest.raises(EncodeError, match=r"^FetchRequest v12: _encodings: needs an object"):
        codec.write({"_encodings": 5})


def test_spans_before_an_error_are_kept() -> None:
    codec = messages.request(1, 4)
    spans: list[object] = []
    with pytest.raises(DecodeError, match="minBytes"):
        codec.spans(bytes(10), 0, spans)  # type: ignore[arg-type]
    assert [span.path for span in spans] == ["replicaId", "maxWaitMs"]  # type: ignore[attr-defined]


def test_spans_cover_every_byte_in_order() -> None:
    codec = messages.response(3, 12)
    data = codec.write({"brokers": [{"host": "h", "rack": None}], "topics": [{"name": "t", "partitions": [{}]}]})
    spans = codec.spans(data)
    assert [span.start for span in spans] == [0] + [span.end for span in spans[:-1]]
    assert spans[-1].end == len(data)


def test_topic_ids_are_shown_with_the_names_learnt() -> None:
    from kcli.core.codec.messages import Names

    topic_id = "AAAAAAAAAAAAAAAAAAAAAQ"
    metadata = messages.response(3, 12)
    learnt = metadata.write({"topics": [{"name": 'a "topic"', "topicId": topic_id}]})
    fetch = messages.request(1, 17)
    shown = fetch.write({"topics": [{"topicId": topic_id}]})
    for verbs in ("compiled", "interpreted"):
        names = Names()
        getattr(metadata, verbs).json(learnt, names=names)
        text, _ = getattr(fetch, verbs).json(shown, names=names)
        topic = json.loads(text)["topics"][0]
        assert topic["_topicName"] == 'a "topic"'
        assert fetch.write(json.loads(text)) == shown


def test_a_hook_shows_records_and_its_error_comes_through() -> None:
    codec = messages.request(0, 9)
    data = codec.write({"topicData": [{"name": "t", "partitionData": [{"records": b"abc"}]}]})

    def broken(_data: memoryview) -> bytes:
        raise OSError("no disk")

    for verbs in (codec.compiled, codec.interpreted):
        assert verbs is not None
        text, _ = verbs.json(data, records="full", hook=lambda view: b"[%d]" % len(view))
        assert b'"records":{"sizeInBytes":3,"batches":[3]}' in text
        with pytest.raises(OSError, match="no disk"):
            verbs.json(data, records="full", hook=broken)
