"""A transactional id: its producer, and its open or last transaction."""

from dataclasses import dataclass, field
from enum import IntEnum

from kcli.broker.clock import Timer
from kcli.broker.partition import Key

BUMPING = 2  # transaction version with a new producer epoch for each transaction
LAST_EPOCH = (1 << 15) - 2  # the epoch after it is reserved for the marker that fences


class TransactionState(IntEnum):
    """The states, with the numbers of Kafka's transaction log (TransactionState)."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5

    @property
    def is_ending(self) -> bool:
        """Return whether the end of the transaction is decided, and its partitions may lack the marker."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        """Return whether the transaction has ended, and there was no InitProducerId since then."""
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def title(self) -> str:
        """Kafka's name of the state, such as "CompleteCommit"."""
        return self.name.title().replace("_", "")


@dataclass
class Transaction:
    """A transactional id. partitions: (topic, index) in the open transaction; version: 2 if the broker adds
    partitions, and the producer's epoch grows with each transaction (KIP-890), else 0; started, updated: ms since 1970.

    last_epoch: the former epoch if the producer itself requested the next one, else -1.
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
        """Return whether the producer id has no epoch left."""
        return self.epoch >= LAST_EPOCH

    def stop_timer(self) -> None:
        """Cancel the timer that would abort the transaction."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
