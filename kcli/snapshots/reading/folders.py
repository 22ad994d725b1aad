"""The folder of a node: the states, changes and times that its files can show."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kcli.errors import InputError
from kcli.snapshots.history.history import Event, HistoryLoader
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.api import Wanted, load_image, take_log, take_snapshot
from kcli.snapshots.reading.files import listing_of
from kcli.snapshots.reading.framing import Batch
from kcli.snapshots.reading.load import Loader
from kcli.snapshots.reading.log_batches import last_batch, log_batches
from kcli.snapshots.reading.names import NOTHING


class FolderNode:
    """A node's folder. Raises InputError if it has neither snapshots nor segments.

    name: as the user wrote it; end: the offset after its last record; epoch: of that record; starts: offsets that an
    image can begin with; log: (begin, end) offsets of its log, None without one
    """

    def __init__(self, name: str, folder: Path, dialect: str | None = None) -> None:
        self.name, self.folder, self.dialect = name, folder, dialect
        listing = listing_of(folder)
        self.snapshots = {each.id.end_offset: each.id for _, each in listing.snapshots}
        self.segments = [str(folder / file) for file, _ in listing.segments]
        newest = max(self.snapshots.values(), default=None)
        self.end, self.epoch = newest or (0, -1)
        self.log: tuple[int, int] | None = None
        if self.segments:
            last = last_batch(self.segments)
            begin = listing.segments[0][1]
            self.log = begin, last.last_offset + 1 if last else begin
            if last is not None and last.last_offset + 1 >= self.end:
                self.end, self.epoch = last.last_offset + 1, last.leader_epoch
        if newest is None and self.log is None:
            raise InputError(NOTHING, file=str(folder))

    def reach(self) -> int:
        """Return the number of offsets in its log; -1 without a log."""
        return self.log[1] - self.log[0] if self.log else -1

    @property
    def starts(self) -> list[int]:
        """The offsets that an image can begin with: the ends of snapshots, and 0 if the log begins there."""
        return sorted({*self.snapshots, *([0] if self.log and self.log[0] == 0 else [])})

    def shows(self, offset: int) -> bool:
        """Return whether the files lead to the state at an offset."""
        if offset in self.snapshots:
            return True
        if self.log is None or not self.log[0] <= offset <= self.log[1]:
            return False
        return any(self.log[0] <= start <= offset for start in self.starts)

    def image(self, offset: int, problems: list[InputError]) -> Image:
        """Return the state at an offset for which `shows` is true. Errors of reading are added to `problems`."""
        loader = load_image(Wanted(str(self.folder), None, offset), dialect=self.dialect).loader
        problems += [InputError(text, file=self.name) for _, text in loader.problems]
        return loader.image

    def history(
        self, report: Callable[[Event], None], *, since: int = 0, until: int | None = None, **options: Any
    ) -> Loader:
        """Report each change of the log up to an offset, from the newest state at or before `since`, or else from the
        oldest one.

        options: of `HistoryLoader`. Returns the loader, with the problems of reading and the image at the end.
        """
        loader: Loader = HistoryLoader(report, self.dialect, strict=False, **options)
        first = self.base(since)
        if first is None or self.log is None:
            return loader
        if first in self.snapshots:
            take_snapshot(loader, str(self.folder / self.snapshots[first].file_name))
        take_log(loader, self.folder, until)
        return loader

    def base(self, since: int = 0) -> int | None:
        """Return the newest state at or before an offset that the log continues, else the oldest that it continues;
        None if there is none.
        """
        usable = [start for start in self.starts if self.log and self.log[0] <= start <= self.log[1]]
        return max((start for start in usable if start <= since), default=min(usable, default=None))

    def batches(self) -> Iterator[Batch]:
        """Yield the headers of the log's batches."""
        return log_batches(self.segments)
