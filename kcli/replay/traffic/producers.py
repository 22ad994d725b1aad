"""The numbers of captured idempotent producers' batches on the live cluster."""

from __future__ import annotations

from kcli.replay.produced_batches import Numbered
from kcli.replay.traffic.identities import Identities, Scope

WRAP = 0x7FFF_FFFF  # behind it sequences begin again at 0


class Producers:
    """Sequences of live producers by partition.

    A captured epoch's sequences go on where those of the live epoch have come to: a broker that bumps no epoch at the
    end of a transaction goes on counting. Of a producer that began before the capture they begin at 0. A batch that was
    sent again is a duplicate again, and a gap is a gap.
    """

    def __init__(self, identities: Identities) -> None:
        self.identities = identities
        self.next: dict[tuple[int, int, str, int], int] = {}  # by live producer, live epoch, partition
        self.shifts: dict[tuple[int, int, str, int], int] = {}  # by captured ones
        self.adopted: set[int] = set()  # captured producers that began before the capture

    def is_known(self, producer: int) -> bool:
        """Return whether an answer gave the live id of a captured producer."""
        return producer in self.identities.producers

    def adopt(self, producer: int, live: int, epoch: int) -> None:
        """Take in a live id for a producer that began before the capture: whatever epoch it had is this one."""
        self.adopted.add(producer)
        self.identities.producers[producer] = live
        self.identities.epochs[producer] = {0: epoch}

    def renumbered(self, old: Numbered, records: int, topic: str, partition: int) -> Numbered:
        """Return the live numbers of a captured batch with so many records."""
        producer = self.identities.producers.get(old.producer, old.producer)
        epoch = self.identities.producer_epoch(old.epoch, Scope(producer=old.producer))
        captured, live = (old.producer, old.epoch, topic, partition), (producer, epoch, topic, partition)
        if captured not in self.shifts:
            begun = self.next.get(live)
            if begun is not None:
                self.shifts[captured] = begun - old.sequence
            else:
                self.shifts[captured] = -old.sequence if old.producer in self.adopted else 0
        sequence = (old.sequence + self.shifts[captured]) & WRAP if old.sequence >= 0 else old.sequence
        self.next[live] = (sequence + records) & WRAP
        return Numbered(producer, epoch, sequence)
