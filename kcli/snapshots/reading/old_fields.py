"""Fields of metadata records that early releases of KRaft named otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def feature_level(record: Mapping[str, Any]) -> int:
    """Return the level of a FeatureLevelRecord: before 3.3 the highest of a range."""
    level: int = record["featureLevel"] if "featureLevel" in record else record["maxFeatureLevel"]
    return level


def next_producer_id(record: Mapping[str, Any]) -> int:
    """Return the id that a ProducerIdsRecord leaves for the next block: before 3.2 by the end of its own block."""
    following: int = record["nextProducerId"] if "nextProducerId" in record else record["producerIdsEnd"]
    return following
