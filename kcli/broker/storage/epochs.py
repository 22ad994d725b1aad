"""The leader epochs of a log, with their first offsets (KIP-101, KIP-320; Kafka's LeaderEpochFileCache)."""

from bisect import bisect_right
from pathlib import Path

from kcli.broker.storage.checkpoints import read_epochs, write_epochs

UNDEFINED = -1


class LeaderEpochs:
    """(epoch, first offset) pairs in ascending order, and their file `leader-epoch-checkpoint` in the partition's
    folder.

    A new epoch is not written to the file at once, as recovery also finds it in its batches (`recovery`). `save` writes
    the file: when a segment is closed, at a clean shutdown, and at each check of retention. behind: the file lacks
    something; lasting: the folder stays after the broker, else the file is never written.
    """

    def __init__(self, folder: Path, *, lasting: bool = True) -> None:
        self.path = folder / "leader-epoch-checkpoint"
        self.entries: list[tuple[int, int]] = []
        self.behind = False
        self.lasting = lasting

    def load(self) -> None:
        """Read the file, if there is one. Raises InputError if it is no checkpoint."""
        self.entries = read_epochs(self.path)

    @property
    def latest(self) -> int:
        """The newest epoch, -1 for an empty log."""
        return self.entries[-1][0] if self.entries else UNDEFINED

    def assign(self, epoch: int, start_offset: int) -> None:
        """Add an entry for a batch with a new epoch at this offset; other epochs are ignored."""
        if epoch <= self.latest:
            return
        while self.entries and self.entries[-1][1] >= start_offset:
            self.entries.pop()
        self.entries.append((epoch, start_offset))
        self.behind = True
        if len(self.entries) == 1:
            self.save()

    def save(self) -> None:
        """Write the file, unless it is up to date. Raises OSError."""
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
            # Without entries the leader's own epoch began where the log ends.
            return self.latest if self.entries else epoch, log_end
        if at == 0:
            # The requested epoch is older than all entries, so that it ended where the oldest one began.
            return epoch, self.entries[0][1]
        return self.entries[at - 1][0], self.entries[at][1]

    def epoch_of(self, offset: int) -> int:
        """Return the leader epoch of this offset; -1 if unknown."""
        starts = [start for _, start in self.entries]
        at = bisect_right(starts, offset) - 1
        return self.entries[at][0] if at >= 0 else UNDEFINED

    def truncate_start(self, offset: int) -> None:
        """Drop epochs that ended before this offset, the log's new start; the epoch of the offset now begins there."""
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
