"""Reads files to their end, and detects that another program truncates one meanwhile, as a node does with its log."""

import io
import os

from kcli.errors import InputError


class WholeFile(io.FileIO):
    """A file to read. The end of its `with` block raises InputError if the file has been truncated, as bytes are
    missing.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.size = os.fstat(self.fileno()).st_size

    def cut(self) -> str | None:
        """Return the message for a file that is shorter than at its opening, or than the bytes read; None if it is
        not.
        """
        if not self.size:
            return None  # a pipe, or a file of /proc, whose size is 0
        left = os.fstat(self.fileno()).st_size
        before = max(self.size, self.tell())
        return cut_text(before, left) if left < before else None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None and (text := self.cut()):
                raise InputError(text, file=os.fspath(self.name))
        finally:
            self.close()


def cut_text(before: int, left: int) -> str:
    """Return the message for a file that had `before` bytes, and has `left` bytes now."""
    return f"another program cut it off while it was read: from {before} to {left} bytes"
