"""--last, --size and --when of live commands, which keep the latest packets, and packets around chosen exchanges."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from kcli.cli.capture.flight_recorder import MOST_MOMENTS, FlightRecorder
from kcli.cli.capture.live_view import LiveView, reading_words
from kcli.cli.capture.packet_capture import PacketBlock
from kcli.cli.options import Command, with_options
from kcli.cli.options.duration import Duration
from kcli.cli.options.inputs import Size
from kcli.cli.terminal.lines import print_note
from kcli.errors import UsageError


def ring_options(command: Command) -> Command:
    """Add --last, --size and --when; the command calls `take_ring`."""
    options = (
        click.option("--last", type=Duration(), metavar="TIME", help="Keep only the packets of the last TIME: 10m."),
        click.option("--size", type=Size(), metavar="SIZE", help="Keep only the latest packets, up to this size: 1GB."),
        click.option(
            "--when", metavar="EXPR", help="Save the packets around exchanges for which this SQL condition is true."
        ),
    )
    return with_options(command, options)


@dataclass(frozen=True)
class Ring:
    """The latest packets that are kept. last: seconds; size: bytes; when: a condition. None: not given."""

    last: float | None
    size: int | None
    when: str | None

    @property
    def keeps(self) -> bool:
        """Return whether only the latest packets are kept."""
        return self.last is not None or self.size is not None


def take_ring(options: dict[str, Any], output: str | None) -> Ring:
    """Take the options out. Raises UsageError if they lack another."""
    made = Ring(options.pop("last"), options.pop("size"), options.pop("when"))
    if made.keeps and output in (None, "-"):
        raise UsageError("--last, --size: -o DIR is missing (the directory for the packets)")
    if made.when is not None and not made.keeps:
        raise UsageError("--when: --last or --size is missing (they set how much is kept)")
    return made


def watch(when: str, options: dict[str, Any], keep: Callable[[], Path | None], moments: Callable[[], int]) -> LiveView:
    """Watch for exchanges around which packets are saved. keep: saves the packets. moments: most times to save. Raises
    UsageError if `when` is no valid condition.
    """
    try:
        words = reading_words(options, where=when, format_="jsonl")
    except UsageError as error:
        raise UsageError(str(error).replace("--where", "--when")) from None

    def found(line: bytes) -> None:
        if line.startswith(b'{"timestamp"') and (folder := keep()) is not None:
            last = f"; this is number {MOST_MOMENTS}, and no more are saved" if moments() == MOST_MOMENTS else ""
            print_note(f"kcli: packets around an exchange of --when are saved in {folder}{last}")

    return LiveView([*words, "--quiet"], found)


class RingFile:
    """A flight recorder as a file that another thread writes to. header: the start of the written bytes, and of each of
    its files.
    """

    def __init__(self, kept: FlightRecorder, header: bytes) -> None:
        self.kept, self.header = kept, header
        self.lock = threading.Lock()

    def seekable(self) -> bool:
        """Return False: packets are written whole or not at all."""
        return False

    def write(self, data: memoryview) -> int:
        """Keep whole packets. Raises OSError."""
        packets = bytes(data).removeprefix(self.header)
        if packets:
            with self.lock:
                self.kept.write(self.header, PacketBlock(packets, int(time.time())))
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def keep(self) -> Path | None:
        """Save the packets around the latest one; see FlightRecorder."""
        with self.lock:
            return self.kept.keep()

    def close(self) -> None:
        """End the file that is being written."""
        with self.lock:
            self.kept.close()
