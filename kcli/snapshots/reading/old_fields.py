"""Fields of metadata records that have other names in early releases of KRaft."""

from collections.abc import Mapping
from typing import Any


def feature_level(record: Mapping[str, Any]) -> int:
    """Return the level of a FeatureLevelRecord; before 3.3 the record has a range, of which this is the highest."""
    level: int = record["featureLevel"] if "featureLevel" in record else record["maxFeatureLevel"]
    return level


def next_producer_id(record: Mapping[str, Any]) -> int:
    """Return the first id of the next block after a ProducerIdsRecord; before 3.2 the record has the end of its own
    block instead.
    """
    following: int = record["nextProducerId"] if "nextProducerId" in record else record["producerIdsEnd"]
    return following
