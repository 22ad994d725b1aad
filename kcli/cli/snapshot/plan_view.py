"""The answer of `kcli snapshot plan` as lines to read."""

from collections.abc import Iterator
from typing import Any

from kcli.cli.terminal.cells import broken
from kcli.cli.terminal.columns import row_lines
from kcli.counting import counted, rounded_bytes
from kcli.snapshots.rules.policy import MAX_BYTES

MOST_TYPES = 4  # in a line


def plan_lines(answer: dict[str, Any], room: int | None) -> Iterator[str]:
    """Yield the whole answer: the policy, growth, each file's loss, each broker's. room: cells of a line; None: as many
    as it takes.
    """
    if "growth" in answer:
        for text in (*policy_lines(answer), *growth_lines(answer)):
            yield from broken(text, room) if text else [""]
        yield from ("", *file_lines(answer, room), "")
    for row in answer["brokerLoss"]:
        yield from broken(loss_line(row), room)


def growth_lines(answer: dict[str, Any]) -> Iterator[str]:
    growth, ahead, settings = answer["growth"], answer["projection"], answer["settings"]
    yield f"settings: {answer['properties'] or 'Kafka defaults (no server.properties)'}"
    if growth["beingWritten"]:
        yield f"at the log's end {growth['beingWritten']:,} bytes of a batch that the node is writing: not counted"
    if growth["bytesPerDay"] is None:
        return
    grown = f"{rounded_bytes(growth['bytes'])} in {counted(growth['records'], 'record')}"
    yield f"log {growth['from']} to {growth['to']}: {grown}, {rounded_bytes(growth['bytesPerDay'])} a day"
    kinds = (f"{each['type']} {share(each, growth)}" for each in growth["types"][:MOST_TYPES])
    yield f"by type: {', '.join(kinds)}"
    limit = settings[MAX_BYTES]
    by_bytes = f"{ahead['nextSnapshotByBytes']} by bytes ({rounded_bytes(limit)})"
    by_age = f"{ahead['nextSnapshotByAge'] or 'never'} by age"
    yield f"next snapshot, at this growth: {by_bytes}, {by_age}"
    size = rounded_bytes(settings["metadata.max.retention.bytes"])
    per_day = rounded_bytes(ahead["folderBytesPerDay"])
    full = f"{size} reached {ahead['retentionBytesReached'] or 'never'}, {per_day} a day"
    yield f"retention: {full} with snapshots; the oldest snapshot expires {ahead['oldestSnapshotExpires'] or 'never'}"


def share(each: dict[str, Any], growth: dict[str, Any]) -> str:
    return f"{each['bytes'] / max(sum(row['bytes'] for row in growth['types']), 1):.0%}"


def file_lines(answer: dict[str, Any], room: int | None) -> Iterator[str]:
    """Yield a table: each file, and the consequence of its loss."""
    table = []
    for each in answer["files"]:
        start, end = each["offsets"]
        size, covered = rounded_bytes(each["sizeInBytes"]), each["coveredBy"] or "-"
        table.append([each["file"], f"{start:,} to {end:,}", size, covered, taken_text(each)])
    yield from row_lines(("file", "offsets", "size", "covered by", "its loss takes"), table, room)


def taken_text(each: dict[str, Any]) -> str:
    if each["lostOffsets"] is None:
        return "no state" if each["kind"] == "snapshot" else "history, but no state"
    if each["stateEndsAt"] is None:
        return "everything: no other file has a state"
    named = ", ".join(f"{count:,} {name}" for name, count in list(each["lostRecords"].items())[:MOST_TYPES])
    more = ", ..." * (len(each["lostRecords"]) > MOST_TYPES)
    return f"all from offset {each['stateEndsAt']:,}: {named or 'records that no log here has'}{more}"


def policy_lines(answer: dict[str, Any]) -> list[str]:
    begin, reach = answer["logBeginOffset"], answer["logBeginMayAdvanceTo"]
    known, spare = (", ".join(answer[name]) or "none" for name in ("snapshots", "deletableSnapshots"))
    return [
        f"snapshot due: {'yes' if answer['snapshotDue'] else 'no'}: {'; '.join(answer['reasons'])}",
        f"log begins at {begin:,}, may advance to {reach:,}; high watermark {answer['highWatermark']:,}",
        f"snapshots {known}; may then be deleted: {spare}",
        *follower_lines(answer),
        *(f"! {text}" for text in answer["violations"]),
        "",
    ]


def follower_lines(answer: dict[str, Any]) -> list[str]:
    follows, votes = answer["logBeginFollowsTo"], answer["votesWith"]
    lines = [] if follows is None else [f"following the leader, the log begins at {follows:,}"]
    return [*lines, f"as a voter: offset {votes['offset']:,}, epoch {votes['epoch']}"]


def loss_line(row: dict[str, Any]) -> str:
    broker = "a broker" if row["broker"] is None else f"broker {row['broker']}"
    changed, sent = binary(row["isrChangeBytes"]), binary(row["isrChangeBytesReplicated"])
    partitions, others = counted(row["partitions"], "partition"), counted(row["otherBrokers"], "other")
    return (
        f"losing {broker}, in sync for {partitions}, {others}: "
        f"ISR changes {changed} a log, {sent} replicated; "
        f"a fence record {row['fenceBytes']} B, {binary(row['fenceBytesReplicated'])} replicated"
    )


def binary(size: int) -> str:
    """Format a size as KIP-630 does: in 1024s, cut to two digits (118,800,000 bytes are its 113.29 MB)."""
    unit, label = (1 << 20, "MB") if size >= 1 << 20 else (1 << 10, "kB")
    return f"{size * 100 // unit / 100:.2f} {label}"
