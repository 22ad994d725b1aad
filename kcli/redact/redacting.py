"""A capture read whole and written again without names and data: `Redaction`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, BinaryIO

from kcli.capture.exchanges import MEMORY, CaptureDecoder, Item
from kcli.capture.packets import ReferenceReader
from kcli.capture.pcapng import PcapngWriter
from kcli.capture.tls.layer import TlsLayer
from kcli.filelike import Stream
from kcli.redact.connection import RedactedConnection
from kcli.redact.draft import CAPTURED, MADE, Draft, DraftPacket
from kcli.redact.engine import RedactingEngine, Track
from kcli.redact.headers import set_checksums
from kcli.redact.messages import FrameRedactor
from kcli.redact.pseudonyms import Pseudonyms

__all__ = ["Redaction"]


class Redaction(CaptureDecoder):
    """Reads captures into a draft (`read`), and writes it as pcapng (`write`).

    tally and engine count what there was, as for a CaptureDecoder; written, omitted: packets
    """

    engine: RedactingEngine

    def __init__(
        self,
        paths: Sequence[str | Stream],
        key: bytes,
        *,
        keep: frozenset[str] = frozenset(),
        folder: str | None = None,
        ports: Sequence[int] = (),
        dialect: str | None = None,
        memory: int = MEMORY,
        key_logs: Sequence[str] = (),
    ) -> None:
        """key: what the other names are made by. keep: kinds of names that stay. folder: for the draft."""
        self.names, self.keep = Pseudonyms(key), keep
        self.draft = Draft(folder)
        self.written = self.omitted = 0
        with contextlib.ExitStack() as undo:  # an option may make no sense
            undo.callback(self.draft.close)
            super().__init__(paths, ports=ports, dialect=dialect, names=False, memory=memory, key_logs=key_logs)
            undo.pop_all()
        self.frames = FrameRedactor(self.names, keep, self.bodies)

    def close(self) -> None:
        """Let the draft go."""
        self.draft.close()

    def choose_engine(self, ports: Sequence[int]) -> tuple[Any, Callable[[], Any]]:
        """See CaptureDecoder: the interpreted one, which shows where bytes stand."""
        engine = RedactingEngine(self, ports, self.memory, self.draft, self.names, "addresses" in self.keep)
        return engine, partial(ReferenceReader, self.add_secrets)

    def layer(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> TlsLayer:
        """See CaptureDecoder."""
        track = self.engine.current
        assert track is not None
        return TlsLayer(
            partial(self.reader, track, ends, client, started), started, self.keys, self.tally.add_decrypted
        )

    def reader(self, track: Track, *state: Any) -> RedactedConnection:
        """What reads a connection. Another one for the same means that it is read behind TLS."""
        made = RedactedConnection(
            *state, self.bodies, self.receive, frames=self.frames, write=track.write, came=track.came
        )
        track.decrypted, track.connection = track.connection is not None, made
        return made

    def emit(self, item: Item) -> None:
        """Exchanges and events are counted, and not kept."""

    def write(self, out: BinaryIO) -> None:
        """Write what was read. OSError."""
        writer = PcapngWriter(out)
        for packet in self.draft.packets():
            if self.is_wanted(packet):
                set_checksums(packet.data, packet.places, packet.length)
                writer.packet(packet.ns, packet.link, packet.data, packet.length)
                self.written += 1
            else:
                self.omitted += packet.kind != MADE

    def is_wanted(self, packet: DraftPacket) -> bool:
        """Whether a packet is written: of a connection that was decrypted those made here, and the handshake."""
        if packet.flow in self.engine.left_out:
            return False
        return packet.kind != CAPTURED or packet.flow not in self.engine.made_clear
