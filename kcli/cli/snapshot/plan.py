"""kcli snapshot plan: what KIP-630's policy says of a metadata log, and what losing a broker would cost it."""

from pathlib import Path
from typing import Any

import click

from kcli.calendar import now_ms
from kcli.cli.options.inputs import check_files, dialect_option, format_option, quiet_option
from kcli.cli.terminal.console import terminal_room
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_line
from kcli.errors import InputError, UsageError
from kcli.java_properties import number_of, read_properties
from kcli.jsontext import dumps
from kcli.snapshots.history.projection import growth_by_type, per_day, project
from kcli.snapshots.reading.files import metadata_directory, open_file
from kcli.snapshots.reading.folder_survey import FolderSurvey
from kcli.snapshots.reading.log_spans import LogSpan, total
from kcli.snapshots.rules.loss import Loss, losses
from kcli.snapshots.rules.policy import (
    DEFAULTS,
    MAX_BYTES,
    MAX_INTERVAL,
    MAX_LAG,
    MIN_RECORDS,
    Policy,
    Replication,
    advance,
    deletable,
    due,
    estimate,
    followed,
    violations,
    vote,
)
from kcli.snapshots.survey_json import instant, stats_json

FILE = "server.properties"
# Options that stand over a setting of server.properties.
OPTIONS = {
    MAX_BYTES: "max_bytes",
    MAX_INTERVAL: "max_interval_ms",
    MIN_RECORDS: "minimum_records",
    MAX_LAG: "max_replication_lag_ms",
}
METRIC = "kafka.controller:type=KafkaController,name="
MEASURES = ("GenSnapshotLatencyMs", "LoadSnapshotLatencyMs", "SnapshotSizeBytes")


@click.command()
@click.argument("directory", metavar="[DIR]", required=False)
@click.option("--minimum-records", type=click.IntRange(min=0), help=f"{MIN_RECORDS} (KIP-630).")
@click.option(
    "--max-bytes",
    type=click.IntRange(min=0),
    help=f"{MAX_BYTES}; by default 20 MiB.",
)
@click.option(
    "--max-interval-ms",
    type=click.IntRange(min=0),
    help=f"{MAX_INTERVAL}; by default one hour, 0: never.",
)
@click.option(
    "--max-replication-lag-ms",
    type=click.IntRange(min=0),
    help=f"{MAX_LAG}; by default seven days.",
)
@click.option("--high-watermark", type=click.IntRange(min=0), help="The high watermark; by default the log's end.")
@click.option("--log-begin", type=click.IntRange(min=0), help="The log start offset; by default the first segment's.")
@click.option("--log-begin-age-ms", type=click.IntRange(min=0), help="For how long the log has begun at that offset.")
@click.option(
    "--replica",
    "replicas",
    multiple=True,
    metavar="ID=OFFSET",
    help="The offset up to which a live replica has replicated.",
)
@click.option(
    "--leader-log-begin", type=click.IntRange(min=0), help="The start offset of the leader's log, for a follower's DIR."
)
@click.option("--now-ms", type=int, help="The time to compute ages at; by default now.")
@click.option(
    "--partitions", type=click.IntRange(min=0), help="For the estimate: number of partitions on the lost broker."
)
@click.option("--brokers", type=click.IntRange(min=0), help="For the estimate: number of other brokers.")
@click.option(
    "--properties", metavar="FILE", help="The node's server.properties; by default the one beside DIR, or above it."
)
@format_option(("text", "json"), "Text, or one JSON object.", default="text", name="form")
@quiet_option("No warnings.")
@dialect_option
def plan(directory: str | None, dialect: str | None, form: str, quiet: bool, **options: Any) -> int:
    """Show whether a snapshot is due and which may be deleted (KIP-630), how the log grows, and what the loss of a file
    means.

    DIR is a `__cluster_metadata-0`, or the directory around it. Settings come from server.properties, or are Kafka's
    defaults. kcli also shows the KIP's estimate for the loss of a broker: ISR changes with a record for every partition
    (40 bytes), compared with one fence record (8 bytes), for each broker of DIR's image, or for --partitions and
    --brokers.

    \b
    kcli snapshot plan __cluster_metadata-0
    kcli snapshot plan --partitions 30000 --brokers 99
    """
    if directory is None and (options["partitions"] is None or options["brokers"] is None):
        raise UsageError("a directory, or --partitions and --brokers, expected")
    answer: dict[str, Any] = {}
    problems: list[InputError] = []
    if directory is not None:
        check_files([directory])
        survey = FolderSurvey(metadata_directory(directory), dialect)
        answer |= folder_answer(survey, options, dialect)
        problems += survey.problems
    answer["brokerLoss"] = estimates(directory, dialect, options)
    if form == "json":
        print_line(dumps(answer))
    else:
        from kcli.cli.snapshot.plan_view import plan_lines

        for line in plan_lines(answer, terminal_room()):
            print_line(line)
    conclude(problems, quiet)
    return 0


def folder_answer(survey: FolderSurvey, options: dict[str, Any], dialect: str | None) -> dict[str, Any]:
    """Return the answer of a folder's files: the policy, growth, projection and losses."""
    source, settings = settings_of(survey.folder, options["properties"])
    for name, option in OPTIONS.items():
        settings[name] = settings[name] if options[option] is None else options[option]
    return {
        **policy_answer(survey, options, settings),
        "metrics": metrics(survey, dialect),
        "properties": source,
        "settings": settings,
        "growth": growth_json(survey.log) | {"beingWritten": survey.being_written},
        "projection": projection_json(survey, settings),
        "files": [loss_json(each) for each in losses(survey.files, survey.spans)],
    }


def metrics(folder: FolderSurvey, dialect: str | None) -> dict[str, Any]:
    """Return KIP-630's measures of the newest snapshot, under the names of its metrics."""
    from kcli.snapshots.reading.file_survey import survey

    if not folder.ids:
        return {}
    with open_file(str(folder.folder / folder.ids[-1].file_name)) as file:
        measures = stats_json(survey(file.data, file.name, dialect=dialect, mapped=file.mapped))
    return {METRIC + name: value for name, value in measures.items() if name in MEASURES}


def policy_answer(survey: FolderSurvey, options: dict[str, Any], settings: dict[str, int]) -> dict[str, Any]:
    """Judge a metadata log by the KIP's policy; options replace values from the folder. Times are ms."""
    ids, latest = survey.ids, survey.ids[-1] if survey.ids else None
    since, log = total(survey.since), survey.log
    begin = survey.begin if options["log_begin"] is None else options["log_begin"]
    watermark = survey.end if options["high_watermark"] is None else options["high_watermark"]
    policy = Policy.of(settings.__getitem__)
    now = options["now_ms"] if options["now_ms"] is not None else now_ms()
    age = None if latest is None else now - int((survey.folder / latest.file_name).stat().st_mtime * 1000)
    decision = due(policy, records=since.records, size=since.size, age_ms=age)
    replicas = dict(map(parse_replica, options["replicas"]))
    reach = advance(
        policy, log_begin=begin, snapshots=ids, replicas=replicas, log_begin_age_ms=options["log_begin_age_ms"]
    )
    epoch = log.epoch if log.end is not None else latest.epoch if latest else -1
    leader, (last, epoch) = options["leader_log_begin"], vote(ids, begin, watermark, survey.end, epoch)
    return {
        "snapshots": [str(each) for each in ids],
        "logBeginOffset": begin,
        "highWatermark": watermark,
        "recordsSinceSnapshot": since.records,
        "bytesSinceSnapshot": since.size,
        "snapshotDue": decision.yes,
        "reasons": list(decision.reasons),
        "logBeginMayAdvanceTo": reach,
        "deletableSnapshots": [str(each) for each in deletable(ids, reach)],
        "logBeginFollowsTo": None if leader is None else followed(begin, leader, ids),
        "votesWith": {"offset": last, "epoch": epoch},
        "violations": violations(ids, begin, watermark),
    }


def growth_json(log: LogSpan) -> dict[str, Any]:
    """Return growth by type of record, the most bytes first."""
    return {
        "from": instant(log.first_ms),
        "to": instant(log.last_ms),
        "records": log.records,
        "bytes": log.size,
        "bytesPerDay": per_day(log.size, log),
        "types": [
            {"type": name, "records": records, "bytes": size, "bytesPerDay": daily}
            for name, records, size, daily in growth_by_type(log)
        ],
    }


def projection_json(survey: FolderSurvey, settings: dict[str, int]) -> dict[str, Any]:
    found = project(survey.log, survey.since, survey.snapshots(), settings)
    return {
        "nextSnapshotByBytes": instant(found.by_bytes),
        "nextSnapshotByAge": instant(found.by_age),
        "folderBytesPerDay": found.folder_per_day,
        "retentionBytesReached": instant(found.full),
        "oldestSnapshotExpires": instant(found.expires),
    }


def loss_json(loss: Loss) -> dict[str, Any]:
    file = loss.file
    return {
        "file": file.name,
        "kind": "log" if file.snapshot is None else "snapshot",
        "sizeInBytes": file.size,
        "offsets": [file.start, file.end],
        "coveredBy": None if loss.covered is None else str(loss.covered),
        "stateEndsAt": loss.reach,
        "lostOffsets": loss.offsets,
        "lostRecords": loss.records,
    }


def parse_replica(text: str) -> tuple[int, int]:
    number, mark, offset = text.partition("=")
    if not mark or not number.isdecimal() or not offset.isdecimal():
        raise UsageError(f"--replica {text}: ID=OFFSET expected")
    return int(number), int(offset)


def estimates(directory: str | None, dialect: str | None, options: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each broker's loss, or the one that was asked for."""
    if options["partitions"] is not None and options["brokers"] is not None:
        return [estimate_json(None, estimate(options["partitions"], options["brokers"]))]
    from kcli.snapshots.image.questions import partitions_by_broker
    from kcli.snapshots.reading.api import Wanted, load_image

    assert directory is not None
    rows = partitions_by_broker(load_image(Wanted(directory), dialect=dialect).loader.image)
    others = (
        options["brokers"] if options["brokers"] is not None else max(sum(row["registered"] for row in rows) - 1, 0)
    )
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


def settings_of(folder: Path, file: str | None) -> tuple[str | None, dict[str, int]]:
    """Return the file that was read, and the settings by Kafka's names, its defaults among them.

    file: the file; None: the one beside the folder, in its log directory, or above that, if there is one. Raises
    InputError if the file can't be read, or a value is no number.
    """
    places = [folder.parent / FILE, folder.absolute().parent.parent / FILE] if file is None else [Path(file)]
    path = next((each for each in places if each.is_file()), None)
    if path is None:
        if file is not None:
            raise InputError("no such file", file=file)
        return None, dict(DEFAULTS)
    known, settings = read_properties(path), dict(DEFAULTS)
    for name in settings.keys() & known.keys():
        try:
            settings[name] = number_of(known[name].strip())
        except ValueError:
            raise InputError(f"{name}={known[name]}: a whole number expected", file=str(path)) from None
    return str(path), settings
