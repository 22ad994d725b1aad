"""A file of packets that grows with live traffic, and keeps its packets however the command ends."""

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from kcli.cli.terminal.console import note
from kcli.cli.terminal.output import descriptor_of, is_stream, open_output, open_private, refuse_inputs, refuse_link
from kcli.named_file import BUFFER, NamedFile
from kcli.shell import file_word


class GrowingFile(NamedFile):
    """A file whose old contents stay until the first byte is written."""

    began = False

    def write(self, data: object) -> int:
        if not self.began:
            self.truncate(0)
            self.began = True
        return super().write(data)


@contextlib.contextmanager
def open_live_output(output: str) -> Iterator[BinaryIO]:
    """Open standard output for "-", a pipe or a device as it is, else a file under its own name, for its owner alone.

    `open_output` replaces OUT at the end with a whole file. A file of live traffic is kept as it is when the disk is
    full or the capture fails, as each packet counts. Raises OSError with the name as it was given, UsageError if the
    output is an input, or a link.
    """
    path = Path(output)
    refuse_inputs(output, ())
    if descriptor_of(output) is not None or is_stream(output):
        with open_output(output, ()) as out:
            yield out
        return
    refuse_link(output)
    is_new = not path.exists()
    handle = open_private(path, os.O_WRONLY)
    raw = GrowingFile(handle, output)
    writer = io.BufferedWriter(raw, BUFFER)
    try:
        yield cast(BinaryIO, writer)
        writer.flush()
    finally:
        with contextlib.suppress(OSError):  # the failed write was reported already
            raw.close()
        with contextlib.suppress(OSError, ValueError):
            writer.close()
        if is_new and not raw.began:
            path.unlink(missing_ok=True)


def tell_next(output: str | None, quiet: bool) -> None:
    """Write the command that reads the saved packets."""
    if output and output != "-" and not is_stream(output) and not quiet:
        note(f"Next: kcli {file_word(output)}")
