"""One transactional id: its producer, and the transaction that is open or was the last."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from kcli.broker.clock import Timer
from kcli.broker.partition import Key

BUMPING = 2  # transaction version with a new producer epoch for each transaction
LAST_EPOCH = (1 << 15) - 2  # the one after it is left for the marker that fences


class TransactionState(IntEnum):
    """With the numbers of Kafka's transaction log (TransactionState)."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5

    @property
    def is_ending(self) -> bool:
        """Return whether it is decided how the transaction ends, and its partitions may not know yet."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        """Return whether a transaction has ended, and no other producer has come since."""
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def title(self) -> str:
        """Kafka's name for it: "CompleteCommit"."""
        return self.name.title().replace("_", "")


@dataclass
class Transaction:
    """partitions: (topic, index) that are part of it. version: 2 where the producer leaves it to the broker to add
    partitions, and has its epoch bumped with each transaction (KIP-890), else 0. started, updated: ms since 1970.

    last_epoch: the epoch before, where the producer itself asked for the next one; -1: it did not.
    """

    name: str
    producer_id: int
    epoch: int
    timeout_ms: int
    last_epoch: int = -1
    state: TransactionState = TransactionState.EMPTY
    version: int = 0
    started: int = -1
    updated: int = -1
    partitions: set[Key] = field(default_factory=set)
    timer: Timer | None = None

    @property
    def is_exhausted(self) -> bool:
        """Return whether the producer id has had all its epochs."""
        return self.epoch >= LAST_EPOCH

    def stop_timer(self) -> None:
        """Cancel the timer that would end the transaction."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
