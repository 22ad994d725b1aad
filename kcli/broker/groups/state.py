"""The states of a consumer group; see `kcli.broker.groups.group`."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """With the names that Kafka shows."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    DEAD = "Dead"
