"""The features of a cluster (KIP-584): which levels this broker supports, and which are finalized.

The metadata log keeps the finalized ones (FeatureLevelRecord).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from kcli.schemas.model import release_order
from kcli.schemas.ranges import Range

METADATA, ELR = "metadata.version", "eligible.leader.replicas.version"
# metadata.version 4.0-IV3: every record type that the broker writes is in it. Below 7 is no KRaft.
METADATA_LEVEL = 25
SUPPORTED: Mapping[str, Range] = {
    ELR: Range(0, 1),
    "group.version": Range(0, 1),
    "kraft.version": Range(0, 1),
    METADATA: Range(7, METADATA_LEVEL),
    "share.version": Range(0, 1),
    "transaction.version": Range(0, 2),
}
# A new cluster's. Level 0: the feature is off.
INITIAL: Mapping[str, int] = {
    METADATA: METADATA_LEVEL,
    ELR: 1,
    "group.version": 1,
    "share.version": 1,
    "transaction.version": 2,
}
# The first release of each (Kafka's Feature), and the highest metadata.version of those before METADATA_LEVEL's.
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
    """Return the supported levels by feature: of this broker, or those of them that a release of Kafka had."""
    if release is None:
        return SUPPORTED
    made = {name: each for name, each in SUPPORTED.items() if release_order(SINCE[name]) <= release_order(release)}
    if release in METADATA_LEVELS:
        made[METADATA] = Range(1, METADATA_LEVELS[release])
    return made


def update_fault(supported: Mapping[str, Range], finalized: Mapping[str, int], name: str, level: int, kind: int) -> str:
    """Return why a feature can't have this level, "" where it can. kind: UPGRADE or one of the downgrades."""
    said = f"Invalid update version {level} for feature {name}."
    levels = supported.get(name)
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return f"{said} The controller does not support the given upgrade type."
    if levels is None:
        return f"{said} Local controller does not support this feature."
    if level not in levels:
        return f"{said} Local controller only supports versions {levels.lo}-{levels.hi}"
    have = finalized.get(name, 0)
    if level < have and kind == UPGRADE:
        return f"{said} Can't downgrade the version of this feature without setting the upgrade type to a downgrade."
    if level > have and kind != UPGRADE:
        return f"{said} Can't downgrade to a newer version."
    if name == METADATA and level < have:
        return f"Unsupported metadata.version downgrade from {have} to {level}."
    return ""


def rows(supported: Mapping[str, Range], finalized: Mapping[str, int]) -> Iterable[dict[str, object]]:
    """Make the rows of finalized features as ApiVersions has them: at the highest level that is supported, at most."""
    levels = {name: min(level, supported[name].hi) for name, level in finalized.items() if name in supported}
    return [
        {"name": name, "maxVersionLevel": level, "minVersionLevel": level}
        for name, level in sorted(levels.items())
        if level
    ]
