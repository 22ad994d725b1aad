"""Records that were cut out of responses, as zeroes in their places."""

import struct

import pytest

from kcli.core.sessions.fetches import filled


def test_zeroes_stand_where_records_were() -> None:
    assert filled(b"abcd", b"") == b"abcd"
    assert filled(b"abcd", struct.pack("=4q", 1, 2, 3, 1)) == b"a\0\0bc\0d"
    assert filled(b"", struct.pack("=2q", 0, 3)) == b"\0\0\0"


@pytest.mark.parametrize("cuts", [(5, 1), (-1, 1), (0, -1), (2, 1, 1, 1), (0, 1 << 40)])
def test_cuts_that_do_not_fit_are_refused(cuts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="cuts beyond their response"):
        filled(b"abcd", struct.pack(f"={len(cuts)}q", *cuts))
