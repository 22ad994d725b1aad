"""The answers of the page on a metadata log: as those on captures, but from the log's own replay and not by SQL."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kcli.calendar import LAST_MS, NS_IN_MS
from kcli.errors import InputError
from kcli.report.asking import AnsweredQuestion, Answers, step_of
from kcli.report.metadata_questions import QUESTIONS, SERIES, SHORT
from kcli.small_files import read_small
from kcli.snapshots.history.projection import growth_by_type
from kcli.snapshots.history.timeline import STATES, Timeline, broker_state
from kcli.snapshots.image.image import Image
from kcli.snapshots.image.partitions import FACTS
from kcli.snapshots.image.questions import partitions_by_broker
from kcli.snapshots.reading.api import take_log, take_snapshot
from kcli.snapshots.reading.directory import parse_quorum_state
from kcli.snapshots.reading.files import metadata_directory
from kcli.snapshots.reading.folder_survey import FolderSurvey
from kcli.snapshots.reading.folders import FolderNode
from kcli.snapshots.rules.loss import losses

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MetadataReport:
    """answers: by question; image: the state at the end; survey: of the folder that shows most; problems: what could
    not be read."""

    answers: Answers
    image: Image
    survey: FolderSurvey
    problems: list[InputError]


def read_metadata(paths: Sequence[str], dialect: str | None = None) -> MetadataReport:
    """Read the folders of one quorum's nodes: the one that reaches furthest is reported, the others by where they end.

    Raises InputError if a folder has neither a snapshot nor a log.
    """
    nodes = [FolderNode(path, metadata_directory(path), dialect) for path in paths]
    node = max(nodes, key=lambda each: (each.end, each.reach()))
    base = node.base()
    first, last = bounds(node, base)
    step = step_of(0 if first is None or last is None else (last - first) * NS_IN_MS)
    timeline, problems = replayed(node, base, step, dialect)
    survey = FolderSurvey(node.folder, dialect)
    problems += [InputError(text, file=node.name) for _, text in timeline.problems]
    span = [None if each is None else each * NS_IN_MS for each in (first, last)]
    rows = dict(answered(timeline, survey, nodes, step, span[0], span[1]))
    shown = {each.name: AnsweredQuestion(each, columns, rows[each.name][:SHORT] if not each.drawn else rows[each.name])
           for each, columns in QUESTIONS}  # fmt: skip
    return MetadataReport(Answers(shown, span[0], span[1], step), timeline.image, survey, problems)


def bounds(node: FolderNode, base: int | None) -> tuple[int | None, int | None]:
    """Return the first and the last time (ms) of the log after its base."""
    first = last = None
    for batch in node.batches() if base is not None else ():
        time = batch.append_timestamp
        if batch.last_offset >= (base or 0) and 0 <= time <= LAST_MS:
            first, last = time if first is None else min(first, time), time if last is None else max(last, time)
    return first, last


def replayed(node: FolderNode, base: int | None, step: int, dialect: str | None) -> tuple[Timeline, list[InputError]]:
    """Replay the log after its base or, where no log continues a state, the newest snapshot alone."""
    timeline, problems = Timeline(step, dialect), list[InputError]()
    start = base if base is not None else max(node.snapshots, default=0)
    if start in node.snapshots:
        take_snapshot(timeline, str(node.folder / node.snapshots[start].file_name))
    if base is not None:
        take_log(timeline, node.folder, None)
        name_leader(timeline, node)
    elif node.log is not None:
        text = f"the log begins at {node.log[0]}, and no snapshot here leads to it: the state is that of {start}"
        problems.append(InputError(text, file=node.name))
    return timeline, problems


def name_leader(timeline: Timeline, node: FolderNode) -> None:
    """Take the last epoch's leader from the node's quorum-state, where the log does not name it any more."""
    file = node.folder / "quorum-state"
    if not timeline.epochs or timeline.epochs[-1].leader is not None or not file.is_file():
        return
    with suppress(InputError):
        state = parse_quorum_state(read_small(file))
        if state.leader_epoch == timeline.epochs[-1].epoch and state.leader_id >= 0:
            timeline.epochs[-1].leader = state.leader_id


def answered(
    timeline: Timeline,
    survey: FolderSurvey,
    nodes: Sequence[FolderNode],
    step: int,
    first: int | None,
    last: int | None,
) -> Iterator[tuple[str, list[Row]]]:
    """Yield each answer's name and rows, the newest events first. step: ns between points in time. first, last: ms
    since 1970 of the log.
    """
    image = timeline.image
    yield "states_over_time", list(states(timeline, step, first, last))
    yield "changes_over_time", list(changes(timeline, step))
    yield "brokers", list(brokers(timeline))
    yield (
        "broker_events",
        [(ns(each.ms), each.offset, each.broker, each.was, each.state) for each in reversed(timeline.events)],
    )
    yield "short_partitions", list(islice(short(image), SHORT))
    yield "leaders", sorted(leader_moves(timeline), key=lambda row: (-row[2], row[0], row[1]))
    yield (
        "epochs",
        [
            (each.epoch, each.leader, each.offset, ns(each.ms), each.records, held(each.ms, each.last_ms))
            for each in reversed(timeline.epochs)
        ],
    )
    yield "growth", growth_by_type(survey.log)
    yield "files", [
        (loss.file.name, loss.file.start, loss.file.end, loss.file.size, str(loss.covered or ""),
         "" if loss.offsets is None else "all" if loss.reach is None else f"from offset {loss.reach:,}")
        for loss in losses(survey.files, survey.spans)
    ]  # fmt: skip
    end = max(each.end for each in nodes)
    yield "nodes", [(each.name, each.end, each.epoch, end - each.end) for each in nodes]


def ns(ms: int | None) -> int | None:
    return None if ms is None else ms * NS_IN_MS


def held(first: int | None, last: int | None) -> int | None:
    return None if first is None or last is None else last - first


def states(timeline: Timeline, step: int, first: int | None, last: int | None) -> Iterator[Row]:
    """Yield each state's most partitions in each bucket of time; one without records repeats the end
    of the last one.
    """
    if first is None or last is None:
        return
    counts = timeline.before or [0] * len(STATES)
    for at in range(first // step, last // step + 1):
        found = timeline.buckets.get(at)
        if found is not None:
            counts, most = found.left, found.states
        else:
            most = counts
        for name, count in zip(STATES, most, strict=True):
            yield at * step, name, count


def changes(timeline: Timeline, step: int) -> Iterator[Row]:
    """Yield the records of each bucket of time, by the SERIES most frequent types."""
    sums = Counter[str]()
    for bucket in timeline.buckets.values():
        sums.update({name: records for name, (records, _) in bucket.types.items()})
    shown = {name for name, _ in sums.most_common(SERIES)}
    for at, bucket in sorted(timeline.buckets.items()):
        for name, (records, size) in sorted(bucket.types.items()):
            if name in shown:
                yield at * step, name, records, size


def brokers(timeline: Timeline) -> Iterator[Row]:
    """Yield each broker with its current state and counts."""
    changed = Counter(each.broker for each in timeline.events)
    for row in partitions_by_broker(timeline.image):
        broker = timeline.image.brokers.get(row["broker"])
        ends = broker["endPoints"] if broker else ()
        host = ", ".join(f"{each['host']}:{each['port']}" for each in ends)
        rack, directories = (broker or {}).get("rack") or "", len((broker or {}).get("logDirs") or ())
        counts = (row["replicas"], row["replicas"] - row["inSync"], row["leads"], row["preferred"])
        yield row["broker"], broker_state(broker), host, rack, directories, *counts, changed[row["broker"]]


def short(image: Image) -> Iterator[Row]:
    """Yield the partitions that lack a leader, then those that lack replicas in sync."""
    offline, under_replicated = FACTS["offline"], FACTS["under-replicated"]
    for wanted, bits, state in (
        (offline, offline, "without leader"),
        (under_replicated, offline | under_replicated, "under-replicated"),
    ):
        for topic, number, (facts, leader, replicas, isr) in image.summaries():
            if facts & bits == wanted:
                missing = ", ".join(str(each) for each in replicas if each not in isr)
                yield topic.name, number, state, leader if leader >= 0 else None, ", ".join(map(str, replicas)), missing


def leader_moves(timeline: Timeline) -> Iterator[Row]:
    """Yield partitions that got another leader, with the current one, None: they are gone, or have none."""
    for (topic, number), moves in timeline.moves.items():
        found = timeline.image.topics.get(topic)
        if found is None or number not in found.partitions:
            continue
        now = timeline.image.decoded(found.partitions[number])
        leader = now["leader"] if now["leader"] >= 0 else None
        yield found.name, number, moves.count, leader, now["leaderEpoch"], ns(moves.last_ms)
