"""Parts of an image that another metadata.version does not allow: features, records, and lost fields (KIP-778).

Levels are those of Kafka 4.4's `MetadataVersion` and `Feature`. The losses are those that its image writer reports at a
level (`ImageWriterOptions.handleLoss`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kcli.errors import UsageError
from kcli.snapshots.image.image import MIGRATING, Image, Topic
from kcli.snapshots.image.partitions import FACTS
from kcli.snapshots.image.texts import migration_state
from kcli.snapshots.rules.levels import FEATURE, NAMES, level_name
from kcli.snapshots.rules.supported import FEATURES, LEAST, release_of
from kcli.snapshots.writing.write import BROKER_VERSIONS, PARTITION_VERSIONS, version_at
from kcli.topic_names import SHARE_STATE

CHANGED = (7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33)  # levels that added metadata to that of the level before
KRAFT = "kraft.version"
ZOOKEEPER_GONE = 22  # 4.0-IV0
MIGRATION_ADVICE = "finish it under 3.9, because 4.0 and later do not support ZooKeeper"
STATE_TOPICS = {SHARE_STATE: 26}  # {topic with a feature's state: first level that has the feature}


@dataclass(frozen=True, slots=True)
class Misfit:
    """Objects that a level does not allow. severity: "error" for lost or unsupported objects, "note" for those written
    in another form; count: of objects; example: one of them; needs: the first level of metadata.version that allows
    them.
    """

    severity: str
    what: str
    count: int
    example: str = ""
    needs: int | None = None


def parse_level(text: str) -> int:
    """Return the level of "3.9" (the release's newest), "3.9-IV0" or "21". Raises UsageError."""
    exact = next((level for level, name in NAMES.items() if name == text), None)
    newest = max((level for level, name in NAMES.items() if name.partition("-")[0] == text), default=None)
    level = exact or newest or (int(text) if text.isdecimal() and int(text) in NAMES else None)
    if level is None or level < LEAST:
        known = f"{NAMES[LEAST]} to {NAMES[max(NAMES)]}"
        raise UsageError(f"{text}: a release or metadata.version expected, 3.9 or 3.9-IV0 ({known})")
    return level


def refused_by_kafka(source: int, target: int) -> bool:
    """Return whether Kafka refuses the downgrade because it may lose metadata, even if the image has none to lose."""
    return any(target < level <= source for level in CHANGED)


def is_release(text: str) -> bool:
    """Return whether a text that `parse_level` accepts is a release, not a metadata.version."""
    return text in {release_of(level) for level in NAMES}


def misfits(image: Image, target: int, *, renewed: bool = False) -> Iterator[Misfit]:
    """Yield the parts of an image that a level does not allow, errors first; then the records written in another
    version.

    renewed: the nodes get the software of the level's release before the level is raised
    """
    nodes = list(unsupported(image, target, renewed))
    yield from (each for each in nodes if each.severity == "error")
    for least, text, find in HELD:
        if target < least and (found := list(find(image))):
            yield Misfit("error", text, len(found), found[0], least)
    if target >= ZOOKEEPER_GONE and (state := unfinished_migration(image)) is not None:
        yield Misfit("error", f"{state}: {MIGRATION_ADVICE}", 1)
    yield from features(image, target)
    for topic, least in STATE_TOPICS.items():
        if target < least and image.topic_named(topic) is not None:
            yield Misfit("error", "the topic with the state of share groups is an ordinary one there", 1, topic, least)
    yield from (each for each in nodes if each.severity != "error")
    yield from record_versions(image, target)


def unsupported(image: Image, target: int, renewed: bool) -> Iterator[Misfit]:
    """Yield nodes with software that does not support the level."""
    for nodes, kind in ((image.brokers, "broker"), (image.controllers, "controller")):
        for number, node in sorted(nodes.items()):
            spans = {each["name"]: each for each in node["features"]}
            span = spans.get(FEATURE)
            if span and not span["minSupportedVersion"] <= target <= span["maxSupportedVersion"]:
                reach = f"{level_name(span['minSupportedVersion'])} to {level_name(span['maxSupportedVersion'])}"
                text = f"{kind} {number} supports {reach} only"
                if renewed and span["maxSupportedVersion"] < target:
                    yield Misfit("note", f"{text}: it needs the new software first", 1, f"{kind} {number}")
                else:
                    yield Misfit("error", text, 1, f"{kind} {number}")


def unfinished_migration(image: Image) -> str | None:
    """Return a text if brokers still have their metadata in ZooKeeper; None otherwise."""
    state = image.zk_migration_state
    return f"the migration from ZooKeeper is in state {migration_state(image)}" if state in (1, 2) else None


def features(image: Image, target: int) -> Iterator[Misfit]:
    """Yield finalized features that releases of the level do not support."""
    known = {name: level for name, level in image.features.items() if name != FEATURE}
    kraft = known.pop(KRAFT, 0)
    if kraft and not image.kraft_version and target >= FEATURES[KRAFT][1]:
        # 3.9 writes this record in a static quorum; nodes before 3.9 stop at it.
        yield Misfit("note", f"a FeatureLevelRecord of {KRAFT} does not make the voters dynamic: nodes ignore it", 1)
    elif kraft or image.kraft_version:
        known[KRAFT] = image.kraft_version or kraft
    for name, level in sorted(known.items()):
        least = FEATURES.get(name, {}).get(level)
        if least is None:
            yield Misfit("note", f"feature {name} level {level} is not known here", 1, name)
        elif target < least:
            yield Misfit("error", f"feature {name} level {level} is not supported", 1, name, least)


def record_versions(image: Image, target: int) -> Iterator[Misfit]:
    """Yield records that a snapshot of the level has in another version than the image's level."""
    counts = (len(image.brokers), image.partition_count())
    for name, versions, count in zip(
        ("RegisterBrokerRecord", "PartitionRecord"), (BROKER_VERSIONS, PARTITION_VERSIONS), counts, strict=True
    ):
        now, then = version_at(image.level, versions), version_at(target, versions)
        if now != then and count:
            yield Misfit("note", f"{name} is written as v{then}, not v{now}", count)


def brokers_with(field: str) -> Callable[[Image], Iterator[str]]:
    return lambda image: (f"broker {number}" for number, each in sorted(image.brokers.items()) if each.get(field))


def with_directories(image: Image) -> Iterator[str]:
    for topic, number, partition in image.every_partition():
        if any(each != MIGRATING for each in partition["directories"]):
            yield partition_name(topic, number)


def with_elr(image: Image) -> Iterator[str]:
    for topic in image.sorted_topics():
        for number, raw in sorted(topic.partitions.items()):
            facts, leader, _, _ = image.summary(raw)
            # A partition without leader and eligible replicas keeps the last known ones.
            if facts & FACTS["with-elr"] or (leader < 0 and image.decoded(raw)["lastKnownElr"]):
                yield partition_name(topic, number)


def partition_name(topic: Topic, number: int) -> str:
    return f"{topic.name}-{number}"


def cidr_acls(image: Image) -> Iterator[str]:
    return (f"{each['principal']} from {each['host']}" for each in image.acls.values() if "/" in each["host"])


def configs_of(kind: int) -> Callable[[Image], Iterator[str]]:
    return lambda image: (name for (each, name), _ in sorted(image.configs.items()) if each == kind)


# (the first level that has the metadata, a text, a function that yields the objects with it)
HELD: tuple[tuple[int, str, Callable[[Image], Iterator[str]]], ...] = (
    (8, "lost: that brokers migrate from ZooKeeper", brokers_with("isMigratingZkBroker")),
    (11, "lost: SCRAM credentials", lambda image: (user for users in image.scram.values() for user in sorted(users))),
    (14, "lost: delegation tokens", lambda image: iter(image.tokens)),
    (
        15,
        "lost: registrations of controllers",
        lambda image: (f"controller {each}" for each in sorted(image.controllers)),
    ),
    (15, "its releases do not know configs of client metrics", configs_of(16)),
    (17, "lost: log directories of brokers", brokers_with("logDirs")),
    (17, "lost: directories of replicas", with_directories),
    (22, "its releases do not know configs of groups", configs_of(32)),
    (23, "lost: eligible leader replicas", with_elr),
    (30, "lost: cordoned log directories", brokers_with("cordonedLogDirs")),
    (32, "not supported: ACLs for networks (CIDR)", cidr_acls),
)
