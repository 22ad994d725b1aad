"""One slip in every length or count of a message: found, and mended to the right bytes."""

import pytest

from kcli.grammar import frames
from kcli.grammar.slips.hints import request_hints
from kcli.grammar.slips.places import Layout
from kcli.grammar.slips.throughout import throughout_hints

PLAIN = (
    "0008 0007 00000007 {}636c69 {}67726f7570 00000003 {}6d656d ffff {} {}6f7264657273 {} "
    "00000000 000000000000002a ffffffff 0000"
)
FLEXIBLE = (
    "0008 0008 00000007 0003636c69 00 {}67726f7570 00000003 {}6d656d {} {} {}6f7264657273 {} "
    "00000000 000000000000002a ffffffff {} 00 00 00"
)
ONE = "00000001"
RIGHT = bytes.fromhex(PLAIN.format("0003", "0005", "0003", ONE, "0006", ONE))
RIGHT_FLEXIBLE = bytes.fromhex(FLEXIBLE.format("06", "04", "00", "02", "07", "02", "01"))


@pytest.mark.parametrize(
    ("numbers", "slip", "at", "words"),
    [
        (("05", "03", "00", "02", "06", "02", "00"), "no + 1", 14, "with every string length one higher"),
        (("06", "04", "00", "01", "07", "01", "01"), "no + 1", 29, "with every count one higher"),
        (("05", "03", "00", "01", "06", "01", "00"), "no + 1", 14, "with every length and count one higher"),
        (("0005", "0003", "ffff", "02", "0006", "02", "0000"), "non-compact", 14, "with every string length compact"),
        (("06", "04", "00", ONE, "07", ONE, "01"), "non-compact", 29, "with every count compact"),
        (("0c", "08", "00", "02", "0e", "02", "02"), "zigzag", 14, "with every string length unsigned"),
        (("0003", "0005", "0003", "0001", "0006", "0001"), "length width", 31, "with every count as int32"),
        (("0003", "0005", "0003", "01000000", "0006", "01000000"), "little endian", 31, "with every count big-endian"),
        (("0300", "0500", "0300", ONE, "0600", ONE), "little endian", 8, "with every string length big-endian"),
        (("0003", "0005", "0003", "02", "0006", "02"), "compact", 31, "with every count as int16 or int32"),
    ],
)
def test_every_number_in_another_form(numbers: tuple[str, ...], slip: str, at: int, words: str) -> None:
    frame = bytes.fromhex((PLAIN if len(numbers) == 6 else FLEXIBLE).format(*numbers))
    (first, *_) = request_hints(frame)
    assert (first.slip, first.at, first.words) == (slip, at, words)
    expected = RIGHT if len(numbers) == 6 else RIGHT_FLEXIBLE
    assert len(first.frame) == len(expected)
    assert [*differing(first.frame, expected)] in ([], [expected.index(b"\xff" * 4) + 4])  # null metadata for empty


def differing(one: bytes, other: bytes) -> list[int]:
    return [i for i, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]


def test_right_and_hopeless_frames_have_none() -> None:
    for frame in (RIGHT, RIGHT_FLEXIBLE, RIGHT[:-7], RIGHT_FLEXIBLE + bytes(9)):
        assert [*throughout_hints(Layout(*frames.request_codecs(frame)), frame)] == []
