"""Each field with its bytes."""

from kcli.cli.decode.spans import failure_line, hexdump_lines, tree_lines
from kcli.errors import DecodeError
from kcli.grammar.words.trace import Span

DATA = bytes(range(24))
SPANS = [
    Span("requestApiKey", 0, 2, "int16", 1),
    Span("topics", 2, 3, "compact array count", "4 entries (compact array)"),
    Span("x.errorCode", 3, 5, "int16", 6),
    Span("name", 5, 23, "string", "a" * 70),
    Span("flag", 23, 24, "bool", True),
    Span("none", 24, 24, "bytes", None),
]


def test_tree() -> None:
    lines = list(tree_lines(DATA, SPANS))
    assert lines[0] == "0000  00 01                         requestApiKey  1  FETCH  (int16)"
    assert lines[1] == "0002  02                            topics         4 entries (compact array)"
    assert lines[2].endswith("x.errorCode    6  NOT_LEADER_OR_FOLLOWER  (int16)")
    assert lines[3].startswith("0005  05 06 07 08 09 0a 0b 0c +10")
    assert lines[3].endswith('name           "' + "a" * 60 + '…" 70 characters  (string)')
    assert lines[4].endswith("flag           true  (bool)")
    assert lines[5].endswith("none           null  (bytes)")


def test_a_tree_in_little_room_keeps_its_values() -> None:
    long = Span("topics[0].partitions[0].currentLeaderEpoch", 5, 23, "int32", -1)
    lines = list(tree_lines(DATA, [*SPANS, long], room=60))
    assert lines[-1] == "0005  05 06 07 08 +14    …currentLeaderEpoch  -1  (int32)"
    assert list(tree_lines(DATA, SPANS, room=200)) == list(tree_lines(DATA, SPANS))


def test_hexdump_shows_every_byte() -> None:
    lines = list(hexdump_lines(DATA, SPANS))
    assert lines[0].startswith("00000000  00 01 ")
    assert lines[0].endswith("|..              |  requestApiKey  1  FETCH  (int16)")
    shown = bytes.fromhex("".join(line[10:57] for line in lines))
    assert shown == DATA


def test_an_error_is_in_the_layout_of_its_format() -> None:
    failure = DecodeError("topics[0]", 20, "needs 8 bytes")
    assert failure_line(DATA, failure, False) == "0014  14 15 16 17                   topics[0]  needs 8 bytes"
    dumped = failure_line(DATA, failure, False, "hexdump")
    assert dumped.startswith("00000014  14 15 16 17 ") and dumped.endswith(
        "|....            |  topics[0]  needs 8 bytes"
    )
    hidden = failure_line(DATA, failure, True, "hexdump")
    assert hidden.startswith("00000014  ** ** ** ** ") and "|****            |" in hidden
