"""Wrong checksums of batches that are otherwise right: another polynomial, other bytes, another byte order, computed
too early.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcli.core.records.batches import CRC_AT, CRC_START, HEADER_SIZE, LENGTH_END, MAGIC_AT
from kcli.core.records.crc import crc32, crc32c
from kcli.grammar.slips.search import Hint
from kcli.records.slips.parts import FIELDS, Parts, replaced

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
            made = crc(data)
            for value, how in spellings(made):
                if value == parts.crc and (value != right):
                    yield f"is it {name}{how} of {text}?"
        if parts.codec and parts.records is not None:
            unfolded = crc(batch[CRC_START:HEADER_SIZE] + parts.records)
            if unfolded == parts.crc:
                yield f"is it {name} of the records before they were compressed?"
    if not parts.crc:
        yield "was it left 0?"
    for name in EARLY:
        start, end, _ = FIELDS[name]
        for blanked in (b"\0", b"\xff"):
            early = batch[:start] + blanked * (end - start) + batch[end:]
            if crc32c(early[CRC_START:]) == parts.crc:
                yield f"was {name} set after it was taken?"


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
