"""Faults of record batches, from a producer or a log."""

from collections.abc import Iterator, Sequence

from kcli.core.records import record_values
from kcli.errors import InputError
from kcli.records.batches import NO_EPOCH, Batch, problem_text, scan
from kcli.records.codecs import CODECS, decompress
from kcli.records.damage import Damage

LZ4 = CODECS.index("lz4")


def field_faults(
    data: bytes | memoryview, *, produced: bool = False, problems: Sequence[tuple[int, str, str, int]] | None = None
) -> list[str]:
    """Return the faults of the batches of a records field or segment, as one line each.

    produced: a producer sent them; problems: those of a reader that has checked the checksums and the bytes between
    batches (see `Findings`); records of the batches with such problems are not checked again
    """
    checked, lines, damages = problems is not None, [], list[Damage]()
    known = {start for *_, start in problems or ()}
    for batch in scan(data, check=not checked, damages=damages):
        found = [f"{name}: {reason}" for name, reason in header_faults(batch, produced)]
        if not checked and not batch.crc_valid:
            found.append(f"crc: {batch.crc:08x} is wrong")
        if batch.file_position not in known and (fault := record_fault(batch, produced)):
            found.append(fault)
        lines += [f"batch at {batch.file_position:#x}: {text}" for text in found]
    if not checked:
        lines += [f"at {damage.start:#x}: {damage.reason}" for damage in damages if not damage.lawful]
    return lines


def tolerated_payloads(batches: Sequence[Batch]) -> list[str]:
    """Return texts on faults in the payloads of batches that Kafka nevertheless reads."""
    tolerated = list[str]()
    for batch in batches:
        if batch.codec == LZ4:
            decompress(batch.codec, batch.payload or b"", batch.magic, tolerated=tolerated)
    return tolerated


def is_fresh(batch: Batch) -> bool:
    """Return whether no broker has assigned offsets to the batch yet: base offset 0, no leader epoch."""
    return batch.base_offset == 0 and batch.partition_leader_epoch == NO_EPOCH


def header_faults(batch: Batch, produced: bool = False) -> Iterator[tuple[str, str]]:
    """Yield (field, fault) of a batch's header, except its checksum.

    Compaction leaves fewer records than offsets, but a producer's batch has as many. produced: it is a producer's (see
    `is_fresh`).
    """
    if batch.magic > 2:
        yield "magic", f"magic {batch.magic}: 0, 1 or 2 expected"
    if batch.codec >= len(CODECS):
        yield "attributes", f"codec {batch.codec}: 0 to {len(CODECS) - 1} expected"
    if batch.magic < 2:
        return
    offset_count = batch.last_offset - batch.base_offset + 1
    fresh = produced or is_fresh(batch)
    if offset_count < batch.count or (fresh and offset_count != batch.count):
        yield "lastOffsetDelta", f"{offset_count - 1}: {batch.count - 1} expected for {batch.count} records"
    if fresh and batch.count <= 0:
        yield "recordCount", f"{batch.count}: 1 or more expected"
    if batch.is_transactional and batch.producer_id < 0:
        yield "attributes", "transactional without a producer id"
    if batch.producer_id >= 0 and batch.base_sequence < 0 and not batch.is_control:
        yield "baseSequence", f"{batch.base_sequence} with producer id {batch.producer_id}: 0 or more expected"


def record_fault(batch: Batch, produced: bool = False) -> str | None:
    """Return the first fault of the records; None if there is none. produced: as for `header_faults`."""
    if batch.magic < 2 and not batch.codec:
        return None
    if batch.magic < 2 or not batch.count:
        try:
            for _ in batch.records():
                pass
        except InputError as error:
            return str(error)
        return None
    try:
        data = decompress(batch.codec, batch.payload or b"", batch.magic)
    except InputError as error:
        return f"records: {error}"
    problem, (steady, largest), _ = record_values.walk_records(data, batch.count)
    if problem is not None:
        return ": ".join(problem_text(problem))
    delta = batch.last_offset - batch.base_offset
    if largest > delta:
        return f"records: offset delta {largest}, above lastOffsetDelta {delta}"
    if (produced or is_fresh(batch)) and not steady:
        return f"records: offset deltas 0 to {batch.count - 1} in order expected"
    return None
