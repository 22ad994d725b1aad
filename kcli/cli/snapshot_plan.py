"""kcli snapshot plan: what KIP-630's policy says of a metadata log, and what losing a broker would cost it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from kcli.cli.inputs import (
    check_files,
    dialect_option,
    format_option,
    quiet_option,
)
from kcli.cli.lines import print_line
from kcli.counting import counted
from kcli.errors import UsageError
from kcli.snapshots.directory import Listing
from kcli.snapshots.files import listing_of, metadata_directory, open_file
from kcli.snapshots.framing import Fault, batches
from kcli.snapshots.policy import Policy, Replication, advance, deletable, due, estimate, followed, violations, vote

__all__ = ["plan"]


@click.command()
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--minimum-records", type=click.IntRange(min=0), help="controller.snapshot.minimum.records (KIP-630).")
@click.option(
    "--max-bytes",
    type=click.IntRange(min=0),
    default=20 << 20,
    help="metadata.log.max.record.bytes.between.snapshots; 20 MiB.",
)
@click.option(
    "--max-interval-ms",
    type=click.IntRange(min=0),
    default=3_600_000,
    help="metadata.log.max.snapshot.interval.ms; one hour, 0: never.",
)
@click.option(
    "--max-replication-lag-ms",
    type=click.IntRange(min=0),
    default=604_800_000,
    help="max.replication.lag.ms; seven days.",
)
@click.option("--high-watermark", type=click.IntRange(min=0), help="The high watermark; by default the log's end.")
@click.option("--log-begin", type=click.IntRange(min=0), help="The log begin offset; by default the first segment's.")
@click.option("--log-begin-age-ms", type=click.IntRange(min=0), help="How long the log has begun at that offset.")
@click.option(
    "--replica",
    "replicas",
    multiple=True,
    metavar="ID=OFFSET",
    help="The offset up to which a live replica has replicated.",
)
@click.option(
    "--leader-log-begin", type=click.IntRange(min=0), help="The begin offset of the leader's log, for a follower's DIR."
)
@click.option("--now-ms", type=int, help="The time to compute ages at; by default now.")
@click.option("--partitions", type=click.IntRange(min=0), help="Estimate for this many partitions on the lost broker.")
@click.option("--brokers", type=click.IntRange(min=0), help="Estimate for this many other brokers.")
@format_option(("text", "json"), "For reading, or one JSON object.", default="text", name="form")
@quiet_option("No warnings.", used=False)
@dialect_option
def plan(directory: str | None, dialect: str | None, form: str, **given: Any) -> int:
    """Say whether a snapshot is due, how far the log may begin, which snapshots may go (KIP-630).

    DIR is a `__cluster_metadata-0`, or the directory around it. Also the KIP's arithmetic: what a lost broker costs
    when every partition's ISR change is a record of its own (40 bytes), against one fence record (8 bytes): for each
    broker of DIR's image, or for --partitions and --brokers.

    \b
    kcli snapshot plan __cluster_metadata-0
    kcli snapshot plan --partitions 30000 --brokers 99
    """
    if directory is None and (given["partitions"] is None or given["brokers"] is None):
        raise UsageError("a directory, or --partitions and --brokers")
    answer: dict[str, Any] = {}
    if directory is not None:
        check_files([directory])
        answer |= policy_answer(metadata_directory(directory), given)
    answer["brokerLoss"] = estimates(directory, dialect, given)
    if form == "json":
        from kcli.jsontext import dumps

        print_line(dumps(answer))
    else:
        for line in plan_lines(answer):
            print_line(line)
    return 0


def policy_answer(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    listing = listing_of(folder)
    ids = sorted(name.id for _, name in listing.snapshots)
    latest = ids[-1] if ids else None
    figures = log_figures(folder, listing, latest.end_offset if latest else 0)
    watermark = given["high_watermark"] if given["high_watermark"] is not None else figures["end"]
    begin = given["log_begin"] if given["log_begin"] is not None else figures["begin"]
    policy = Policy(
        given["minimum_records"], given["max_bytes"], given["max_interval_ms"] or None, given["max_replication_lag_ms"]
    )
    now = given["now_ms"] if given["now_ms"] is not None else time.time_ns() // 1_000_000
    age = None if latest is None else now - int((folder / latest.file_name).stat().st_mtime * 1000)
    decision = due(policy, records=figures["records"], size=figures["bytes"], age_ms=age)
    replicas = dict(map(parse_replica, given["replicas"]))
    reach = advance(
        policy, log_begin=begin, snapshots=ids, replicas=replicas, log_begin_age_ms=given["log_begin_age_ms"]
    )
    leader, (last, epoch) = given["leader_log_begin"], vote(ids, begin, watermark, figures["end"], figures["epoch"])
    return {
        "snapshots": [str(each) for each in ids],
        "logBeginOffset": begin,
        "highWatermark": watermark,
        "recordsSinceSnapshot": figures["records"],
        "bytesSinceSnapshot": figures["bytes"],
        "snapshotDue": decision.yes,
        "reasons": list(decision.reasons),
        "logBeginMayAdvanceTo": reach,
        "deletableSnapshots": [str(each) for each in deletable(ids, reach)],
        "logBeginFollowsTo": None if leader is None else followed(begin, leader, ids),
        "votesWith": {"offset": last, "epoch": epoch},
        "violations": violations(ids, begin, watermark),
    }


def parse_replica(text: str) -> tuple[int, int]:
    number, mark, offset = text.partition("=")
    if not mark or not number.isdecimal() or not offset.isdecimal():
        raise UsageError(f"--replica {text}: ID=OFFSET expected")
    return int(number), int(offset)


def log_figures(folder: Path, listing: Listing, since: int) -> dict[str, int]:
    """Where the log begins and ends, and in which epoch; records and bytes in it from `since` on."""
    begin = listing.segments[0][1] if listing.segments else since
    end = records = size = 0
    epoch = max((name.id.epoch for _, name in listing.snapshots), default=-1)
    for name, base in listing.segments:
        end = max(end, base)
        with open_file(str(folder / name)) as file:
            for batch in batches(file.data):
                if isinstance(batch, Fault):
                    break
                end, epoch = batch.last_offset + 1, batch.leader_epoch
                if batch.last_offset >= since:
                    records += batch.last_offset + 1 - max(batch.base_offset, since)
                    size += batch.size
    return {"begin": begin, "end": max(end, since), "epoch": epoch, "records": records, "bytes": size}


def estimates(directory: str | None, dialect: str | None, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Each broker's loss, or the one that was asked for."""
    if given["partitions"] is not None and given["brokers"] is not None:
        return [estimate_json(None, estimate(given["partitions"], given["brokers"]))]
    from kcli.snapshots.questions import partitions_by_broker
    from kcli.snapshots.reading import Wanted, load_image

    assert directory is not None
    rows = partitions_by_broker(load_image(Wanted(directory), dialect=dialect).loader.image)
    others = given["brokers"] if given["brokers"] is not None else max(sum(row["registered"] for row in rows) - 1, 0)
    return [estimate_json(row["broker"], estimate(row["inSync"], others)) for row in rows]


def estimate_json(broker: int | None, cost: Replication) -> dict[str, Any]:
    return {
        "broker": broker,
        "partitions": cost.partitions,
        "otherBrokers": cost.brokers,
        "isrChangeBytes": cost.changed,
        "isrChangeBytesReplicated": cost.changed_sent,
        "fenceBytes": cost.fenced,
        "fenceBytesReplicated": cost.fenced_sent,
    }


def plan_lines(answer: dict[str, Any]) -> list[str]:
    lines = policy_lines(answer) if "snapshotDue" in answer else []
    return lines + [loss_line(row) for row in answer["brokerLoss"]]


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
    whose = "a broker" if row["broker"] is None else f"broker {row['broker']}"
    changed, sent = binary(row["isrChangeBytes"]), binary(row["isrChangeBytesReplicated"])
    partitions, others = counted(row["partitions"], "partition"), counted(row["otherBrokers"], "other")
    return (
        f"losing {whose}, in sync for {partitions}, {others}: "
        f"ISR changes {changed} a log, {sent} replicated; "
        f"a fence record {row['fenceBytes']} B, {binary(row['fenceBytesReplicated'])} replicated"
    )


def binary(size: int) -> str:
    """The KIP's way: in 1024s, cut to two digits (118,800,000 bytes are its 113.29 MB)."""
    unit, label = (1 << 20, "MB") if size >= 1 << 20 else (1 << 10, "kB")
    return f"{size * 100 // unit / 100:.2f} {label}"
