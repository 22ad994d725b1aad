"""Packets captured on an interface by tcpdump or dumpcap, in whole packets as they come."""

import asyncio
import contextlib
import re
import shutil
import signal
import struct
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kcli.errors import NetworkError, UsageError

HEADER, RECORD = 24, struct.Struct("=IIII")  # the header's size in a pcap file, and a packet's header
BUFFER_MIB = 64  # the kernel's buffer for packets that were not read yet
READ = 1 << 20
DROPPED = re.compile(rb"(\d+) packets? dropped by kernel|dropped on interface .*: \d+/(\d+)")
HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*(/\d{1,3})?|::[A-Fa-f0-9:.]*(/\d{1,3})?")
ASK_S = 10.0  # seconds between two requests to tcpdump for its number of dropped packets
MOST_SAID = 1 << 16  # bytes of its messages that are kept
# Lines that both programs print at the start and at the end in any case.
USUAL = re.compile(r"Capturing on |File: |Packets |\d+ packets? |.*: (data link type|listening on) ")


class PacketBlock(NamedTuple):
    """Whole packets in the format of a pcap file; time: of the last one, seconds since 1970."""

    packets: bytes
    time: int


def capture_filter(ports: Sequence[int], hosts: Sequence[str] = ()) -> str:
    """Return the capture filter in the language of pcap-filter(7). Raises UsageError if a value is no host."""
    choices = [[f"port {port}" for port in ports], [host_filter(host) for host in hosts]]
    return " and ".join(["tcp", *(f"({' or '.join(each)})" for each in choices if each)])


def host_filter(host: str) -> str:
    """Return the filter for a host name, an address or a network. Raises UsageError if the value is none of these."""
    if not HOST.fullmatch(host):
        raise UsageError(f"--host {host}: a name, an address, or a network (10.0.0.0/8) expected")
    return f"{'net' if '/' in host else 'host'} {host}"


def capture_words(interface: str, ports: Sequence[int], hosts: Sequence[str] = ()) -> list[str]:
    """Return the command line of the capturing program. Raises UsageError if neither program is installed."""
    wanted = capture_filter(ports, hosts)
    if found := shutil.which("tcpdump"):
        return [found, "-i", interface, "-n", "-U", "--immediate-mode", "-B", str(BUFFER_MIB << 10), "-w", "-", wanted]
    if found := shutil.which("dumpcap"):
        return [found, "-i", interface, "-P", "-q", "-B", str(BUFFER_MIB), "-w", "-", "-f", wanted]
    raise UsageError("kcli capture needs tcpdump or dumpcap (Wireshark's) on the PATH")


class PieceReader:
    """Splits a pcap stream into whole packets. header: the file header, once it has arrived."""

    def __init__(self) -> None:
        self.header = b""
        self._rest = bytearray()

    def feed(self, data: bytes) -> PacketBlock | None:
        """Return the packets that are complete now. Returns an empty block when only the header is complete, and None
        if nothing new is.
        """
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
        piece = PacketBlock(bytes(self._rest[:at]), seconds)
        del self._rest[:at]
        return piece


class PacketCapture:
    """A running capture. words: its command line. dropped: packets that the kernel dropped. on_drop: called with
    their number when it has grown while the capture runs (tcpdump reports it when it is asked).
    """

    def __init__(self, words: Sequence[str], on_drop: Callable[[int], None] = lambda count: None) -> None:
        self.words, self.dropped, self.on_drop = words, 0, on_drop
        self.is_tcpdump = Path(words[0]).name == "tcpdump"
        self.reader = PieceReader()
        self._stopped = False

    async def pieces(self) -> AsyncGenerator[PacketBlock, None]:
        """Yield packets until `stop`. Raises NetworkError if it failed, at the start or later."""
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *self.words, stdout=pipe, stderr=pipe, stdin=asyncio.subprocess.DEVNULL, start_new_session=True
        )
        output, errors = self.process.stdout, self.process.stderr
        assert output is not None and errors is not None
        if self._stopped:
            self._interrupt()
        messages, asking = asyncio.ensure_future(self._listen(errors)), asyncio.ensure_future(self._poll_counts())
        try:
            while data := await output.read(READ):
                if (piece := self.reader.feed(data)) is not None:
                    yield piece
        finally:
            if not output.at_eof():  # the consumer of the packets has failed
                self.stop()
                while await output.read(READ):
                    pass
            asking.cancel()
            text = await messages
            code = await self.process.wait()
        if code and not self._stopped:
            raise NetworkError(f"{self.words[0]}: {why_ended(text.decode(errors='replace'), code)}")

    async def _listen(self, errors: asyncio.StreamReader) -> bytes:
        """Return the program's messages. Counts dropped packets on the way."""
        text = b""
        while data := await errors.read(MOST_SAID):
            text = (text + data)[-MOST_SAID:]
            found = [int(one or other) for one, other in DROPPED.findall(text)]
            before, self.dropped = self.dropped, found[-1] if found and self.is_tcpdump else sum(found)
            if self.dropped > before and not self._stopped and not errors.at_eof():
                self.on_drop(self.dropped)
        return text

    async def _poll_counts(self) -> None:
        """Ask tcpdump periodically for the number of dropped packets."""
        while self.is_tcpdump:
            await asyncio.sleep(ASK_S)
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGUSR1)

    def stop(self) -> None:
        """Stop capturing."""
        if not self._stopped:
            self._stopped = True
            self._interrupt()

    def _interrupt(self) -> None:
        if hasattr(self, "process") and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGINT)


def why_ended(messages: str, code: int) -> str:
    """Return why a capture failed: its last words, or how its process ended (a signal's number is below zero)."""
    lines = [line for line in messages.strip().splitlines() if not USUAL.match(line)]
    if lines:
        return " ".join(lines[-2:])
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
