"""Surveys a metadata log's folder in one pass: the offsets of its files, and the records of its log."""

import time
from collections.abc import Sequence
from pathlib import Path

from kcli.errors import InputError
from kcli.snapshots.history.projection import Snapshots
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.files import OpenFile, listing_of, open_file
from kcli.snapshots.reading.log_spans import LogSpan, count_segment, header_time, log_spans, total
from kcli.snapshots.reading.names import SnapshotId
from kcli.snapshots.rules.loss import LogFile

MOST = 20  # problems of a file
PATIENCE, LOOK = 0.3, 0.02  # seconds to wait for a half-written batch to grow, and between two checks


class FolderSurvey:
    """A survey of a folder.

    ids: of the finished snapshots, in order; files: these snapshots and the segments; spans: of the log, with
    boundaries where files begin and end; log: all spans as one; begin, end: of the log, or of the newest snapshot if
    there is no log; problems: errors of reading the log; being_written: bytes of a batch at the log's end that its node
    is writing
    """

    def __init__(self, folder: Path, dialect: str | None = None) -> None:
        self.folder, self.decoder = folder, Decoder(dialect)
        listing = listing_of(folder)
        self.ids: list[SnapshotId] = sorted(name.id for _, name in listing.snapshots)
        self.latest = self.ids[-1].end_offset if self.ids else 0
        bases = [base for _, base in listing.segments]
        self.spans: Sequence[LogSpan] = log_spans([0, *bases, *(each.end_offset for each in self.ids)])
        self.problems: list[InputError] = []
        self.being_written = 0
        ends = [max(base, self.count(name, base == bases[-1])) for name, base in listing.segments]
        self.log = total(self.spans)
        self.begin = bases[0] if bases else self.latest
        self.end = max([self.latest, *ends])
        self.files = [
            LogFile(name, (folder / name).stat().st_size, base, end)
            for (name, base), end in zip(listing.segments, ends, strict=True)
        ]
        self.files += [
            LogFile(name, (folder / name).stat().st_size, 0, each.id.end_offset, each.id)
            for name, each in listing.snapshots
        ]

    def count(self, name: str, is_last: bool) -> int:
        """Count the records of a segment in `spans`; return the offset after its last record."""
        wrong: list[str] = []
        with open_file(str(self.folder / name)) as file:
            end, fault = count_segment(self.spans, file.data, self.decoder, wrong, file.mapped)
            if fault is not None and is_last and fault.code == "cut" and grows(file):
                self.being_written = fault.left
            elif fault is not None:
                wrong.append(f"at byte {fault.position}: {fault.reason}")
            self.problems += [InputError(text, file=file.path) for text in wrong[-MOST:]]
        return end

    @property
    def since(self) -> list[LogSpan]:
        """The spans of the log after the newest snapshot."""
        return [span for span in self.spans if span.start >= self.latest]

    def snapshots(self) -> Snapshots:
        """Return the number, sizes and ages of the snapshots."""
        known = {each.snapshot: each for each in self.files if each.snapshot is not None}
        if not known:
            return Snapshots()
        first, last = known[self.ids[0]], known[self.ids[-1]]
        size = sum(each.size for each in known.values())
        return Snapshots(len(known), size, last.size, self.time_of(first.name), self.time_of(last.name))

    def time_of(self, name: str) -> int | None:
        """Return the timestamp (ms) of the last log record in a snapshot, from its header; None without a readable
        header.
        """
        with open_file(str(self.folder / name)) as file:
            return header_time(file.data)


def grows(file: OpenFile) -> bool:
    """Return whether a file is longer than the part that was read, or becomes so within PATIENCE."""
    until = time.monotonic() + PATIENCE
    while Path(file.path).stat().st_size <= len(file.data):
        if time.monotonic() > until:
            return False
        time.sleep(LOOK)
    return True
