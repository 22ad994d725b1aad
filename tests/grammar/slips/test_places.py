"""The fields of a frame as places of a slip: where they begin and end, their types, and where reading stops."""

from kcli.grammar import frames, messages
from kcli.grammar.slips.places import END, Layout, Place

HEADER = {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 1, "clientId": "c"}
FRAME = frames.encode_request(HEADER, {"topics": [{"name": "orders"}, {"name": "bills"}]})
LAYOUT = Layout(*frames.request_codecs(FRAME))


def places(data: bytes, most: int = 100) -> list[Place]:
    return LAYOUT.places(LAYOUT.walk(data, most))


def test_a_whole_frame_reads_and_ends_behind_its_last_field() -> None:
    assert LAYOUT.reads(FRAME)
    assert not LAYOUT.reads(FRAME[:-1])
    assert not LAYOUT.reads(FRAME + b"\0")
    assert places(FRAME)[0] == Place("", len(FRAME), len(FRAME), END, closes=True)


def test_the_last_field_comes_first_and_an_array_ends_with_its_entries() -> None:
    found = {place.path: place for place in places(FRAME)}
    assert list(found)[-1] == "requestApiKey"
    topics, last = found["topics"], found["topics[1]._tags"]
    assert (topics.type, topics.end) == ("compact array count", last.end)
    assert found["topics[1].topicId"].closes
    assert not found["topics[1].name"].closes


def test_the_field_that_can_not_be_read_has_its_type() -> None:
    at = FRAME.index(b"orders") - 1
    stopped = places(FRAME[:at] + b"\x7f" + FRAME[at + 1 :])[0]
    assert stopped == Place("topics[0].name", at, at, "nullable compact string", closes=False)
    assert places(FRAME[:-1])[0].type == "tag count"
    assert places(FRAME[:9])[0].type == "nullable string"
    assert places(FRAME[:12])[0].type == "compact array count"


def test_only_the_last_fields_are_kept() -> None:
    assert [place.path for place in places(FRAME, 2)] == ["", "_tags", "includeTopicAuthorizedOperations"]


def test_odd_bytes_are_counted_and_do_not_pass() -> None:
    odd = FRAME[:-1] + b"\x80\0"
    assert LAYOUT.walk(odd, 1).noncanonical == 1
    assert not LAYOUT.reads(odd)


def test_a_null_struct_is_passed_through() -> None:
    codec = messages.data("ConsumerGroupDescribeResponse", 0)
    layout = Layout(messages.data("ResponseHeader", 1), codec)
    assert layout.places(layout.walk(bytes(5), 9))[0].path == "throttleTimeMs"
