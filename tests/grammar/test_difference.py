"""Spans side by side; messages are compared in tests/cli/diff/test_command.py."""

import random
from itertools import product

import pytest

from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.difference import FieldDifference, core_differences, differences, in_order
from kcli.grammar.words.trace import Span
from kcli.schemas.catalog import catalog
from tests import messages as made

# Without records: tests/cli/diff/test_sides.py has those.
MESSAGES = [name for name in made.COMMON if name != "FetchResponse 11"]
MESSAGES += ["JoinGroupRequest 9", "OffsetFetchResponse 9", "ConsumerGroupHeartbeatResponse 1", "FetchRequest 4"]


def spans(*paths: str) -> list[Span]:
    return [Span(path, at, at + 1, "int8", at) for at, path in enumerate(paths)]


def test_bytes_that_differ_and_fields_that_one_side_lacks() -> None:
    one, other = spans("a", "b", "c"), spans("a", "c", "d")
    assert [*differences(one, b"123", other, b"134")] == [
        FieldDifference("b", one[1], None),
        FieldDifference("d", None, other[2]),
    ]
    assert [*differences(one, b"123", one, b"193")] == [FieldDifference("b", one[1], one[1])]
    assert [*differences(one, b"123", one, b"123")] == []


def test_the_core_says_what_the_spans_say() -> None:
    chance, lawful = random.Random(7), 0
    for name in MESSAGES:
        message, version = name.split()
        codec, table = messages.data(message, int(version)), catalog().message(message)
        written = [codec.write(shape(table, int(version))) for shape in made.SHAPES.values()]
        for one, other in product(written, written):
            lawful += agrees(codec, one, other)
        for one in written * 12:
            agrees(codec, damaged(one, chance), chance.choice(written))
            agrees(codec, one, damaged(one, chance))
    assert lawful == len(MESSAGES) * len(made.SHAPES) ** 2


def agrees(codec: MessageCodec, one: bytes, other: bytes) -> bool:
    """Whether the core can say; then it must say the same."""
    found = core_differences(codec, one, 0, other, 0)
    if found is None:
        return False
    mine, its = codec.spans(one), codec.spans(other)
    assert repr(in_order(found[0])) == repr([*differences(mine, one, its, other)]), (codec.what, one.hex(), other.hex())
    assert found[1:] == (mine[-1].end, its[-1].end)
    return True


def damaged(data: bytes, chance: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        made[chance.randrange(len(made))] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    return bytes(made[: chance.choice((len(made), len(made), chance.randrange(len(made))))])


def test_what_the_core_leaves_to_the_spans() -> None:
    good = messages.request("Heartbeat", 0)
    data = good.write({})
    for codec in (messages.request("SaslAuthenticate", 2), messages.request("Envelope", 0)):
        assert core_differences(codec, codec.write({}), 0, codec.write({}), 0) is None
    assert core_differences(good, data, 0, data[:-1], 0) is None
    with pytest.raises(DecodeError):
        good.spans(data[:-1])
    found = core_differences(good, b"xx" + data, 2, data, 0)
    assert found == ([], len(data) + 2, len(data))
