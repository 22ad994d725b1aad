"""Leader epochs of a log: which offset each began at (KIP-101, KIP-320; Kafka's LeaderEpochFileCache)."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from kcli.broker.storage.checkpoints import read_epochs, write_epochs

UNDEFINED = -1


class LeaderEpochs:
    """(epoch, first offset) pairs, both rising; in the file `leader-epoch-checkpoint` of the partition's folder.

    A new leader's first batch does not wait for that file: the batch has its epoch in it, should the file be behind
    (`recovery`). `save` brings it up to date: when a segment is closed, at an orderly end, from time to time. lasting:
    there may be a next start; if not, the file is never written.
    """

    def __init__(self, folder: Path, *, lasting: bool = True) -> None:
        self.path = folder / "leader-epoch-checkpoint"
        self.entries: list[tuple[int, int]] = []
        self.behind = False
        self.lasting = lasting

    def load(self) -> None:
        """Read the file; nothing where there is none. Raises InputError if it is no checkpoint."""
        self.entries = read_epochs(self.path)

    @property
    def latest(self) -> int:
        """The newest epoch, -1 for an empty log."""
        return self.entries[-1][0] if self.entries else UNDEFINED

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note a batch of this epoch at this offset; the first one of an epoch makes an entry."""
        if epoch <= self.latest:
            return
        while self.entries and self.entries[-1][1] >= start_offset:
            self.entries.pop()
        self.entries.append((epoch, start_offset))
        self.behind = True
        if len(self.entries) == 1:
            self.save()

    def save(self) -> None:
        """Write the file, unless it says all this already."""
        if self.behind and self.lasting:
            write_epochs(self.path, self.entries)
            self.behind = False

    def end_of(self, epoch: int, log_end: int, current: int) -> tuple[int, int]:
        """Return (epoch, end offset) of the largest epoch up to `epoch`; (-1, -1) if unknown.

        current: the leader's own epoch, which may have no batch yet; it ends at the log's end.
        """
        if epoch == UNDEFINED or epoch > max(current, self.latest):
            return UNDEFINED, UNDEFINED
        if epoch == max(current, self.latest):
            return epoch, log_end
        at = bisect_right(self.entries, (epoch, 1 << 63))
        if at == len(self.entries):
            return (self.latest, log_end) if self.entries else (UNDEFINED, UNDEFINED)
        if at == 0:
            # Nothing as old is here any more: the oldest epoch began where the one asked for ended.
            return epoch, self.entries[0][1]
        return self.entries[at - 1][0], self.entries[at][1]

    def epoch_of(self, offset: int) -> int:
        """Return the epoch in which this offset was written; -1 if unknown."""
        starts = [start for _, start in self.entries]
        at = bisect_right(starts, offset) - 1
        return self.entries[at][0] if at >= 0 else UNDEFINED

    def truncate_start(self, offset: int) -> None:
        """Drop epochs that ended before this offset; the epoch that holds it now begins there."""
        kept = [entry for entry in self.entries if entry[1] > offset]
        before = [entry for entry in self.entries if entry[1] <= offset]
        made = [(before[-1][0], offset), *kept] if before else kept
        if made != self.entries:
            self.entries, self.behind = made, True
            self.save()

    def truncate_end(self, offset: int) -> None:
        """Drop epochs that began at this offset, the log's new end, or later."""
        kept = [entry for entry in self.entries if entry[1] < offset]
        if kept != self.entries:
            self.entries, self.behind = kept, True
            self.save()
