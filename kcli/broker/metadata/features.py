"""The features of a cluster (KIP-584): which levels this broker supports, and which are finalized.

The metadata log keeps the finalized ones (FeatureLevelRecord).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
# A new cluster's. Level 0 is none.
INITIAL: Mapping[str, int] = {
    METADATA: METADATA_LEVEL,
    ELR: 1,
    "group.version": 1,
    "share.version": 1,
    "transaction.version": 2,
}
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def update_fault(finalized: Mapping[str, int], name: str, level: int, kind: int) -> str:
    """Say why a feature can't have this level, "" where it can. kind: UPGRADE or one of the downgrades."""
    said = f"Invalid update version {level} for feature {name}."
    supported = SUPPORTED.get(name)
    if kind not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return f"{said} The controller does not support the given upgrade type."
    if supported is None:
        return f"{said} Local controller does not support this feature."
    if level not in supported:
        return f"{said} Local controller only supports versions {supported.lo}-{supported.hi}"
    have = finalized.get(name, 0)
    if level < have and kind == UPGRADE:
        return f"{said} Can't downgrade the version of this feature without setting the upgrade type to a downgrade."
    if level > have and kind != UPGRADE:
        return f"{said} Can't downgrade to a newer version."
    if name == METADATA and level < have:
        return f"Unsupported metadata.version downgrade from {have} to {level}."
    return ""


def rows(finalized: Mapping[str, int]) -> Iterable[dict[str, object]]:
    """Make the rows of finalized features as ApiVersions has them."""
    return [
        {"name": name, "maxVersionLevel": level, "minVersionLevel": level}
        for name, level in sorted(finalized.items())
        if level
    ]
