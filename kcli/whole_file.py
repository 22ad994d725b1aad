"""Files that are read to their end, which another program may cut off meanwhile, as a node does its log's end."""

from __future__ import annotations

import io
import os

from kcli.errors import InputError


class WholeFile(io.FileIO):
    """A file to read. The end of `with` raises InputError where it has become shorter: bytes of it were missed."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.size = os.fstat(self.fileno()).st_size

    def cut(self) -> str | None:
        """Return what to say of a file that is shorter than it was when it was opened, or than what it has given."""
        if not self.size:
            return None  # a pipe, or a file of the system's that says no size
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
    """Return what to say of a file that had so many bytes, and has so many left."""
    return f"another program cut it off while it was read: from {before} to {left} bytes"
