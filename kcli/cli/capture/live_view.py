"""Live traffic shown by `kcli decode pcap` in a process of its own: the same rows, filters and closing lines.

The traffic never waits for the view: packets for which the view is too slow are left out of it, and it reports them as
gaps.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import click

import kcli
from kcli.cli.decode.pcap.command import TIMES
from kcli.cli.options import Command, with_options
from kcli.cli.options.filter import filter_of, filter_options
from kcli.cli.options.inputs import READ, dialect_option, format_option, memory_option, records_option, secrets_option
from kcli.cli.terminal.lines import print_note
from kcli.errors import UsageError

FORMATS = ("table", "jsonl", "tree")
PIPE_BYTES = 1 << 20  # bytes that the system buffers for the view
MOST_WAITING = 64 << 20  # bytes that the view may be behind


def view_options(command: Command) -> Command:
    """Add the options of `kcli decode pcap` for live traffic; the command's class is FilterCommand."""
    options = (
        format_option(FORMATS, "The output format; table by default.", paged=False),
        records_option(None),
        click.option(
            "--time", type=click.Choice(TIMES), help="Times in the table: seconds since the first packet, or UTC."
        ),
        filter_options,
        secrets_option(),
        dialect_option,
        memory_option,
    )
    return with_options(command, options)


def view_words(options: dict[str, Any]) -> list[str]:
    """Return the command-line words for these options of `view_options`. Raises UsageError if a filter is invalid."""
    filter_of(options, ())
    words: list[str] = []
    for param in click.get_current_context().command.params:
        value = options.get(param.name or "")
        if value is None or value is False or value == ():
            continue
        values = value if isinstance(value, tuple) else (value,)
        texts = [f"{each:.6f}" if isinstance(each, float) else str(each) for each in values]
        words += [param.opts[0]] if value is True else [word for text in texts for word in (param.opts[0], text)]
    return words


def view_of(options: dict[str, Any], output: str | None, *, quiet: bool, to_brokers: bool = False) -> LiveView | None:
    """Return the view of the captured traffic; None if no view is wanted. to_brokers: see DecodeOptions. Raises
    UsageError if the view's rows would be mixed with packets on the same stream.
    """
    if not options["format_"] and (quiet or output == "-"):
        return None
    if output == "-":
        raise UsageError("-o -: packets and rows can't both go to standard output (leave out --format)")
    return LiveView(view_words(options) + ["--quiet"] * quiet + ["--to-brokers"] * to_brokers)


def reading_words(options: dict[str, Any], **more: Any) -> list[str]:
    """Return the words of a command line with the options of reading packets, and `more`. See `view_words`."""
    unset = dict.fromkeys(options, None) | {"apis": (), "errors": False}
    return view_words(unset | {name: options.get(name) for name in READ} | more)


class LiveView:
    """A running `kcli decode pcap -`, or another command. words: its options. shown: a function that takes its lines;
    None: the process writes to standard output. served: a socket that the process inherits.
    """

    def __init__(
        self,
        words: Sequence[str],
        shown: Callable[[bytes], None] | None = None,
        command: Sequence[str] = ("decode", "pcap"),
        served: socket.socket | None = None,
    ) -> None:
        self.words, self.shown, self.command, self.served = words, shown, command, served
        self._reading: asyncio.Task[None] | None = None
        self._failure: OSError | None = None
        self.left_out = 0  # bytes
        self.has_begun = False

    @property
    def is_over(self) -> bool:
        """Return whether the process has ended by itself, because it failed or its output was closed."""
        return self.process.returncode is not None or self._failure is not None

    async def __aenter__(self) -> Self:
        # The same kcli, whatever the current directory contains. Ctrl-C is for the process that feeds it.
        paths = [str(Path(kcli.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "kcli.cli", *self.command, *self.words, "-",
            stdin=asyncio.subprocess.PIPE,
            stdout=None if self.shown is None else asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            start_new_session=True,
            pass_fds=[] if self.served is None else [self.served.fileno()],
        )  # fmt: skip
        if self.served is not None:
            self.served.close()  # a caller must not wait for a process that has ended
        assert self.process.stdin is not None
        widen(self.process.stdin.get_extra_info("pipe").fileno())
        if self.shown is not None:
            self._reading = asyncio.get_running_loop().create_task(self._read(self.shown))
        return self

    async def _read(self, shown: Callable[[bytes], None]) -> None:
        assert self.process.stdout is not None
        rest = b""
        while data := await self.process.stdout.read(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            try:
                for line in lines if self._failure is None else ():
                    shown(line)
            except OSError as error:
                self._failure = error

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until it has shown everything. Raises the OSError that `shown` raised."""
        assert self.process.stdin is not None
        if kind is not None and not self.has_begun:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()  # otherwise it would print a line about a capture that never began
        self.process.stdin.close()
        if self._reading is not None:
            await self._reading
        await self.process.wait()
        if self.left_out:
            print_note(
                f"kcli: {self.left_out:,} bytes of packets are not shown: they came faster than kcli could show them"
            )
        if self._failure is not None:
            raise self._failure

    def write(self, data: bytes) -> None:
        """Show the packets in blocks of a pcapng file; do nothing once the view has ended."""
        assert self.process.stdin is not None
        self.has_begun = True
        transport = self.process.stdin.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > MOST_WAITING:
            self.left_out += len(data)
        else:
            transport.write(data)


def widen(pipe: int) -> None:
    """Enlarge a pipe's buffer, where the system can: less is copied twice."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
