"""Headers with one thing wrong, each mended and said in words."""

import pytest

from kcli.records.slips.headers import header_hints
from kcli.records.slips.hints import batch_hints
from kcli.records.slips.parts import parts_of, replaced
from tests.records.slips.making import batch_bytes, checked, put, with_length

PAIRS = [(b"k", b"one"), (None, b"two"), (b"k", None)]
BATCH = batch_bytes(PAIRS)
ZSTD = batch_bytes(PAIRS, 4)
SIZE = len(BATCH) - 12


@pytest.mark.parametrize(
    ("wrong", "right", "text"),
    [
        (
            put(BATCH, 8, (SIZE + 12).to_bytes(4, "big")),
            BATCH,
            f"with a batchLength of {SIZE} at 0x8: does it count base offset and itself?",
        ),
        (put(BATCH, 8, (SIZE + 4).to_bytes(4, "big")), BATCH, "does it count its own bytes?"),
        (put(BATCH, 8, (SIZE + 8).to_bytes(4, "big")), BATCH, "does it count the base offset?"),
        (put(BATCH, 8, (SIZE - 49).to_bytes(4, "big")), BATCH, "does it count the records alone?"),
        (put(BATCH, 8, SIZE.to_bytes(4, "little")), BATCH, "was it written little endian?"),
        (
            BATCH[:12] + b"\2" + BATCH[12:16] + BATCH[17:],
            BATCH,
            "with magic 2 at 0x10: does it stand at 0xc, in another order?",
        ),
        (put(BATCH, 16, b"\1"), BATCH, "with magic 2 at 0x10: is it 1?"),
        (
            checked(replaced(BATCH, "recordCount", 4)),
            None,
            "with a recordCount of 3, as many as there are at 0x39: it says 4",
        ),
        (checked(replaced(BATCH, "recordCount", 2)), None, "is it the last offset delta?"),
        (checked(replaced(BATCH, "lastOffsetDelta", 3)), None, "with a lastOffsetDelta of 2 at 0x17: is it the count?"),
        (
            checked(replaced(BATCH, "attributes", 1)),
            None,
            "with codec none in the attributes at 0x15: do they say gzip?",
        ),
        (
            checked(replaced(ZSTD, "attributes", 0)),
            None,
            "with codec zstd in the attributes at 0x15: do they say none?",
        ),
        (checked(put(ZSTD, 21, b"\4\0")), None, "with big-endian attributes at 0x15: was it written little endian?"),
        (with_length(BATCH[:12] + BATCH[16:]), BATCH, "with partitionLeaderEpoch put in at 0xc: was it left out?"),
        (BATCH[:12] + BATCH[16:], BATCH, "with partitionLeaderEpoch put in at 0xc: was it left out?"),
        (with_length(BATCH[:53] + BATCH[57:]), BATCH, "with baseSequence put in at 0x35: was it left out?"),
        (with_length(BATCH[:23] + BATCH[27:]), BATCH, "with lastOffsetDelta put in at 0x17: was it left out?"),
        (with_length(BATCH[:57] + BATCH[61:]), BATCH, "with recordCount put in at 0x39: was it left out?"),
        (
            with_length(BATCH[:23] + BATCH[25:]),
            BATCH,
            "with lastOffsetDelta as int32 at 0x17: was it written as int16?",
        ),
        (BATCH[:16] + BATCH[17:], BATCH, "with magic put in at 0x10: was it left out?"),
    ],
)
def test_a_header_is_mended(wrong: bytes, right: bytes | None, text: str) -> None:
    parts = parts_of(wrong)
    assert parts is not None
    found = {hint.text(): hint.frame for hint in header_hints(wrong, parts)}
    (key,) = [each for each in found if each.endswith(text)]
    assert right in (None, found[key])


@pytest.mark.parametrize("length", ["as it is", "as it was to be"])
@pytest.mark.parametrize(
    ("at", "gone", "epoch", "slip"),
    [
        # What stands where the length is to be tells that baseOffset is whole.
        (12, 4, 0, "header left out"),
        # A number that is 0 is 0 when it is written in fewer bytes, too.
        (53, 2, 0, "header narrower"),
    ],
)
def test_the_true_slip_of_two_is_the_first(length: str, at: int, gone: int, epoch: int, slip: str) -> None:
    batch = BATCH
    for name in ("producerId", "producerEpoch", "baseSequence") if at == 53 else ():
        batch = replaced(batch, name, epoch)
    batch = checked(batch)
    damaged = batch[:at] + batch[at + gone :]
    if length == "as it is":
        damaged = with_length(damaged)
    first = batch_hints(damaged)[0]
    assert (first.slip, first.at) == (slip, at)
