"""The finalized features and levels that each release of Kafka supports (`Feature`, `MetadataVersion`)."""

from kcli.snapshots.rules.levels import FEATURE, NAMES

ZOOKEEPER_GONE = 4  # major release from which on LEAST is the lowest supported level
LEAST = 7  # 3.3-IV3, the first level that a log can have
OLDEST = 1

# {feature: {level: first level of metadata.version whose releases support it}}
FEATURES = {
    "kraft.version": {1: 21},
    "transaction.version": {1: 24, 2: 24},
    "group.version": {1: 22},
    "eligible.leader.replicas.version": {1: 23},
    "share.version": {1: 26, 2: 31},
    "streams.version": {1: 29},
}
AHEAD = {"4.4": 34}  # the newest level of releases that support more than the levels named after them


def release_of(level: int) -> str:
    """Return the release that a level of metadata.version is named after."""
    return NAMES[level].partition("-")[0]


def newest_level(release: str) -> int:
    """Return the highest level of metadata.version that a release supports."""
    return AHEAD.get(release, max(level for level in NAMES if release_of(level) == release))


def supported_levels(name: str, release: str) -> tuple[int, int]:
    """Return the lowest and the highest level of a feature that a release supports; 0 and 0 for an unknown feature."""
    newest = newest_level(release)
    if name == FEATURE:
        return LEAST if int(release.partition(".")[0]) >= ZOOKEEPER_GONE else OLDEST, newest
    return 0, max((level for level, least in FEATURES.get(name, {}).items() if least <= newest), default=0)
