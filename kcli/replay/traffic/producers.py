"""Ids, epochs and sequences of captured idempotent producers' batches on the live cluster."""

from kcli.records.batches import LAST_SEQUENCE
from kcli.replay.produced_batches import Numbered
from kcli.replay.traffic.identities import Identities, Scope


class Producers:
    """Sequences of live producers by partition.

    The sequences of a captured epoch continue those of the live epoch, because a broker that does not bump the epoch at
    the end of a transaction continues them. For a producer that began before the capture they begin at 0. A batch that
    was sent again is a duplicate again, and a gap is a gap.
    """

    def __init__(self, identities: Identities) -> None:
        self.identities = identities
        self.next: dict[tuple[int, int, str, int], int] = {}  # by live producer, epoch, topic, partition
        self.shifts: dict[tuple[int, int, str, int], int] = {}  # by captured producer, epoch, topic, partition
        self.adopted: set[int] = set()  # captured producers that began before the capture

    def is_known(self, producer: int) -> bool:
        """Return whether the live id of a captured producer is known."""
        return producer in self.identities.producers

    def adopt(self, producer: int, live: int, epoch: int) -> None:
        """Set the live id of a producer that began before the capture. All its captured epochs become this live
        epoch.
        """
        self.adopted.add(producer)
        self.identities.producers[producer] = live
        self.identities.epochs[producer] = {0: epoch}

    def renumbered(self, old: Numbered, records: int, topic: str, partition: int) -> Numbered:
        """Return the live fields of a captured batch. records: number of its offsets."""
        producer = self.identities.producers.get(old.producer, old.producer)
        epoch = self.identities.producer_epoch(old.epoch, Scope(producer=old.producer))
        captured, live = (old.producer, old.epoch, topic, partition), (producer, epoch, topic, partition)
        if captured not in self.shifts:
            begun = self.next.get(live)
            if begun is not None:
                self.shifts[captured] = begun - old.sequence
            else:
                self.shifts[captured] = -old.sequence if old.producer in self.adopted else 0
        sequence = (old.sequence + self.shifts[captured]) & LAST_SEQUENCE if old.sequence >= 0 else old.sequence
        self.next[live] = (sequence + records) & LAST_SEQUENCE
        return Numbered(producer, epoch, sequence)
