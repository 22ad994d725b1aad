"""Rules about a file as a whole: its name, batches, checksums, offsets, header and footer."""

from collections.abc import Iterator
from typing import Any

from kcli.input_names import STDIN, name_of
from kcli.schemas.field_codes import ControlType
from kcli.snapshots.reading.walk import PROBLEMS
from kcli.snapshots.rules.evidence import Control, Evidence
from kcli.snapshots.rules.findings import Judged, more, rule

STANDARD_INPUT = name_of(STDIN)  # its name is not judged
STATES = {
    "part": "the name says that it is unfinished (.part)",
    "deleted": "the name says that it is about to be deleted (.deleted)",
    "other": "the name continues after .checkpoint",
}
FORM = "<20-digit end offset>-<10-digit epoch>.checkpoint"

OF_SNAPSHOTS = range(ControlType.SNAPSHOT_HEADER, ControlType.KRAFT_VOTERS + 1)


@rule("name")
def judge_name(found: Evidence) -> Iterator[Judged]:
    if found.file == STANDARD_INPUT:
        return
    if found.name is None:
        if found.is_snapshot:
            yield (
                "error",
                None,
                f"a snapshot under the name {found.file}: Kafka does not take it for one ({FORM} expected)",
            )
        elif found.base is None and found.batches:
            yield (
                "error",
                None,
                f"the name {found.file} is neither a snapshot's ({FORM}) nor a segment's (<20 digits>.log)",
            )
    elif not found.name.exact:
        yield "error", None, f"the name {found.file} is not spelled {FORM}: {found.name.id.file_name} expected"
    elif found.name.state != "ready":
        yield "error", None, f"{STATES[found.name.state]}: {found.name.id.file_name} expected"


@rule("empty")
def judge_empty(found: Evidence) -> Iterator[Judged]:
    if not found.size and found.base is None:
        yield "error", None, "the file is empty: a header and a footer at least expected"


@rule("framing")
def judge_framing(found: Evidence) -> Iterator[Judged]:
    if found.fault is not None:
        yield "error", found.fault.position, f"{found.fault.reason}; {found.fault.left:,} bytes are not read"
    for position, magic in found.magics:
        yield "error", position, f"a batch of magic {magic}: Kafka reads metadata in magic 2 only"
    for position, reason in found.unopened:
        yield "error", position, f"the batch can't be decompressed: {reason}"


@rule("checksum")
def judge_checksums(found: Evidence) -> Iterator[Judged]:
    for position, stored, computed in found.bad_checksums.items[:5]:
        text = f"the batch's CRC-32C is {computed:#010x}, it says {stored:#010x}"
        yield "error", position, text + more(found.bad_checksums)


@rule("offsets")
def judge_offsets(found: Evidence) -> Iterator[Judged]:
    for position, expected, offset in found.gaps.items[:5]:
        verb = "begins" if position == 0 else "goes on"
        yield "error", position, f"the file {verb} at offset {offset}, {expected} expected{more(found.gaps)}"
    for position, count, spanned in found.counts.items[:5]:
        yield "error", position, f"a batch of {count} records spans {spanned} offsets{more(found.counts)}"


@rule("epoch")
def judge_epoch(found: Evidence) -> Iterator[Judged]:
    """Check partitionLeaderEpoch, which the checksum does not cover. In a snapshot it is that of the name; in a log it
    never decreases.
    """
    if found.name is not None:
        for epoch, first in list(found.epochs.items())[:5]:
            if epoch != found.name.id.epoch:
                text = f"the batch's partitionLeaderEpoch is {epoch}, the name says {found.name.id.epoch}"
                yield "error", first.position, text
    elif not found.is_snapshot:
        for position, before, epoch in found.epochs_back.items[:5]:
            yield (
                "error",
                position,
                f"partitionLeaderEpoch {epoch} after {before}: epochs don't go back{more(found.epochs_back)}",
            )


@rule("compression")
def judge_compression(found: Evidence) -> Iterator[Judged]:
    for codec, position in found.compressed.items():
        yield "note", position, f"a batch is compressed with {codec}: Kafka reads it, but writes none"


@rule("header")
def judge_header(found: Evidence) -> Iterator[Judged]:
    if not found.is_snapshot or found.first is None or any(position == 0 for position, *_ in found.bad_checksums):
        return
    if not found.first.is_control:
        yield "error", 0, "the first batch holds no control records (SNAPSHOT_HEADER expected)"
        return
    headers = [each for each in found.controls if each.kind == ControlType.SNAPSHOT_HEADER]
    if not found.controls or found.controls[0].kind != ControlType.SNAPSHOT_HEADER:
        kind = found.controls[0].name if found.controls else "nothing readable"
        yield "error", 0, f"the first record is {kind} (SNAPSHOT_HEADER expected)"
    for each in headers[1:]:
        yield "error", each.offset, f"record {each.offset}: a second SNAPSHOT_HEADER"


@rule("footer")
def judge_footer(found: Evidence) -> Iterator[Judged]:
    if not found.is_snapshot or found.last is None:
        return
    footers = [each for each in found.controls if each.kind == ControlType.SNAPSHOT_FOOTER]
    if not footers:
        yield "error", None, "there is no SNAPSHOT_FOOTER: the file is not complete"
        return
    for each in footers[1:]:
        yield "error", None, f"record {each.offset}: a second SNAPSHOT_FOOTER"
    if footers[0].offset != found.last.last_offset and len(footers) == 1:
        yield "error", None, f"the SNAPSHOT_FOOTER (record {footers[0].offset}) is not the last record of the file"


@rule("control-records")
def judge_controls(found: Evidence) -> Iterator[Judged]:
    for each in found.controls:
        if each.value is None:
            reason = PROBLEMS.get(each.reason, each.reason)
            yield "error", None, f"record {each.offset}: {reason}"
        elif each.key_version:
            yield "note", None, f"record {each.offset}: {each.name} with key version {each.key_version} (0 expected)"
    if found.is_snapshot:
        yield from judge_snapshot_controls(found)


def judge_snapshot_controls(found: Evidence) -> Iterator[Judged]:
    for each in found.controls:
        if each.kind not in OF_SNAPSHOTS and each.value is not None:
            yield "error", None, f"record {each.offset}: {each.name} has no place in a snapshot"
        elif each.kind in (ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS) and each.batch:
            yield "error", None, f"record {each.offset}: {each.name} is outside the first batch"


@rule("voters")
def judge_voters(found: Evidence) -> Iterator[Judged]:
    """Check KIP-853: a quorum of kraft.version 1 keeps its voters in the snapshot, one of version 0 does not.

    A snapshot that ends at 0 may have none: `kafka-storage format --no-initial-controllers` writes such a file.
    """
    if not found.is_snapshot:
        return
    version, voters = (
        control_value(found.controls, ControlType.KRAFT_VERSION),
        control_value(found.controls, ControlType.KRAFT_VOTERS),
    )
    level = int(version["kRaftVersion"]) if version else 0
    first = found.name is not None and found.name.id.end_offset == 0
    if level >= 1 and voters is None and not first:
        yield "error", None, f"KRAFT_VERSION {level} without KRAFT_VOTERS"
    if voters is not None and level < 1:
        yield "error", None, "KRAFT_VOTERS in a snapshot of KRAFT_VERSION 0"
    if voters is not None:
        ids = [each["voterId"] for each in voters["voters"]]
        for twice in sorted({each for each in ids if ids.count(each) > 1}):
            yield "error", None, f"KRAFT_VOTERS names voter {twice} twice"
        if not ids:
            yield "error", None, "KRAFT_VOTERS names no voter"


def control_value(controls: list[Control], kind: int) -> dict[str, Any] | None:
    return next((each.value for each in controls if each.kind == kind), None)
