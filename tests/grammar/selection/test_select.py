"""The verb select: columns straight from the bytes, by the core as by the reference grammar."""

import base64
import random
from typing import Any

import pytest

from kcli.core.codec.values import MISSING
from kcli.errors import DecodeError, KcliError, UsageError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.selection.select import Selection, interpreted_rows
from kcli.grammar.words.arrays import Array, Optional
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.grammar.words.structs import Struct
from tests import messages as made

FETCH = ["sessionId", "topics[].topic", "topics[].partitions[].partition", "topics[].partitions[].fetchOffset"]
ORDERS = {
    "topic": "orders",
    "partitions": [{"partition": 0, "fetchOffset": 5}, {"partition": 3, "fetchOffset": 1 << 40}],
}


def paths_of(word: Any, path: str = "") -> list[str]:
    """Every path of a message, deepest first."""
    if isinstance(word, Array):
        return [*paths_of(word.subcon, path + "[]"), path + "[]"]
    if isinstance(word, Optional):
        return paths_of(word.subcon, path)
    if not isinstance(word, Struct):
        return [path]
    dot = "." if path else ""
    found = [each for name, below in word.words.items() for each in paths_of(below, f"{path}{dot}{name}")]
    if word.flexible:
        found += [
            f"{path}{dot}{name}" for name in ("_tags", "_unknownTaggedFields[].tag", "_unknownTaggedFields[].data")
        ]
    return [*found, path] if path else found


def walk(value: Any, path: str) -> list[Any]:
    """The values at a path, as `read` has them; None where there is none."""
    found = [value]
    for part in path.split("."):
        name, depth = part.replace("[]", ""), part.count("[]")
        found = [item.get(name) if isinstance(item, dict) else None for item in found]
        for _ in range(depth):
            found = [item for items in found for item in items or ()]
    return found


def outcome(selection: Selection, data: bytes, offset: int = 0) -> Any:
    try:
        selected = selection.read(data, offset)
    except DecodeError as error:
        return str(error)
    return selected.rows, selected.end


def reference(selection: Selection, data: bytes, offset: int = 0) -> Any:
    try:
        return interpreted_rows(selection, data, offset)
    except DecodeError as error:
        return str(selection.codec.named(error))


@pytest.mark.parametrize("shape", sorted(made.SHAPES))
def test_every_field_of_every_message_is_what_read_gives(shape: str) -> None:
    for message, version in made.every_message():
        codec = messages.data(message.name, version)
        data = b"front" + codec.write(made.SHAPES[shape](message, version))
        paths = paths_of(codec.grammar)
        selection = codec.select(paths)
        if not paths:
            continue
        selected = selection.read(data, 5)
        assert (selected.rows, selected.end) == reference(selection, data, 5), codec.what
        value = codec.read(data, 5)[0]
        for path in paths:
            if path in selection.places and "_tags" not in path:
                expected = [missing_of(selected, path) if item is None else item for item in walk(value, path)]
                assert same(selected.values(path), expected), (codec.what, path)


def missing_of(selected: Any, path: str) -> Any:
    return None if selected.plan.place(path).type in ("string", "bytes", "records", "uuid") else MISSING


def same(found: list[Any], expected: list[Any]) -> bool:
    return found == expected or repr(found) == repr(expected)  # NaN


def samples() -> list[tuple[MessageCodec, bytes]]:
    more = ("ConsumerGroupHeartbeatResponse 1", "DescribeClientQuotasResponse 1", "FetchResponse 17")
    return made.written(made.strange, *made.COMMON, *more)


def test_cut_anywhere_the_error_is_that_of_read() -> None:
    for codec, data in samples():
        selection = codec.select(paths_of(codec.grammar)[:3])
        for cut in range(len(data)):
            with pytest.raises(DecodeError) as answer:
                codec.read(data[:cut])
            assert outcome(selection, data[:cut]) == str(answer.value), (codec.what, cut)


def test_with_flipped_bytes_the_core_and_the_reference_say_the_same() -> None:
    rng = random.Random(7)
    for codec, data in samples():
        paths = paths_of(codec.grammar)
        for _ in range(150):
            flipped = bytearray(data)
            for _ in range(rng.randint(1, 3)):
                flipped[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            selection, damaged = codec.select(rng.sample(paths, rng.randint(1, len(paths)))), bytes(flipped)
            assert outcome(selection, damaged) == reference(selection, damaged), (codec.what, damaged.hex())


def test_a_selection_that_reads_one_message_after_another_keeps_nothing_of_them() -> None:
    """Rows have a buffer that is used again: what an entry lacks is blank, be the bytes whole or damaged."""
    rng = random.Random(3)
    for codec, data in samples():
        selection, plain = codec.select(paths_of(codec.grammar)), codec.write({})
        for _ in range(60):
            damaged = bytearray(data)
            damaged[rng.randrange(len(data))] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            for each in (data, bytes(damaged), data[: rng.randrange(len(data))], plain):
                assert outcome(selection, each) == reference(selection, each), (codec.what, each.hex())


def test_columns_of_two_levels_are_joined_by_counts() -> None:
    codec = messages.request("Fetch", 12)
    body = {"sessionId": 7, "topics": [ORDERS, {"topic": "é", "partitions": []}, {"topic": "t", "partitions": [{}]}]}
    selected = codec.select(FETCH).read(codec.write(body))
    assert list(selected.column("sessionId")) == [7]
    assert selected.values("topics[].topic") == ["orders", "é", "t"]
    assert list(selected.counts("topics[].partitions[]")) == [2, 0, 1]
    assert list(selected.column("topics[].partitions[].fetchOffset")) == [5, 1 << 40, 0]
    assert list(selected.parents("topics[].partitions[]")) == [0, 0, 2]
    assert repr(selected) == "<Selected message: 1, topics[]: 3, topics[].partitions[]: 3>"


def test_slices_are_the_bytes_themselves() -> None:
    codec = messages.response("Fetch", 12)
    part = {"partitionIndex": 1, "records": b"\1\2\3"}
    data = codec.write({"responses": [{"topic": "t", "partitions": [part, {"records": None}]}]})
    selected = codec.select(["responses[].partitions[].records"]).read(data)
    starts, sizes = selected.slices("responses[].partitions[].records")
    assert list(sizes) == [3, -1]
    assert data[starts[0] : starts[0] + 3] == b"\1\2\3"
    assert selected.values("responses[].partitions[].records") == [b"\1\2\3", None]


def test_what_is_not_sent_is_missing() -> None:
    codec = messages.response("Fetch", 16)
    leader = {"currentLeader": {"leaderId": 4, "leaderEpoch": 2}}
    data = codec.write({"responses": [{"partitions": [leader, {}]}]})
    path = "responses[].partitions[].currentLeader"
    selected = codec.select([f"{path}.leaderId", f"{path}.noSuchField?"], missing=-9).read(data)
    assert list(selected.column(f"{path}.leaderId")) == [4, -9]
    assert list(selected.column(f"{path}.noSuchField?")) == [-9, -9]
    present = selected.present(path)
    assert present is not None
    assert list(present) == [1, 0]
    assert selected.present("responses[].partitions[]") is None


def test_entries_with_and_without_tags_stand_side_by_side() -> None:
    codec = messages.response("Fetch", 17)
    parted = {"divergingEpoch": {"epoch": 3, "endOffset": 9}, "_unknownTaggedFields": [{"tag": 70, "data": b"x"}]}
    selection = codec.select(["responses[].partitions[].divergingEpoch.epoch", "responses[].partitions[]._tags"])
    for entries in ([parted, {}, parted, {}], [{}, {}, {}, parted]):
        selected = selection.read(codec.write({"responses": [{"partitions": entries}]}))
        tags = selected.column("responses[].partitions[]._tags")
        epochs = selected.column("responses[].partitions[].divergingEpoch.epoch")
        assert list(tags) == [2 if entry else 0 for entry in entries]
        assert list(epochs) == [3 if entry else MISSING for entry in entries]


def test_a_struct_that_may_be_null() -> None:
    codec = messages.request("DescribeTopicPartitions", 0)
    for cursor in (None, {"topicName": "t", "partitionIndex": 2}):
        selected = codec.select(["cursor.partitionIndex", "cursor.topicName"]).read(codec.write({"cursor": cursor}))
        present = selected.present("cursor")
        assert present is not None
        assert list(present) == [int(cursor is not None)]
        assert list(selected.column("cursor.partitionIndex")) == [2 if cursor else MISSING]
        assert selected.values("cursor.topicName") == ["t" if cursor else None]


def test_tags_that_the_version_does_not_know() -> None:
    codec = messages.request("Fetch", 12)
    data = codec.write({"_unknownTaggedFields": [{"tag": 77, "data": b"abc"}], "clusterId": "c"})
    selected = codec.select(["_tags", "_unknownTaggedFields[].tag", "_unknownTaggedFields[].data"]).read(data)
    assert list(selected.column("_tags")) == [2]
    assert list(selected.counts("_unknownTaggedFields[]")) == [1]
    assert selected.values("_unknownTaggedFields[].tag") == [77]
    assert selected.values("_unknownTaggedFields[].data") == [b"abc"]


def test_names_that_changed_are_alternatives() -> None:
    for version, name in ((12, "topic"), (13, "topicId")):
        codec = messages.request("Fetch", version)
        data = codec.write({"topics": [{name: "AAAAAAAAAAAAAAAAAAAAAQ"}]})
        assert codec.select(["topics[].topicId|topic"]).read(data).values("topics[].topicId|topic") == [
            "AAAAAAAAAAAAAAAAAAAAAQ"
        ]


def test_numbers_of_each_width() -> None:
    types = ("bool", "int8", "int16", "int32", "int64", "uint16", "uint32", "float64", "uuid")
    codec = MessageCodec("Test", 0, Struct(*(type_ / Primitive(type_) for type_ in types)))
    value = dict(
        zip(types, (True, -1, -2, -3, MISSING, 65535, 4294967295, -0.5, "AAAAAAAAAAAAAAAAAAAAAQ"), strict=True)
    )
    selected = codec.select(types).read(codec.write(value))
    assert {path: selected.values(path)[0] for path in types} == value
    assert selected.column("float64").format == "d"


def test_arrays_of_numbers_and_of_arrays() -> None:
    codec = MessageCodec(
        "Test", 0, Struct("a" / Array(Array(Primitive("int16"))), "s" / Array(LengthPrefixed("string")))
    )
    selected = codec.select(["a[][]", "s[]"]).read(codec.write({"a": [[1, 2], [], [3]], "s": ["x", ""]}))
    assert selected.values("a[][]") == [1, 2, 3]
    assert list(selected.counts("a[][]")) == [2, 0, 1]
    assert selected.values("s[]") == ["x", ""]


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("size", [None, 0, 1, 126, 127, 128, 300])
def test_lengths_of_one_byte_and_of_more(size: int | None, compact: bool, nullable: bool) -> None:
    numbers = Array(Primitive("int16"), nullable=nullable, compact=compact)
    codec = MessageCodec(
        "Test", 0, Struct("b" / LengthPrefixed("bytes", nullable=nullable, compact=compact), "a" / numbers)
    )
    lenient = MessageCodec(
        "Test",
        0,
        Struct(
            "b" / LengthPrefixed("bytes", nullable=True, compact=compact),
            "a" / Array(Primitive("int16"), nullable=True, compact=compact),
        ),
    )
    text, entries = (None, None) if size is None else (base64.b64encode(bytes(size)).decode(), [7] * size)
    data = lenient.write({"b": text, "a": entries})
    selection = codec.select(["b", "a[]"])
    for each in (data, data[:-1], data[: len(data) // 2], data[:1]):
        assert outcome(selection, each) == reference(selection, each)
    if nullable or size is not None:
        assert len(selection.read(data).values("a[]")) == (size or 0)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nothing", "FetchRequest v12 has no field 'nothing' there (it has: "),
        ("topics.topic", "has no field 'topic' there (it has: none)"),
        ("topics", "topics is an array: write topics[]"),
        ("maxBytes[]", "maxBytes is no array in FetchRequest v12"),
        ("topics[", "has no field 'topics['"),
        ("", "'' is no path"),
        ("topics[]..topic", "is no path"),
    ],
)
def test_a_wrong_path_is_named(path: str, says: str) -> None:
    with pytest.raises(UsageError) as answer:
        messages.request("Fetch", 12).select([path])
    assert says in str(answer.value)


def test_a_column_that_was_not_asked_for() -> None:
    codec = messages.request("Fetch", 12)
    selected = codec.select(["sessionId", "rackId"]).read(codec.write({}))
    for call in (selected.column, selected.slices, selected.counts):
        with pytest.raises(KcliError, match="is not among the paths"):
            call("maxBytes")
    with pytest.raises(UsageError, match="take `slices`"):
        selected.column("rackId")
    with pytest.raises(UsageError, match="take `column`"):
        selected.slices("sessionId")


def test_a_count_allocates_nothing_before_its_bytes_are_there() -> None:
    codec = MessageCodec("Test", 0, Struct("a" / Array(Array(Primitive("int64")))))
    selection = codec.select(["a[][]"])
    with pytest.raises(DecodeError, match="the array says 2147483647 entries"):
        selection.read(b"\x7f\xff\xff\xff" + b"\x7f\xff\xff\xff")


def test_a_head_reads_no_further_than_the_last_field_asked_for() -> None:
    codec = messages.request("Produce", 9)
    data = codec.write({"acks": -1, "timeoutMs": 7, "topicData": [{"name": "t", "partitionData": []}]})
    head = codec.select(["acks"]).head
    assert head is not None
    found = head.read(data)
    assert found is not None and found[1] == 7  # transactional id, acks, timeout
    assert head.read(data[:7]) == found


def test_a_head_reads_tagged_fields_that_were_asked_for() -> None:
    codec = messages.request("Fetch", 17)
    selection = codec.select(["replicaState.replicaId?", "sessionId"])
    data = codec.write({"replicaState": {"replicaId": 3, "replicaEpoch": 1}, "sessionId": 4, "topics": []})
    assert selection.head is not None and selection.compiled is not None
    assert selection.head.read(data) == selection.compiled.read(data)
    assert selection.read(data).values("replicaState.replicaId?") == [3]


def test_readers_in_the_core_take_columns_of_the_kind_they_know() -> None:
    selection = messages.request("Fetch", 12).select(["topics[].topic", "topics[].partitions[].partition", "none?"])
    assert selection.slices_only(["topics[].topic"])
    assert not selection.slices_only([])
    assert not selection.slices_only(["topics[].topic", "topics[].partitions[].partition"])
