"""The features of a cluster (KIP-584): the levels that this broker supports, and the rules of finalized levels.

The metadata log has the finalized levels (FeatureLevelRecord).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from kcli.schemas.model import release_order
from kcli.schemas.ranges import Range

METADATA, ELR = "metadata.version", "eligible.leader.replicas.version"
# metadata.version 4.0-IV3, which has every record type that the broker writes. Levels below 7 are without KRaft.
METADATA_LEVEL = 25
SUPPORTED: Mapping[str, Range] = {
    ELR: Range(0, 1),
    "group.version": Range(0, 1),
    "kraft.version": Range(0, 1),
    METADATA: Range(7, METADATA_LEVEL),
    "share.version": Range(0, 1),
    "transaction.version": Range(0, 2),
}
# The finalized levels of a new cluster. At level 0 a feature is off.
INITIAL: Mapping[str, int] = {
    METADATA: METADATA_LEVEL,
    ELR: 1,
    "group.version": 1,
    "share.version": 1,
    "transaction.version": 2,
}
# The first release with each feature (Kafka's Feature), and the highest metadata.version of each release before 4.0.
SINCE: Mapping[str, str] = {
    ELR: "4.0",
    "group.version": "4.0",
    "kraft.version": "3.9",
    METADATA: "3.3",
    "share.version": "4.1",
    "transaction.version": "4.0",
}
METADATA_LEVELS: Mapping[str, int] = {"3.3": 7, "3.4": 8, "3.5": 11, "3.6": 14, "3.7": 19, "3.8": 20, "3.9": 21}
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


@lru_cache(maxsize=32)
def supported_by(release: str | None) -> Mapping[str, Range]:
    """Return the supported levels by feature. release: only the features and metadata versions of that Kafka
    release.
    """
    if release is None:
        return SUPPORTED
    made = {name: each for name, each in SUPPORTED.items() if release_order(SINCE[name]) <= release_order(release)}
    if release in METADATA_LEVELS:
        made[METADATA] = Range(1, METADATA_LEVELS[release])
    return made


def update_fault(supported: Mapping[str, Range], finalized: Mapping[str, int], name: str, level: int, kind: int) -> str:
    """Return why a feature's level can't be changed to this one, "" if it can. kind: UPGRADE or one of the
    downgrades.
    """
    problem = f"Invalid update version {level} for feature {name}."
    levels = supported.get(name)
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return f"{problem} The controller does not support the given upgrade type."
    if levels is None:
        return f"{problem} Local controller does not support this feature."
    if level not in levels:
        return f"{problem} Local controller only supports versions {levels.lo}-{levels.hi}"
    have = finalized.get(name, 0)
    if level < have and kind == UPGRADE:
        return f"{problem} Can't downgrade the version of this feature without setting the upgrade type to a downgrade."
    if level > have and kind != UPGRADE:
        return f"{problem} Can't downgrade to a newer version."
    if name == METADATA and level < have:
        return f"Unsupported metadata.version downgrade from {have} to {level}."
    return ""


def rows(supported: Mapping[str, Range], finalized: Mapping[str, int]) -> Iterable[dict[str, object]]:
    """Return the rows of finalized features for ApiVersions. Levels above the highest supported one are lowered to
    it.
    """
    levels = {name: min(level, supported[name].hi) for name, level in finalized.items() if name in supported}
    return [
        {"name": name, "maxVersionLevel": level, "minVersionLevel": level}
        for name, level in sorted(levels.items())
        if level
    ]
