"""Keeps the latest packets in a directory of capture files; the oldest files are deleted to make room."""

import contextlib
import datetime
import errno
import os
from collections import deque
from pathlib import Path
from typing import NamedTuple

from kcli.cli.capture.packet_capture import PacketBlock
from kcli.cli.terminal.output import open_private
from kcli.named_file import NamedFile

PARTS = 10  # number of files for the latest packets, about
LEAST_BYTES = 1 << 20  # of a file
MOST_MOMENTS = 100  # most moments with saved packets: a permanent fault must not fill the disk
KEPT_SECONDS = 60  # seconds kept after a moment without --last
FULL = (errno.ENOSPC, errno.EDQUOT)


class RecordedFile(NamedTuple):
    """A file that is full. end: time of its last packet (seconds since 1970)."""

    path: Path
    size: int
    end: int


class FlightRecorder:
    """seconds: the time that is kept at least; size: bytes that are kept at most; None: no limit. suffix: the suffix of
    its files.

    Its files are named by the time of their first packet: `kcli-20261121T091402Z-1.pcap`. `keep` saves those that are
    there, and those of as long again, in a directory of their own: `kcli-20261121T091402Z`.
    """

    def __init__(self, folder: Path, seconds: float | None, size: int | None, suffix: str = "pcap") -> None:
        self.folder, self.seconds, self.size, self.suffix = folder, seconds, size, suffix
        self.parts: deque[RecordedFile] = deque()
        self._file: NamedFile | None = None
        self._path = folder
        self._start = self._end = self._written = self._header = self._number = 0
        self.moments = 0  # moments with saved packets
        self._moment: Path | None = None  # the directory of the current moment's packets
        self._keep_until = 0.0

    def make_folder(self) -> None:
        """Make the directory, unless it is there. Raises OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(self, header: bytes, piece: PacketBlock) -> None:
        """Keep packets; on a full disk the oldest files are deleted for them.

        header: the header of a capture file. Raises OSError on a full disk only when no older packets are left to
        delete.
        """
        while True:
            try:
                self._put(header, piece)
            except OSError as error:
                if error.errno not in FULL or not self._give_up_oldest():
                    raise
            else:
                break
        self._end = piece.time
        self._give_up()

    def _put(self, header: bytes, piece: PacketBlock) -> None:
        """Append packets to the current file, or begin a new file with them. Raises OSError; the file then holds no
        part of them.
        """
        if self._file is not None and self._is_full(piece):
            self.close()
        if self._file is None:
            self._open(header, piece.time)
        assert self._file is not None
        try:
            self._file.write_all([memoryview(piece.packets)])
        except OSError:
            self._file.seek(self._written)
            self._file.truncate()
            raise
        self._written += len(piece.packets)

    def keep(self) -> Path | None:
        """Save the packets around the latest one, and return their directory. Returns None if these packets are being
        saved already, or if the maximum number of moments is saved. Raises OSError.
        """
        paths = [part.path for part in self.parts] + ([self._path] if self._file is not None else [])
        if self._moment is not None or not paths or self.moments == MOST_MOMENTS:
            return None
        self.moments += 1
        self._moment = self.folder / f"kcli-{stamp(self._end)}"
        self._moment.mkdir(exist_ok=True)
        self._keep_until = self._end + (self.seconds or KEPT_SECONDS)
        for path in paths:
            self._save(path)
        return self._moment

    def _save(self, path: Path) -> None:
        """Link a file into the moment's directory: the link keeps the file, and sees what is appended to it."""
        if self._moment is not None:
            with contextlib.suppress(FileExistsError, FileNotFoundError):
                (self._moment / path.name).hardlink_to(path)

    def close(self) -> None:
        """Close the current file."""
        if self._file is not None:
            file, self._file = self._file, None
            self.parts.append(RecordedFile(self._path, self._written, self._end))
            file.close()

    def _is_full(self, piece: PacketBlock) -> bool:
        late = self.seconds is not None and piece.time - self._start >= max(1, self.seconds / PARTS)
        return late or (self.size is not None and self._written >= max(self.size // PARTS, LEAST_BYTES))

    def _open(self, header: bytes, time: int) -> None:
        file = NamedFile(self._new_file(time), str(self._path))
        try:
            file.write_all([memoryview(header)])
        except OSError:
            file.close()
            self._path.unlink()
            raise
        self._file = file
        self._start, self._written, self._header = time, len(header), len(header)
        if time > self._keep_until:
            self._moment = None
        self._save(self._path)

    def _new_file(self, time: int) -> int:
        """Open a new file. If a file of the same second has the name, the next number is used."""
        while True:
            self._number += 1
            self._path = self.folder / f"kcli-{stamp(time)}-{self._number}.{self.suffix}"
            with contextlib.suppress(FileExistsError):
                return open_private(self._path, os.O_WRONLY | os.O_EXCL)

    def _give_up_oldest(self) -> bool:
        """Delete the oldest file, finally the current one. Returns False if there are no packets to delete."""
        if not self.parts and self._file is not None and self._written > self._header:
            self.close()
        if not self.parts:
            return False
        self.parts.popleft().path.unlink(missing_ok=True)
        return True

    def _give_up(self) -> None:
        """Delete files that are too old, and the oldest ones above the size limit."""
        total = self._written + sum(part.size for part in self.parts)
        while self.parts:
            oldest = self.parts[0]
            old = self.seconds is not None and self._end - oldest.end > self.seconds
            if not old and (self.size is None or total <= self.size):
                return
            oldest.path.unlink(missing_ok=True)
            total -= oldest.size
            self.parts.popleft()


def stamp(seconds: int) -> str:
    """Format a time (UTC) as part of a name."""
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y%m%dT%H%M%SZ}"
