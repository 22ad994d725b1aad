"""Lengths and counts of a wrong number; the words of the hints are in test_lengths.py."""

import pytest

from kcli.grammar.slips.lengths import miscounted
from kcli.grammar.slips.places import Place
from tests.grammar.slips.test_edits import mended


@pytest.mark.parametrize("said", [0, 16, 18, 400])
def test_a_length_of_records_is_that_of_their_batches(said: int) -> None:
    batch = bytes(8) + (5).to_bytes(4, "big") + b"batch"
    edits = [*miscounted(said.to_bytes(4, "big") + batch, Place("f", 0, 0, "records", closes=False))]
    assert (edits[0].removed, edits[0].inserted, edits[0].question) == (4, (17).to_bytes(4, "big"), f"it says {said}")


def test_a_bit_of_a_length_that_changed() -> None:
    """Any bit of it, so that the rest fits; in a varint also the one that says whether it goes on."""
    assert mended("flipped bit", "string", "0042 6869") == {
        bytes.fromhex("0002 6869"): ("with a length of f of 2", "it says 66: did one bit change?")
    }
    compact = mended("flipped bit", "compact string", "83 6869")
    assert compact[bytes.fromhex("03 6869")] == ("with a length of f of 2", "it says 13314: did one bit change?")
    assert {made[:1] for made in compact} <= {bytes([0x83 ^ 1 << bit]) for bit in range(8)} | {b"\x83"}
    words = {said for _, said in mended("flipped bit", "compact bytes", "8280808080 00").values()}
    assert words == {"it says no number: did one bit change?"}
    assert mended("flipped bit", "int32", "00000042") == {}


def test_null_what_does_not_fit_and_one_more_of_a_compact_length_are_no_miscounts() -> None:
    assert mended("miscounted", "string", "ffff") == mended("miscounted", "string", "7fff 6869") == {}
    assert bytes.fromhex("03 6869") not in mended("miscounted", "compact string", "02 6869")
