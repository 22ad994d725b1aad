"""The likely slip in a batch that is refused or does not decode: the one change that makes it right."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from kcli.core.records import batches as core
from kcli.core.records import record_values
from kcli.core.records.batches import CRC_AT, CRC_START, HEADER_SIZE, LENGTH_END, MAGIC_AT
from kcli.core.records.crc import crc32, crc32c
from kcli.grammar.slips.edits import int_at, varint_at
from kcli.grammar.slips.plausibility import NONSENSE
from kcli.grammar.slips.search import Hint, joined, likeliest
from kcli.records.batches import scan
from kcli.records.codecs import compress
from kcli.records.damage import Damage
from kcli.records.record_faults import header_faults, record_fault
from kcli.records.secrets import is_secret_value
from kcli.records.slips.headers import header_hints
from kcli.records.slips.parts import FIELDS, MAGIC, Parts, number, oddness_of, parts_of, replaced, with_length
from kcli.records.slips.record_forms import FORMS, NUMBERS, Form, ReadRecord, read_one, read_records

LARGEST = 1 << 18  # larger batches are not searched; bytes
SIZES = tuple(name for name in NUMBERS if name not in ("timestampDelta", "offsetDelta"))
GROUPS = {
    "the lengths of key and value": ("key", "value"),
    "the lengths of key, value and headers": SIZES[1:],
    "all lengths": SIZES,
    "all numbers": NUMBERS,
}
NUMBER_TEXTS = {name: f"the length of {name}" for name in NUMBERS} | {
    "length": "the length",
    "timestampDelta": "timestampDelta",
    "offsetDelta": "offsetDelta",
    "headers": "the number of headers",
    "attributes": "attributes",
}
ABSENT = 1 << 40  # ms: a larger timestamp delta is an absolute time
POLYNOMIAL = 0x82F63B78  # of CRC-32C, its lowest bit first
LOW = (1 << 24) - 1
FULL = (1 << 32) - 1
RIGHT = "CRC-32C of all from attributes on"
CRCS = (("CRC-32C", crc32c), ("CRC-32", crc32))
STARTS = {
    0: "the whole batch",
    LENGTH_END: "all from partitionLeaderEpoch on",
    MAGIC_AT: "all from magic on",
    CRC_AT: "all from crc on, which is 0 then",
    CRC_START: "all from attributes on",
    CRC_START + 2: "all behind attributes",
    HEADER_SIZE: "the records alone",
}
SKIPPED = {start: text for start, text in STARTS.items() if start < CRC_AT}
EARLY = [name for name, (start, _end, _type) in FIELDS.items() if start >= CRC_START]


def batch_text(hints: list[Hint], start: int | None = None) -> str:
    """Format hints; "" for none. start: position of the batches in the message that is the input; None: they are the
    input.
    """
    inside = None if start is None else ("the batches", "the input")
    return joined(hints, start or 0, "the batch is right", inside)


def batch_hints(data: bytes) -> list[Hint]:
    """Return likely faults of the first faulty batch of magic 2, the likeliest first, at most three.

    [] if no change makes it right, or nothing is wrong. Positions are those in `data`. Time and memory are bounded.
    """
    if found := framed_hints(data):
        return found
    start, batch = first_damaged(data)
    parts = parts_of(batch)
    if parts is None or len(batch) > LARGEST:
        return []
    found = [*all_hints(batch, parts)]
    mended = {hint.frame for hint in found}
    found += [hint for hint in changed_byte_hints(batch, parts) if hint.frame not in mended]  # a field's name is better
    return [hint._replace(at=hint.at + start) for hint in likeliest(found)]


def framed_hints(data: bytes) -> list[Hint]:
    """Return a hint if right batches have a length in front of them."""
    for width, name in ((4, "int32"), (0, "a varint")):
        found = varint_at(data, 0) if not width else (int_at(data, 0, width), width)
        if found is None or found[0] is None:
            continue
        prefix_text, rest = found[0], data[found[1] :]
        if prefix_text - len(rest) in (0, 1) and is_sound(rest):
            words = "without the length in front of it"
            return [Hint("framing", 0, words, f"was one written as {name}?", rest, 0.0)]
    return []


def is_sound(data: bytes) -> bool:
    """Return whether the bytes are batches to the last byte, each with a right checksum."""
    damages = list[Damage]()
    checked = [batch.crc_valid for batch in scan(data, damages=damages)]
    return bool(checked) and all(checked) and not damages


def first_damaged(data: bytes) -> tuple[int, bytes]:
    """Return (position, bytes) of the first faulty batch, up to the next sound batch or the end."""
    damages = list[Damage]()
    for batch in scan(data, damages=damages):
        start = damages[0].start if damages else batch.position
        if damages or not batch.crc_valid or record_fault(batch) or any(header_faults(batch)):
            following = core.find(data, start + 1, len(data))
            return start, data[start : following if following - start >= HEADER_SIZE else len(data)]
    start = damages[0].start if damages else 0
    return start, data[start:]


def all_hints(batch: bytes, parts: Parts) -> Iterator[Hint]:
    whole = oddness_of(batch)
    if whole is not None:
        yield from checksum_hints(batch, parts)
    else:
        yield from header_hints(batch, parts)
    if parts.records is not None and parts.record_count > 0:
        yield from record_hints(batch, parts, parts.records)


def record_hints(batch: bytes, parts: Parts, data: bytes) -> Iterator[Hint]:
    """Yield hints on records in another form, or with other deltas than Kafka's."""
    problem, (steady, _), _ = record_values.walk_records(data, parts.record_count)
    if problem is None:
        read = read_records(data, parts.record_count, {}) or []
        if not steady:
            yield from delta_hints(batch, parts, read)
        if read and parts.base_time > 0 and all(record.time > ABSENT for record in read):
            yield from time_hint(batch, parts, read)
        return
    if problem[1] >= parts.record_count:
        return  # all records are there, with bytes after them
    for form, name, fields in forms_to_try():
        forms = dict.fromkeys(fields, form.read)
        if every := read_records(data, parts.record_count, forms):
            mended = b"".join(record.canonical for record in every)
            first = next((record.at[fields[0]] for record in every if fields[0] in record.at), 0)
            where = Where(f"{name} in each record", position(parts, first))
            yield from rewritten(batch, parts, mended, form, where, oddness(every))
        if one := read_one(data, parts.record_count, forms, problem[1]):
            mended, record = one
            where = Where(f"{name} in records[{problem[1]}]", position(parts, record.at.get(fields[0], 0)))
            yield from rewritten(batch, parts, mended, form, where, oddness([record]))


def oddness(records: list[ReadRecord]) -> float:
    """Return how odd records are: NONSENSE if one has attributes, which Kafka does not use."""
    return NONSENSE if any(record.attributes for record in records) else 0.0


class Where(NamedTuple):
    """The numbers that are written in another form, as a text, and the position of the first."""

    numbers: str
    at: int


def forms_to_try() -> Iterator[tuple[Form, str, tuple[str, ...]]]:
    """Yield (form, text, names of numbers): each number by itself, and the groups that programs write in one form."""
    for form in FORMS:
        yield from ((form, NUMBER_TEXTS[name], (name,)) for name in form.fields)
        yield from ((form, text, names) for text, names in GROUPS.items() if set(names) <= {*form.fields})


def rewritten(
    batch: bytes, parts: Parts, records: bytes, form: Form, where: Where, odd_records: float
) -> Iterator[Hint]:
    """Yield a hint if the batch is right with these records."""
    mended = with_length(batch[:HEADER_SIZE] + bytes(compress(parts.codec, records, MAGIC)))
    if (score := oddness_of(mended)) is not None:
        written = "put in" if where.numbers.startswith("attributes") else form.right
        words = f"with {where.numbers} {written}"
        yield Hint(f"record {form.slip}", where.at, words, form.question, mended, score + odd_records)


def position(parts: Parts, at: int) -> int:
    """Return a record's position in the batch; of compressed records the position of the payload."""
    return HEADER_SIZE if parts.codec else HEADER_SIZE + at


def delta_hints(batch: bytes, parts: Parts, records: list[ReadRecord]) -> Iterator[Hint]:
    """Yield hints on offset deltas that do not run on from 0."""
    deltas = [record.offset_delta for record in records]
    right = list(range(len(deltas)))
    wrong = [i for i, delta in enumerate(deltas) if delta != i]
    at = position(parts, records[wrong[0]].at["offsetDelta"]) if wrong else 0
    if wrong and all(unfolded(deltas[i]) == i for i in wrong):
        each = [unfolded(delta) for delta in deltas] == right and len(wrong) > 1
        first = position(parts, records[0].at["offsetDelta"]) if each else at
        where = "each record" if each else f"records[{wrong[0]}]"
        words = f"with offsetDelta in {where} as zigzag varint"
        yield Hint("record zigzag left out", first, words, "was zigzag left out?", batch, 0.0)
    if wrong and deltas == [i + deltas[0] for i in right]:
        question = (
            "are they absolute?" if deltas[0] == number(batch, "baseOffset") else f"do they begin at {deltas[0]}?"
        )
        yield Hint("offset deltas", at, "with offset deltas from 0 on", question, batch, 0.0)
    elif len(wrong) == 1:
        words = f"with an offset delta of {wrong[0]} in records[{wrong[0]}]"
        yield Hint("offset deltas", at, words, f"is it {deltas[wrong[0]]}?", batch, 0.0)
    elif wrong and len(set(deltas)) == 1:
        yield Hint("offset deltas", at, "with offset deltas from 0 on", f"are all {deltas[0]}?", batch, 0.0)


def unfolded(value: int) -> int:
    """Return the number whose plain varint was read as this zigzag value."""
    return value << 1 if value >= 0 else (-value << 1) - 1


def time_hint(batch: bytes, parts: Parts, records: list[ReadRecord]) -> Iterator[Hint]:
    at = position(parts, records[0].at["timestampDelta"])
    words = "with timestamps as deltas from baseTimestamp"
    yield Hint("timestamps", at, words, "are they absolute?", batch, 0.0)


@cache
def backward() -> list[tuple[int, int]]:
    """Return (byte that was shifted out, CRC table's entry for it) by the upper byte of a checksum."""
    found = [(0, 0)] * 256
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
        found[value >> 24] = byte, value
    return found


def changed_byte_hints(batch: bytes, parts: Parts) -> Iterator[Hint]:
    """Yield hints on the one byte with which the batch is right: of the bytes under the checksum, or of the checksum
    itself. Of a batch with a secret only the position is shown.
    """
    right = crc32c(batch[CRC_START:])
    difference = right ^ parts.crc
    places = [*changed_bytes(batch, difference)] if difference else []
    frames = [(at, batch[:at] + bytes([batch[at] ^ bits]) + batch[at + 1 :]) for at, bits in places]
    differing = [place for place, byte in enumerate(difference.to_bytes(4, "big")) if byte]
    if len(differing) == 1:
        frames.append((CRC_AT + differing[0], replaced(batch, "crc", right)))
    for at, frame in frames:
        if oddness_of(frame) is not None:
            words, now = f"with the byte {frame[at]:02x}", f"it is {batch[at]:02x}"
            if has_secret(frame):
                words, now = "with another byte", "which one is not told, as the batch has a secret"
            yield Hint("changed byte", at, words, now, frame, 0.0)


def has_secret(batch: bytes) -> bool:
    """Return whether a record's value in a right batch is a secret."""
    return any(is_secret_value(record.value or b"") for each in scan(batch) for record in each.records())


def changed_bytes(batch: bytes, difference: int) -> Iterator[tuple[int, int]]:
    """Yield (position, bits that differ) of each byte whose change alone makes this difference of checksums."""
    table = backward()
    for at in range(len(batch) - 1, CRC_START - 1, -1):
        byte, value = table[difference >> 24]
        difference = (((difference ^ value) & LOW) << 8) | byte
        if difference < 256:
            yield at, difference


def checksum_hints(batch: bytes, parts: Parts) -> Iterator[Hint]:
    """Yield hints on how the wrong checksum was computed, if that can be seen."""
    right = crc32c(batch[CRC_START:])
    if right == parts.crc:
        return
    mended = replaced(batch, "crc", right)
    for question in questions(batch, parts, right):
        yield Hint("checksum", CRC_AT, f"with the {RIGHT}", question, mended, 0.0)


def questions(batch: bytes, parts: Parts, right: int) -> Iterator[str]:
    """Yield the possible mistakes, as questions, that lead to the checksum of the batch."""
    covered = covered_bytes(batch)
    for name, crc in CRCS:
        for text, data in covered.items():
            for value, how in spellings(crc(data)):
                if value == parts.crc and value != right:
                    yield f"is it {name}{how} of {text}?"
        unfolded = parts.records if parts.codec else None
        if unfolded is not None and crc(batch[CRC_START:HEADER_SIZE] + unfolded) == parts.crc:
            yield f"is it {name} of the records before they were compressed?"
    if not parts.crc:
        yield "was it left 0?"
    for name in EARLY:
        if parts.crc in (crc32c(early[CRC_START:]) for early in blanked(batch, name)):
            yield f"was {name} set after it was taken?"


def blanked(batch: bytes, name: str) -> Iterator[bytes]:
    """Yield a batch with 0, and with -1, in a field."""
    start, end, _ = FIELDS[name]
    for filling in (b"\0", b"\xff"):
        yield batch[:start] + filling * (end - start) + batch[end:]


def covered_bytes(batch: bytes) -> dict[str, bytes]:
    """Return {description: bytes} of the ranges that a checksum may cover."""
    blank = replaced(batch, "crc", 0)
    covered = {text: blank[start:] for start, text in STARTS.items()}
    covered |= {f"{SKIPPED[start]} but crc": batch[start:CRC_AT] + batch[CRC_START:] for start in SKIPPED}
    covered["partitionLeaderEpoch and all from attributes on"] = batch[LENGTH_END:MAGIC_AT] + batch[CRC_START:]
    for epoch in (0, -1):
        other = epoch.to_bytes(4, "big", signed=True)
        if other != batch[LENGTH_END:MAGIC_AT]:
            early, description = other + batch[MAGIC_AT:CRC_AT], f"{STARTS[LENGTH_END]}, with {epoch} there"
            covered |= {description: early + blank[CRC_AT:], f"{description}, but crc": early + batch[CRC_START:]}
    return covered


def spellings(value: int) -> Iterator[tuple[int, str]]:
    """Yield (checksum, text) for the forms in which a checksum may be written."""
    yield value, ""
    yield int.from_bytes(value.to_bytes(4, "big"), "little"), ", little endian,"
    yield value ^ FULL, ", not inverted at the end,"
