"""Lengths in front of frames that are written wrongly; see tests/cli/decode/test_message_input.py, too."""

import pytest

from kcli.grammar.slips.framings import framings

BODY = b"abcdefgh"


def test_right_lengths_are_no_slip() -> None:
    assert framings(len(BODY).to_bytes(4, "big") + BODY) == []
    assert framings(BODY) == framings(b"") == []


@pytest.mark.parametrize(("order", "extra"), [("big", 4), ("little", 0), ("little", 4), ("big", 1), ("big", -1)])
def test_the_frames_lie_behind_their_lengths(order: str, extra: int) -> None:
    prefix = (len(BODY) + extra).to_bytes(4, "big" if order == "big" else "little")
    (found,) = framings((prefix + BODY) * 2)
    assert found.frames == [(4, 12), (16, 24)]
    assert found.slip.startswith("the length at 0x0 ")


def test_lengths_that_do_not_lead_to_the_end_are_none() -> None:
    assert framings(b"\0\0\0\x0e" + BODY + b"x") == []
