import pytest

from kcli.core.records import batches as core
from kcli.errors import DecodeError
from kcli.records.conversion import Conversion, Slice
from kcli.records.damage import Damage, assess, stretches
from tests.records.vectors import named

ONE = named("one-record")


def judge(data: bytes, at: int = 0, last: bool = True) -> object:
    status, where, _ = core.whole(data, at, len(data))
    return assess(bytearray(data), len(data), where, status, last)


def test_a_cut_batch_at_the_end_is_lawful() -> None:
    verdict = judge(ONE[:-1])
    assert isinstance(verdict, Damage) and verdict.lawful and "67 are here" in verdict.reason
    assert judge(ONE[:-1], last=False) == "more"
    few = judge(ONE + b"\0" * 9)
    assert isinstance(few, Damage) and few.lawful and "9 bytes at the end" in few.reason


def test_behind_damage_the_next_sound_batch_is_found() -> None:
    verdict = judge(b"\xff" * 40 + ONE)
    assert verdict == Damage("undecodable", 0, 40, "says -1 bytes: 14 or more expected")


def test_a_size_that_leads_beyond_the_end_is_not_believed_when_a_sound_batch_follows() -> None:
    broken = bytearray(ONE)
    broken[8:12] = (10_000).to_bytes(4, "big")
    verdict = judge(bytes(broken) + ONE)
    assert isinstance(verdict, Damage) and (verdict.end, verdict.event) == (len(ONE), "undecodable")


def test_zeroes_to_the_end_are_named() -> None:
    verdict = judge(ONE + bytes(300))
    assert isinstance(verdict, Damage) and "300 zero bytes" in verdict.reason and not verdict.lawful


def test_a_lying_size_with_a_wrong_checksum() -> None:
    longer = bytearray(ONE)
    longer[11] += 5
    data = bytearray(bytes(longer) + ONE + ONE)
    verdict = assess(data, len(data), 0, core.SUSPECT, True)
    assert isinstance(verdict, Damage) and verdict.end == len(ONE) and "wrong checksum" in verdict.reason


def test_a_wrong_checksum_alone_is_taken_as_it_is() -> None:
    flipped = bytearray(ONE)
    flipped[-1] ^= 1
    data = flipped + ONE
    assert assess(data, len(data), 0, core.SUSPECT, True) == "trust"


def test_short_and_negative_magics_are_passed_over_by_their_size() -> None:
    short = bytearray(ONE[:40])
    short[8:12] = (28).to_bytes(4, "big")
    for data, reason in ((bytes(short), "too few"), (ONE[:16] + b"\xfe" + ONE[17:], "magic -2")):
        verdict = judge(data + b"\0" * 10)
        assert isinstance(verdict, Damage) and verdict.end == len(data) and reason in verdict.reason


def test_stretches() -> None:
    data = ONE * 3 + b"\1" * 30 + ONE * 2 + ONE[:20]
    found = [(s.chunk.base + s.start, s.chunk.base + s.stop, s.damage) for s in stretches(Slice.of(data).read, 150)]
    covered = sum(stop - start for start, stop, _ in found)
    damages = [damage for _, _, damage in found if damage]
    assert covered == 5 * len(ONE)
    assert [(damage.event, damage.end - damage.start) for damage in damages] == [("undecodable", 30), ("truncated", 20)]


def test_what_has_another_magic_is_no_batch_that_was_cut() -> None:
    text = b"root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    assert judge(text) == Damage("undecodable", 0, len(text), "magic 47: 0, 1 or 2 expected")
    behind = judge(ONE + text)
    assert isinstance(behind, Damage) and not behind.lawful and behind.start == len(ONE)
    conversion = Conversion(Slice.of(text), 1)
    with pytest.raises(DecodeError, match="no batch at 0x0: magic 47: 0, 1 or 2 expected"):
        list(conversion.chunks())
