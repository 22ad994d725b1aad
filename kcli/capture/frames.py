"""Length-prefixed frames: what makes bytes a plausible request, and finding frames in the middle of a stream.

A frame is four bytes of length and that many bytes. Where a stream's beginning was seen, frames follow each other and
the lengths alone tell where each starts. Where it was not (a capture that starts in mid-stream, a gap), a request is
found by a header that makes sense in a frame that decodes to its last byte, with another frame or the stream's present
end behind it; a response by the correlation id of a request that waits for one, in a frame that decodes as its answer.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Iterable

from kcli.capture.bodies import Bodies

__all__ = ["LARGEST", "PREFIX", "Stream", "acks_of", "looks_like_tls", "plausible_request"]

PREFIX = 4
HEADER = 10  # key, version, correlation id, length of the client id
LARGEST = 1 << 30  # bytes of a frame: more than any broker accepts
LARGEST_FOUND = 1 << 27  # ... of one that is only being looked for
SEARCHED = 1 << 22  # bytes of a stream in which a frame is looked for before the oldest are given up
TRIED = 64  # unfinished candidates
NEWER = 10  # versions beyond the tables that are believed at the start of a connection

# The first bytes of a request: a length below 2^27, a small key and version, a correlation id that is not negative.
REQUEST = re.compile(rb"(?=[\0-\x07].{3}[\0-\x7f].\0[\0-\x1f][\0-\x7f].{3}(?:\xff\xff|[\0-\x7f].))", re.DOTALL)


class Stream:
    """One direction of a connection: bytes not yet read as frames, and where the reader stands.

    offset: of buffer[0], bytes from the start of the direction. skip: bytes of a damaged frame that are still to come.
    """

    def __init__(self, synced: bool) -> None:
        self.buffer = bytearray()
        self.offset = 0
        self.synced = synced
        self.skip = 0
        self.searched = 0
        self.candidates: list[int] = []
        self.tried: dict[int, int] = {}  # correlation id -> where its search goes on
        self.damaged = 0  # bytes of such a frame that came behind what is missing
        self.seen = 0  # bytes that came while no frame was found
        self.foreign = 0  # bytes of a connection that is not Kafka
        self.ns = 0

    def take(self, count: int) -> bytes:
        """The first bytes of the buffer, which moves on."""
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        self.offset += count
        return taken

    def pass_damaged(self) -> None:
        count = len(self.take(min(self.skip, len(self.buffer))))
        self.skip -= count
        self.damaged += count

    def unsync(self) -> None:
        self.synced = False
        self.searched = self.skip = self.seen = 0
        self.candidates = []
        self.tried = {}

    def frame_size(self) -> int | None:
        """What the length in front says; None where it is not whole."""
        return int.from_bytes(self.buffer[:PREFIX], "big", signed=True) if len(self.buffer) >= PREFIX else None

    def give_up(self) -> int:
        """How many bytes at the front are too many to go on searching in."""
        return max(0, len(self.buffer) - SEARCHED) if not self.candidates else max(0, len(self.buffer) - LARGEST_FOUND)

    def dropped(self, count: int) -> None:
        """Keep the search's places right after `take`."""
        self.searched = max(0, self.searched - count)
        self.candidates = [at - count for at in self.candidates if at >= count]
        self.tried = {number: max(PREFIX, at - count) for number, at in self.tried.items()}


def plausible_request(data: bytes | bytearray, at: int, bodies: Bodies, *, found: bool = False) -> bool | None:
    """Whether a request's frame may begin here; None: too few bytes to tell. found: one is looked for, so be strict."""
    if len(data) - at < PREFIX + HEADER:
        if len(data) - at >= PREFIX and not 8 <= int.from_bytes(data[at : at + PREFIX], "big") < LARGEST:
            return False
        return None
    size = int.from_bytes(data[at : at + 4], "big")
    key = int.from_bytes(data[at + 4 : at + 6], "big", signed=True)
    version = int.from_bytes(data[at + 6 : at + 8], "big", signed=True)
    api = bodies.api(key)
    if not 8 <= size < (LARGEST_FOUND if found else LARGEST) or api is None or data[at + 8] > 0x7F:
        return False
    if not 0 <= version <= api.versions.hi + (0 if found else NEWER):
        return False
    if key == 7 and version == 0:
        return True  # ControlledShutdown v0: its header has no client id
    return plausible_client_id(data, at + 12, size - 8)


def plausible_client_id(data: bytes | bytearray, at: int, room: int) -> bool:
    size = int.from_bytes(data[at : at + 2], "big", signed=True)
    if size < -1 or size > room - 2:
        return False
    return all(byte >= 0x20 and byte != 0x7F for byte in data[at + 2 : at + 2 + max(size, 0)])


def find_request(stream: Stream, bodies: Bodies) -> int | None:
    """Where in the buffer a request begins for sure."""
    data = stream.buffer
    for at in list(stream.candidates):
        verdict = confirmed(data, at, bodies)
        if verdict:
            return at
        if verdict is False:
            stream.candidates.remove(at)
    for match in REQUEST.finditer(data, max(0, stream.searched)):
        at = match.start()
        if len(stream.candidates) < TRIED and plausible_request(data, at, bodies, found=True):
            verdict = confirmed(data, at, bodies)
            if verdict:
                return at
            if verdict is None:
                stream.candidates.append(at)
    stream.searched = max(0, len(data) - PREFIX - HEADER + 1)
    return None


def confirmed(data: bytearray, at: int, bodies: Bodies) -> bool | None:
    """A candidate's frame decodes to its end, and what follows may be another; None: it is not whole yet."""
    end = at + PREFIX + int.from_bytes(data[at : at + PREFIX], "big")
    if end > len(data):
        return None
    if not bodies.request_fits(bytes(data[at + PREFIX : end])):
        return False
    return end == len(data) or plausible_request(data, end, bodies) is not False


def find_response(stream: Stream, waiting: Iterable[tuple[int, int, int]], bodies: Bodies) -> int | None:
    """Where in the buffer an answer to one of these (correlation id, api key, version) begins; the first of them."""
    data = stream.buffer
    asked = {correlation_id: (key, version) for correlation_id, key, version in waiting}
    if answers(data, 0, asked, bodies):
        return 0  # none can begin before it: no need to look for others
    for correlation_id in asked:
        needle = correlation_id.to_bytes(4, "big", signed=True)
        at = data.find(needle, stream.tried.get(correlation_id, PREFIX))
        while at >= 0:
            if 4 <= int.from_bytes(data[at - PREFIX : at], "big", signed=True) < LARGEST_FOUND:
                insort(stream.candidates, at - PREFIX)
            at = data.find(needle, at + 1)
        stream.tried[correlation_id] = max(PREFIX, len(data) - 3)
    for at in list(stream.candidates):
        verdict = answers(data, at, asked, bodies)
        if verdict:
            return at
        if verdict is False:
            stream.candidates.remove(at)
    return None


def answers(data: bytearray, at: int, asked: dict[int, tuple[int, int]], bodies: Bodies) -> bool | None:
    """Whether the frame here answers one of these (api key, version) by correlation id; None: it is not whole yet."""
    size = int.from_bytes(data[at : at + PREFIX], "big", signed=True)
    if not 4 <= size < LARGEST_FOUND:
        return False
    if at + PREFIX + size > len(data):
        return None
    known = asked.get(int.from_bytes(data[at + PREFIX : at + 2 * PREFIX], "big", signed=True))
    return known is not None and bodies.response_fits(bytes(data[at + PREFIX : at + PREFIX + size]), *known)


def acks_of(frame: bytes) -> int | None:
    """The acks of a Produce request, None where its header is not whole: 0 asks for no response."""
    version = int.from_bytes(frame[2:4], "big")
    at = HEADER + max(0, int.from_bytes(frame[8:10], "big", signed=True))
    if version >= 9:
        at = skip_tagged(frame, at)
        length, at = uvarint(frame, at)
        at += max(0, length - 1)
    elif version >= 3:
        at += 2 + max(0, int.from_bytes(frame[at : at + 2], "big", signed=True))
    return int.from_bytes(frame[at : at + 2], "big", signed=True) if at + 2 <= len(frame) else None


def skip_tagged(frame: bytes, at: int) -> int:
    count, at = uvarint(frame, at)
    for _ in range(min(count, len(frame))):
        at = uvarint(frame, at)[1]
        size, at = uvarint(frame, at)
        at += size
    return at


def uvarint(frame: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(frame) and shift < 35:
        value |= (frame[at] & 0x7F) << shift
        at += 1
        if frame[at - 1] < 0x80:
            return value, at
        shift += 7
    return 0, len(frame)


def looks_like_tls(data: bytes | bytearray) -> bool:
    """A TLS record's header (RFC 8446, 5.1): type 20 to 24, version 3.x, a length within bounds."""
    return (
        len(data) >= 5
        and 20 <= data[0] <= 24
        and data[1] == 3
        and data[2] <= 4
        and int.from_bytes(data[3:5], "big") <= 16640
    )
