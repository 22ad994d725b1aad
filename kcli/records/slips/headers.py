"""Slips in the header of a batch: its length, magic, counts, codec, or a field of another size."""

import zlib
from collections.abc import Iterator

from kcli.core.records.batches import CRC_START, HEADER_SIZE, LENGTH_END, MAGIC_AT, SIZE_AT
from kcli.grammar.slips.edits import Edit, Repair, int_at
from kcli.grammar.slips.places import Place
from kcli.grammar.slips.repairs import REPAIRS
from kcli.grammar.slips.search import Hint
from kcli.records.codecs import CODECS, compress
from kcli.records.slips.parts import (
    FIELDS,
    GZIP,
    MAGIC,
    UNFOLDED,
    Parts,
    number,
    oddness_of,
    parts_of,
    replaced,
    with_length,
)
from kcli.records.slips.record_forms import count_records

BEFORE_RECORDS = HEADER_SIZE - LENGTH_END
LENGTHS = {
    LENGTH_END: "does it count base offset and itself?",
    LENGTH_END - SIZE_AT: "does it count its own bytes?",
    SIZE_AT: "does it count the base offset?",
    -BEFORE_RECORDS: "does it count the records alone?",
}
SIZES = {name: REPAIRS[name] for name in ("narrower", "wider", "twice", "left out")}
SIGNED = frozenset(["partitionLeaderEpoch", "producerId", "producerEpoch", "baseSequence"])  # -1 in most batches
MOVED = range(SIZE_AT, MAGIC_AT + 10)  # positions of a misplaced magic
MOST = (1 << 31) - 1  # records
# Oddness of a batchLength that follows from the other changes, and of one that fits no length.
RESIZED, NO_LENGTH = 0.5, 2.5


def header_hints(batch: bytes, parts: Parts) -> Iterator[Hint]:
    """Yield hints for each change of the header that makes the batch readable."""
    for slip, at, words, question, mended in (
        *length_slips(batch),
        *magic_slips(batch),
        *count_slips(batch, parts),
        *codec_slips(batch, parts),
        *wrapper_slips(batch, parts),
    ):
        yield from sound(Hint(slip, at, words, question, mended, 0.0))
    for name, (start, end, type_) in FIELDS.items():
        for slip, edits in SIZES.items():
            for edit in edits(batch, Place(name, start, end, type_, closes=False)):
                yield from resized(batch, Repair(slip, start, blank_of(edit, slip, name)))


Change = tuple[str, int, str, str, bytes]  # slip, at, words, question, mended


def sound(hint: Hint) -> Iterator[Hint]:
    if (oddness := oddness_of(hint.frame)) is not None:
        yield hint._replace(oddness=oddness + hint.oddness)


def resized(batch: bytes, repair: Repair) -> Iterator[Hint]:
    """Yield hints on a field of another size. The batchLength may count the bytes as they are, or as they should be."""
    mended, edit = repair.mend(batch), repair.edit
    if len(mended) < HEADER_SIZE:
        return
    fitted = counted(with_length(mended), repair)
    cost = edit.cost
    if fitted != mended:
        lengths = len(batch) - LENGTH_END, len(mended) - LENGTH_END
        own = repair.at == SIZE_AT and number(batch, "batchLength") not in lengths
        cost += RESIZED if own or number(mended, "batchLength") in lengths else NO_LENGTH
    yield from sound(Hint(f"header {repair.slip}", repair.at, edit.words, edit.question, fitted, cost))


def counted(batch: bytes, repair: Repair) -> bytes:
    """Set a recordCount or lastOffsetDelta that was left out, from the other one."""
    if repair.slip == "left out" and repair.at == FIELDS["lastOffsetDelta"][0]:
        return replaced(batch, "lastOffsetDelta", max(0, number(batch, "recordCount") - 1))
    if repair.slip == "left out" and repair.at == FIELDS["recordCount"][0]:
        return replaced(batch, "recordCount", min(MOST, number(batch, "lastOffsetDelta") + 1))
    return batch


def blank_of(edit: Edit, slip: str, name: str) -> Edit:
    """Return the edit of a field that was left out with the value that the field has in most batches."""
    if slip != "left out" or edit.removed or not edit.inserted or any(edit.inserted):
        return edit
    if name == "magic":
        return edit._replace(inserted=bytes([MAGIC]))
    is_minus_one = name in SIGNED and len(edit.inserted) > 1
    return edit._replace(inserted=b"\xff" * len(edit.inserted)) if is_minus_one else edit


def length_slips(batch: bytes) -> Iterator[Change]:
    declared, right = number(batch, "batchLength"), len(batch) - LENGTH_END
    if declared == right:
        return
    little = int_at(batch, SIZE_AT, LENGTH_END - SIZE_AT, "little")
    question = (
        "was it written little endian?" if little == right else LENGTHS.get(declared - right, f"it says {declared}")
    )
    yield "length", SIZE_AT, f"with a batchLength of {right}", question, with_length(batch)


def magic_slips(batch: bytes) -> Iterator[Change]:
    if batch[MAGIC_AT] == MAGIC:
        return
    words = f"with magic {MAGIC}"
    yield "magic", MAGIC_AT, words, f"is it {batch[MAGIC_AT]}?", replaced(batch, "magic", MAGIC)
    for at in MOVED:
        if at != MAGIC_AT and batch[at] == MAGIC:
            rest = batch[:at] + batch[at + 1 :]
            mended = with_length(rest[:MAGIC_AT] + bytes([MAGIC]) + rest[MAGIC_AT:])
            yield "magic", MAGIC_AT, words, f"does it stand at {at:#x}, in another order?", mended


def count_slips(batch: bytes, parts: Parts) -> Iterator[Change]:
    """Yield changes of a wrong recordCount or lastOffsetDelta, by the other one and the records."""
    counted_records = count_records(parts.records) if parts.records is not None else None
    if counted_records is None or counted_records == 0:
        return
    start, delta_start = FIELDS["recordCount"][0], FIELDS["lastOffsetDelta"][0]
    counted = replaced(batch, "recordCount", counted_records)
    right = replaced(counted, "lastOffsetDelta", counted_records - 1)
    if parts.record_count != counted_records:
        question = (
            "is it the last offset delta?"
            if parts.record_count == counted_records - 1
            else f"it says {parts.record_count}"
        )
        yield "count", start, f"with a recordCount of {counted_records}, as many as there are", question, right
    elif parts.last_delta != counted_records - 1:
        question = "is it the count?" if parts.last_delta == counted_records else f"it says {parts.last_delta}"
        yield "last offset delta", delta_start, f"with a lastOffsetDelta of {counted_records - 1}", question, right


def codec_slips(batch: bytes, parts: Parts) -> Iterator[Change]:
    """Yield changes of the codec in the attributes to one that fits the payload."""
    attributes = number(batch, "attributes")
    swapped = int.from_bytes(attributes.to_bytes(2, "big"), "little")
    if 0 < swapped < len(CODECS) and swapped != attributes:
        yield (
            "codec",
            CRC_START,
            "with big-endian attributes",
            "was it written little endian?",
            replaced(batch, "attributes", swapped),
        )
    for codec, name in enumerate(CODECS):
        if codec != parts.codec:
            mended = replaced(batch, "attributes", attributes & ~7 | codec)
            found = parts_of(mended)
            if found is not None and found.records is not None and count_records(found.records) == parts.record_count:
                codec_text = CODECS[parts.codec] if parts.codec < len(CODECS) else f"codec {parts.codec}"
                yield "codec", CRC_START, f"with codec {name} in the attributes", f"do they say {codec_text}?", mended


def wrapper_slips(batch: bytes, parts: Parts) -> Iterator[Change]:
    """Yield a change for deflated records that are not wrapped in gzip."""
    if parts.codec != GZIP or parts.records is not None:
        return
    for window, name in ((zlib.MAX_WBITS, "a zlib stream"), (-zlib.MAX_WBITS, "raw deflate")):
        unfolder = zlib.decompressobj(window)
        try:
            records = unfolder.decompress(batch[HEADER_SIZE:], UNFOLDED)
        except zlib.error:
            continue
        if unfolder.eof and not unfolder.unused_data:
            mended = with_length(batch[:HEADER_SIZE] + compress(GZIP, records, MAGIC))
            yield "codec", HEADER_SIZE, "with gzip around the deflated records", f"are they {name}?", mended
