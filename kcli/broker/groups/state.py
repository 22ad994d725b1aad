"""The states of groups; see `kcli.broker.groups.group`."""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """The states by Kafka's names."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    DEAD = "Dead"
