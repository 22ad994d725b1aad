"""Packets off an interface by tcpdump or dumpcap, which are made for it, in whole packets as they come."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import signal
import struct
from collections.abc import AsyncGenerator, Sequence
from typing import NamedTuple

from kcli.errors import NetworkError, UsageError

HEADER, RECORD = 24, struct.Struct("=IIII")  # of a pcap file, and of each packet in it
BUFFER_MIB = 64  # that the kernel holds for packets which were not taken yet
READ = 1 << 20
DROPPED = re.compile(rb"(\d+) packets? dropped by kernel|dropped on interface .*: \d+/(\d+)")
# What both say at the start and at the end, whatever happened between.
USUAL = re.compile(r"Capturing on |File: |Packets |\d+ packets? |.*: (data link type|listening on) ")


class Piece(NamedTuple):
    """Whole packets as they stand in a pcap file; time: of the last one, seconds since 1970."""

    packets: bytes
    time: int


def capture_filter(ports: Sequence[int]) -> str:
    """Return the filter of what is captured, in the language of pcap-filter(7)."""
    return "tcp" + (f" and ({' or '.join(f'port {port}' for port in ports)})" if ports else "")


def capture_words(interface: str, ports: Sequence[int]) -> list[str]:
    """Return the command line of the capturing program. Raises UsageError if there is none."""
    wanted = capture_filter(ports)
    if found := shutil.which("tcpdump"):
        return [found, "-i", interface, "-n", "-U", "--immediate-mode", "-B", str(BUFFER_MIB << 10), "-w", "-", wanted]
    if found := shutil.which("dumpcap"):
        return [found, "-i", interface, "-P", "-q", "-B", str(BUFFER_MIB), "-w", "-", "-f", wanted]
    raise UsageError("kcli capture needs tcpdump or dumpcap (Wireshark's) on the PATH")


class PieceReader:
    """A pcap stream in whole packets. header: the file's, once it has come."""

    def __init__(self) -> None:
        self.header = b""
        self._rest = bytearray()

    def feed(self, data: bytes) -> Piece | None:
        """Return the packets that are whole now, none with the header; None: no more than before."""
        self._rest += data
        begins = not self.header
        if begins:
            if len(self._rest) < HEADER:
                return None
            self.header = bytes(self._rest[:HEADER])
            del self._rest[:HEADER]
        at = seconds = 0
        while len(self._rest) - at >= RECORD.size:
            found, _, size, _ = RECORD.unpack_from(self._rest, at)
            if len(self._rest) - at < RECORD.size + size:
                break
            at, seconds = at + RECORD.size + size, found
        if not at and not begins:
            return None
        piece = Piece(bytes(self._rest[:at]), seconds)
        del self._rest[:at]
        return piece


class PacketCapture:
    """A running capture. words: its command line. dropped: packets that the kernel dropped, known at the end."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words, self.dropped = words, 0
        self.reader = PieceReader()
        self._stopped = False

    async def pieces(self) -> AsyncGenerator[Piece, None]:
        """Yield packets until `stop`. Raises NetworkError if it failed, at the start or later."""
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *self.words, stdout=pipe, stderr=pipe, stdin=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        output, errors = self.process.stdout, self.process.stderr
        assert output is not None and errors is not None
        if self._stopped:
            self._interrupt()
        said = asyncio.ensure_future(errors.read())
        try:
            while data := await output.read(READ):
                if (piece := self.reader.feed(data)) is not None:
                    yield piece
        finally:
            if not output.at_eof():  # whoever takes packets has failed
                self.stop()
                while await output.read(READ):
                    pass
            text = await said
            code = await self.process.wait()
            self.dropped = sum(int(one or other) for one, other in DROPPED.findall(text))
        if code and not self._stopped:
            raise NetworkError(f"{self.words[0]}: {why_ended(text.decode(errors='replace'), code)}")

    def stop(self) -> None:
        """Capture no more."""
        if not self._stopped:
            self._stopped = True
            self._interrupt()

    def _interrupt(self) -> None:
        if hasattr(self, "process") and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGINT)


def why_ended(said: str, code: int) -> str:
    """Return why a capture failed: its last words, or how its process ended (a signal's number is below zero)."""
    lines = [line for line in said.strip().splitlines() if not USUAL.match(line)]
    if lines:
        return " ".join(lines[-2:])
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
