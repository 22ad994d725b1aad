"""Reads a capture completely, and writes it again without names and data: `Redaction`."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from kcli.capture.decoder import DEFAULTS, CaptureDecoder, DecodeOptions
from kcli.capture.io.pcapng import interface_block, section_block
from kcli.capture.sinks import Sink
from kcli.capture.tls.layer import TlsLayer
from kcli.core.capture.draft import Draft
from kcli.filelike import Stream
from kcli.grammar.request_start import api_of
from kcli.redact.logins import Login
from kcli.redact.messages import FrameRedactor
from kcli.redact.pseudonyms import Pseudonyms
from kcli.redact.redacted_connection import RedactedConnection
from kcli.redact.track import ConnectionDraft, Track


class Redaction(Sink):
    """Reads captures into a draft (`read`), and writes it as pcapng (`write`).

    capture: the decoder that reads the captures; written, omitted: numbers of packets
    """

    learns = False

    def __init__(
        self,
        paths: Sequence[str | Stream],
        key: bytes,
        options: DecodeOptions = DEFAULTS,
        *,
        keep: frozenset[str] = frozenset(),
        folder: str | None = None,
    ) -> None:
        """Prepare to redact captures. key: the pseudonyms depend on it. keep: kinds of names that stay. folder: for the
        draft.
        """
        self.names, self.keep = Pseudonyms(key), keep
        self.draft = Draft(folder)
        self.written = self.omitted = 0
        self.left_out: set[int] = set()  # numbers of connections that are not written
        self.made_clear: set[int] = set()  # numbers of connections that were decrypted
        self.tls_left_out = self.others_left_out = 0
        with contextlib.ExitStack() as undo:  # an option may be invalid
            undo.callback(self.draft.close)
            self.capture = CaptureDecoder(paths, self, replace(options, names=False))
            undo.pop_all()
        self.engine, self.tally, self.read = self.capture.engine, self.capture.tally, self.capture.read
        self.capture.handover.layer = self.layer
        self.engine.draft(self, self.draft, self.names, "addresses" in keep)
        self.frames = FrameRedactor(self.names, keep, self.capture.bodies)

    def close(self) -> None:
        """Close the draft."""
        self.draft.close()

    def layer(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> TlsLayer:
        """Make the layer that reads a connection, with its track."""
        places = self.engine.drafting.current
        track = places.track = Track(places)
        make = partial(self.reader, track, ends, client, started)
        track.layer = TlsLayer(make, started, self.capture.handover.keys, self.tally.add_decrypted)
        return track.layer

    def reader(self, track: Track, *state: Any) -> RedactedConnection:
        """Make the reader of a connection. A second one for the same connection reads the data inside TLS."""
        state += (self.capture.bodies, self.capture.receive)
        login = login_of(track.places)
        made = RedactedConnection(*state, frames=self.frames, login=login, write=track.write, came=track.came)
        track.decrypted, track.connection = track.connection is not None, made
        return made

    def rewriter(self, api_key: int, version: int, is_response: bool) -> Any:
        """Return the rewriter of FrameRedactor for the core's engine."""
        return self.frames.rewriter(api_key, version, is_response)

    def redacted(self, frame: bytes, request: bytes | None) -> bytes:
        """Redact a frame for the core's engine. request: the request's frame if the frame is a response; None if it is
        a request.
        """
        if request is None:
            return self.frames.request(frame, login_of(self.engine.drafting.current))
        return self.frames.response(frame, *api_of(request), request)

    def connection_over(self, places: ConnectionDraft, ns: int, ignored: bool) -> None:
        """Finish a connection's packets; leave the connection out if it can't be redacted."""
        track: Track | None = places.track
        if track is not None:
            track.write_refusal()
        decrypted = track is not None and track.decrypted
        if ignored or (track is not None and (track.foreign or (decrypted and not track.has_sent))):
            self.left_out.add(places.number)
            self.tls_left_out += decrypted
            self.others_left_out += not decrypted
        elif track is not None and decrypted:
            self.made_clear.add(places.number)
            track.add_ends(ns)
        if track is not None:
            track.forget()

    def write(self, out: BinaryIO) -> None:
        """Write the packets that were read. Raises OSError."""
        out.write(section_block())
        self.written, self.omitted = self.draft.write(out, interface_block, self.left_out, self.made_clear)


def login_of(places: ConnectionDraft) -> Login:
    """Return the login of a connection."""
    login: Login = places.login or Login()
    places.login = login
    return login
