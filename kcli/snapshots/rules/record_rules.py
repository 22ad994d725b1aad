"""Rules about metadata records: each by itself, and the references between them."""

from collections.abc import Iterator
from itertools import islice

from kcli.counting import counted
from kcli.schemas.catalog import catalog
from kcli.schemas.field_codes import RecordType
from kcli.snapshots.image.partitions import BREAKS, id_bytes, id_text
from kcli.snapshots.reading.decoding import upper_snake
from kcli.snapshots.reading.keys import DELTA_TYPES, KEYS, SNAPSHOT_TYPES
from kcli.snapshots.reading.walk import PROBLEMS
from kcli.snapshots.rules.evidence import Evidence
from kcli.snapshots.rules.findings import Judged, more, rule
from kcli.snapshots.rules.levels import FEATURE, level_name, level_release

LAWFUL_BREAKS = ("elr",)  # Kafka leaves such partitions after a reassignment
TAKEN_BREAKS = ("elr", "isr", "leader")  # odd, but a controller accepts them from a log
RESERVED_DIRECTORIES = 100  # DirectoryId reserves the first ids: migrating, unassigned, lost


@rule("record")
def judge_records(found: Evidence) -> Iterator[Judged]:
    for offset, _, problem in found.malformed.items[:5]:
        yield "error", None, f"record {offset}: {PROBLEMS[problem]}{more(found.malformed)}"
    for offset, _, _, reason in found.undecoded.items[:5]:
        yield "error", None, f"record {offset}: {reason}{more(found.undecoded)}"


@rule("unknown-type")
def judge_unknown(found: Evidence) -> Iterator[Judged]:
    """Find types or versions that no release had. (Kafka reads an unknown version as the newest that it knows.)"""
    for (key, version), (count, offset) in sorted(found.types.items()):
        if found.decoder.codec(key, version) is None:
            text = found.decoder.why_unknown(key, version)
            yield "error", None, f"record {offset}: {text}" + (f" ({count} of them)" if count > 1 else "")


@rule("dropped-type")
def judge_dropped(found: Evidence) -> Iterator[Judged]:
    """Find types that the release of the file's own metadata.version no longer has."""
    release = level_release(found.features.get(FEATURE))
    tables = catalog(found.decoder.dialect)
    if release is None or release not in tables.releases:
        return
    for (key, _), (_, offset) in sorted(found.types.items()):
        name = found.decoder.names.get(key)
        if name is None or not (spans := tables.message(name).releases):
            continue
        last = max((span.until for span in spans), key=tables.releases.index)
        if tables.releases.index(last) < tables.releases.index(release):
            level = level_name(found.features[FEATURE])
            yield "error", None, f"record {offset}: {upper_snake(name)}: dropped after {last}, the file is of {level}"


@rule("delta")
def judge_deltas(found: Evidence) -> Iterator[Judged]:
    """Find records that change an object; a snapshot has only whole objects."""
    if not found.is_snapshot:
        return
    old = FEATURE not in found.features
    for (key, _), (_, offset) in sorted(found.types.items()):
        if key == RecordType.UNFENCE_BROKER and old:
            continue  # 3.0 to 3.2 wrote them
        if key in DELTA_TYPES:
            yield (
                "error",
                None,
                f"record {offset}: {found.decoder.type_names[key]}, a change, belongs into a log",
            )
        elif key not in SNAPSHOT_TYPES and key in found.decoder.names:
            yield "note", None, f"record {offset}: {found.decoder.type_names[key]} is in no snapshot that Kafka writes"


@rule("duplicate")
def judge_duplicates(found: Evidence) -> Iterator[Judged]:
    for offset, key, identity in found.duplicates.items[:5]:
        name = found.decoder.type_names[key]
        yield "error", None, f"record {offset}: a second {name} of {shown(identity)}{more(found.duplicates)}"


@rule("repeated-topic")
def judge_repeats(found: Evidence) -> Iterator[Judged]:
    for offset, topic in found.repeats.items[:5]:
        lost = "partitions that came before it are lost when Kafka loads the file"
        yield "note", None, f"record {offset}: topic {topic} is stated again: {lost}{more(found.repeats)}"


def shown(identity: object) -> str:
    return ", ".join(map(str, identity)) if isinstance(identity, tuple) else str(identity) or "the cluster"


@rule("unknown-tags")
def judge_tags(found: Evidence) -> Iterator[Judged]:
    if found.unknown_tags:
        count = len(found.unknown_tags)
        others = f" (and {counted(count - 1, 'more record')})" if count > 1 else ""
        yield "note", None, f"record {found.unknown_tags[0]}: has tagged fields that no release knows{others}"


# References


@rule("orphan-partition")
def judge_orphans(found: Evidence) -> Iterator[Judged]:
    """Find partitions that come before their topic; Kafka stops loading there."""
    if not found.is_snapshot:
        return
    for topic, row in found.partitions.topics.items():
        count, offset = row[0], row[5]
        known = found.topics.get(topic)
        if known is None:
            yield (
                "error",
                None,
                f"record {offset}: {counted(count, 'partition')} of topic {id_text(topic)}, which is not in the file",
            )
        elif known[1] > offset:
            yield "error", None, f"record {offset}: a partition of {known[0]} before its topic (record {known[1]})"


@rule("duplicate-partition")
def judge_partition_ids(found: Evidence) -> Iterator[Judged]:
    """Check that a topic of n partitions has each id from 0 to n - 1 once."""
    if not found.is_snapshot:
        return
    suspects = [topic for topic, row in found.partitions.topics.items() if not is_plain(row)]
    if not suspects:
        return
    for topic, (twice, missing) in look_again(found, set(suspects)).items():
        name = found.topics.get(topic, (id_text(topic), 0))[0]
        for number, offset in twice[:5]:
            yield "error", None, f"record {offset}: a second PARTITION_RECORD of {name}-{number}"
        if missing:
            yield "note", None, f"topic {name} has no partition {', '.join(map(str, missing[:5]))}, but higher ones"


def is_plain(row: list[int]) -> bool:
    """Return whether the sums of a topic's row are those of the ids 0 to count - 1, each once."""
    count, _, highest, total, squares, _ = row
    expected = (count - 1) * count * (2 * count - 1) // 6 & 0xFFFFFFFFFFFFFFFF
    return highest == count - 1 and total == count * (count - 1) // 2 and squares == expected


Doubles = dict[bytes, tuple[list[tuple[int, int]], list[int]]]


def look_again(found: Evidence, topics: set[bytes]) -> Doubles:
    """Return {topic: ([(partition, offset) of each repetition], [ids that are missing below the highest])}."""
    seen: dict[bytes, set[int]] = {topic: set() for topic in topics}
    twice: dict[bytes, list[tuple[int, int]]] = {topic: [] for topic in topics}
    for (offset, key, version, start, end, problem), records in found.rescan():
        if key != 3 or problem or version is None or found.decoder.codec(key, version) is None:
            continue
        topic = bytes(records[start + 4 : start + 20])  # partitionId, topicId, in every layout
        if topic in seen:
            number = int.from_bytes(records[start : start + 4], signed=True)
            if end - start >= 20 and number in seen[topic]:
                twice[topic].append((number, offset))
            seen[topic].add(number)
    return {topic: (twice[topic], missing_below(seen[topic])) for topic in topics}


def missing_below(ids: set[int], most: int = 10) -> list[int]:
    """Return the first missing ids below the highest."""
    return list(islice((number for number in range(max(ids, default=0)) if number not in ids), most))


@rule("partition")
def judge_partitions(found: Evidence) -> Iterator[Judged]:
    table = found.partitions
    lawful = LAWFUL_BREAKS if found.is_snapshot else TAKEN_BREAKS
    for offset, topic, number, code in table.broken[:5]:
        name = found.topics.get(topic, (id_text(topic), 0))[0]
        severity = "note" if code in lawful else "error"
        yield severity, None, f"record {offset}: {name}-{number}: {BREAKS[code]}"
    if table.broken_count > 5:
        worst = "note" if all(code in lawful for *_, code in table.broken) else "error"
        yield worst, None, f"{counted(table.broken_count - 5, 'more partition')} like these"


@rule("replica")
def judge_replicas(found: Evidence) -> Iterator[Judged]:
    """Report replicas on brokers that are not registered. That is valid (the broker was unregistered), but worth a
    look.
    """
    if not found.is_snapshot:
        return
    first: dict[int, int] = {}
    for (broker, _), offset in found.partitions.pairs.items():
        if broker not in found.brokers:
            first[broker] = min(first.get(broker, offset), offset)
    for broker, offset in sorted(first.items())[:20]:
        yield "note", None, f"record {offset}: a replica on broker {broker}, which is not registered"


@rule("directory")
def judge_directories(found: Evidence) -> Iterator[Judged]:
    """Report directories that their broker does not have. That is valid (the broker changed its log.dirs), but worth a
    look.
    """
    if not found.is_snapshot:
        return
    owned = {
        broker: {id_bytes(each) for each in record.get("logDirs") or ()} for broker, record in found.brokers.items()
    }
    shown = 0
    for (broker, directory), offset in sorted(found.partitions.pairs.items(), key=lambda item: item[1]):
        if directory is None or not owned.get(broker) or directory in owned[broker] or is_reserved(directory):
            continue
        shown += 1
        if shown <= 20:
            yield "note", None, f"record {offset}: directory {id_text(directory)}, which broker {broker} does not own"


def is_reserved(directory: bytes) -> bool:
    return int.from_bytes(directory) < RESERVED_DIRECTORIES


@rule("config")
def judge_configs(found: Evidence) -> Iterator[Judged]:
    for offset, topic in found.strays.items[:5]:
        yield "note", None, f"record {offset}: a config of topic {topic}, which is not in the file{more(found.strays)}"


@rule("metadata-version")
def judge_level(found: Evidence) -> Iterator[Judged]:
    """Check that a snapshot with objects has a metadata.version, which those since 3.3 have as the first record."""
    keyed = sum(count for (key, _), (count, _) in found.types.items() if key in KEYS) + found.partitions.count
    if found.is_snapshot and keyed and FEATURE not in found.features:
        yield "note", None, "there is no metadata.version: taken as of a release before 3.3"


@rule("broker-epoch")
def judge_broker_epochs(found: Evidence) -> Iterator[Judged]:
    """Check that a broker's epoch, which is the log offset of its registration, is before the snapshot's end."""
    if found.name is None:
        return
    end = found.name.id.end_offset
    for number, broker in sorted(found.brokers.items()):
        if broker["brokerEpoch"] >= end > 0:
            epoch = broker["brokerEpoch"]
            yield (
                "note",
                None,
                f"broker {number} has epoch {epoch}: an offset that a snapshot up to {end} does not hold",
            )
