"""The same slip in every entry of an array: found by a changed grammar, mended to the right bytes."""

from pathlib import Path

import pytest

from kcli.errors import DecodeError
from kcli.grammar import frames, messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.slips.everywhere import MOST_WORDS, changed_grammars, repeated_hints, words_in
from kcli.grammar.slips.hints import request_hints
from kcli.grammar.slips.places import Layout
from kcli.grammar.words.arrays import Array
from kcli.grammar.words.scalars import Primitive
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.tagged import Field
from tests.grammar.slips.judge import score, share, table
from tests.grammar.slips.making import REPEATED, frames_of, make_everywhere

SAMPLES = sorted(map(str, (Path(__file__).parents[3] / "samples").glob("*.pcap*")))
CAN_BE_KNOWN = 80.0  # per cent: elements that are no structs are not looked for twice
HEADER = {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 1, "clientId": "c"}
FRAME = frames.encode_request(HEADER, {"topics": [{"name": "orders"}, {"name": "bills"}, {"name": "users"}]})
LAYOUT = Layout(*frames.request_codecs(FRAME))


def test_a_length_in_every_entry() -> None:
    frame = FRAME
    for name in (b"orders", b"bills", b"users"):
        frame = frame.replace(bytes([len(name) + 1]) + name, bytes([0, len(name)]) + name)
    (first, *_) = request_hints(frame)
    assert (first.slip, first.at, first.frame) == ("non-compact", FRAME.index(b"orders") - 1, FRAME)
    assert first.text().startswith("with a compact length of every topics[].name at 0x1d: was it written as int16?")


@pytest.mark.parametrize(
    ("old", "new", "slip", "words"),
    [
        (b"s\0", b"s", "no tags", "with a tag section in every topics[]"),
        (b"s\0", b"s\0\0", "tags", "without a tag section more in every topics[]"),
    ],
)
def test_tag_sections_of_every_entry(old: bytes, new: bytes, slip: str, words: str) -> None:
    (first, *_) = request_hints(FRAME.replace(old, new))
    assert (first.slip, first.at, first.words, first.frame) == (slip, FRAME.index(b"orders") + 6, words, FRAME)


def test_tag_sections_where_the_version_has_none() -> None:
    head = HEADER | {"requestApiVersion": 8}
    frame = frames.encode_request(head, {"topics": [{"name": "orders"}, {"name": "bills"}]})
    (first, *_) = request_hints(frame.replace(b"s\0\5", b"s\0\0\5").replace(b"bills", b"bills\0"))
    assert (first.slip, first.frame) == ("tags", frame)


def test_one_entry_is_no_every() -> None:
    frame = frames.encode_request(HEADER, {"topics": [{"name": "orders"}]})
    assert [*repeated_hints(LAYOUT, frame.replace(b"\7orders", b"\0\6orders"))] == []


def test_a_wide_message_is_tried_in_few_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Struct(*(Field(f"f{n}", Array(Primitive("int32"), False, False), []) for n in range(2000)))
    tried: list[Layout] = []

    def reads(layout: Layout, _frame: bytes) -> bool:
        tried.append(layout)
        return False

    monkeypatch.setattr(Layout, "reads", reads)
    assert [*repeated_hints(Layout(LAYOUT.header, MessageCodec("Wide", 0, wide)), FRAME)] == []
    assert 0 < len(tried) <= MOST_WORDS // words_in(wide)


def test_each_change_is_another_grammar_that_can_be_read() -> None:
    found = [*changed_grammars(messages.request("Fetch", 12).grammar, "")]
    assert {change.slip for change in found} == set(REPEATED) - {"compact"}
    assert {"topics[].topic", "topics[].partitions", "topics[].partitions[].fetchOffset"} <= {
        change.path for change in found
    }
    assert all("[]" in change.path for change in found)
    for change in found:
        with pytest.raises(DecodeError):
            change.grammar.parse(b"")


def test_slips_made_in_every_entry_are_named() -> None:
    scores = score([*frames_of(SAMPLES)][::2], 20, REPEATED, make_everywhere)
    poor = {kind: share(each.counts) for kind, each in scores.items() if share(each.counts) < CAN_BE_KNOWN}
    assert not poor, table(scores)
