"""Length-prefixed frames: tests for a plausible request, and the search for frames in the middle of a stream.

A frame is a length of four bytes and that many bytes. If the beginning of a stream was captured, frames follow each
other, and their lengths give the start of each. If not (a capture that begins later, or a gap), a request is recognized
by a plausible header in a frame that decodes to its last byte, followed by another frame or the current end of the
stream; a response is recognized by the correlation id of a waiting request, in a frame that decodes as its response.
"""

import re
import struct
from collections.abc import Iterator
from functools import cache
from heapq import heappop, heappush
from typing import NamedTuple

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.pending import PendingRequests
from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.request_start import PREFIX
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace
from kcli.schemas.apikeys import CONTROLLED_SHUTDOWN, PRODUCE

HEADER = 10  # key, version, correlation id, length of the client id
NEWEST, LONGEST_ID = 255, 255  # most plausible version and client id length of an unknown API
LARGEST = 1 << 30  # longest frame in bytes: more than any broker accepts
LARGEST_FOUND = 1 << 27  # longest frame in a search, in bytes
SEARCHED = 1 << 22  # bytes of a stream to search before the oldest are dropped
TRIED = 64  # most incomplete candidates
FEW = 32  # most correlation ids to search for one by one
EFFORT = 32  # bytes that a search may decode for each received byte
HEAD_START = 1 << 20  # bytes that a search may decode in any case
ACKS = "acks"
NUMBER = struct.Struct("=q")  # the core's form of a number in a column

# The first bytes of a response: a length below 2^27, a correlation id.
RESPONSE = re.compile(rb"(?=[\0-\x07].{7})", re.DOTALL)
# The first bytes of a request: a length below 2^27, a small key and version, a correlation id that is not negative.
REQUEST = re.compile(rb"(?=[\0-\x07].{3}[\0-\x7f].\0[\0-\x1f][\0-\x7f].{3}(?:\xff\xff|[\0-\x7f].))", re.DOTALL)


class CutFrame(NamedTuple):
    """A frame that the snapshot length cuts off. head: its first bytes, without the length. size: of the whole, with
    the length. began: when its first bytes came (ns).
    """

    head: bytes
    size: int
    began: int


class FrameStream:
    """One direction of a connection: the bytes not yet read as frames, and the reader's position.

    offset: the position of buffer[0], in bytes from the start of the direction. skip: bytes of a damaged frame that are
    still to come. cut: that frame, if the snapshot length cuts it off. part: where the last received bytes begin in the
    buffer.
    """

    def __init__(self, synced: bool) -> None:
        self.buffer = bytearray()
        self.offset = 0
        self.synced = synced
        self.skip = 0
        self.searched = 0
        self.candidates: list[int] = []
        self.ends: list[tuple[int, int]] = []  # (end, start) of candidates for the response, in a search
        self.received = 0  # all bytes
        self.effort = HEAD_START
        self.damaged = 0  # bytes of a damaged frame after the loss
        self.cut: CutFrame | None = None
        self.part = 0
        self.seen = 0  # bytes received while no frame was found
        self.foreign = 0  # bytes of a connection that is not Kafka's
        self.ns = 0
        self.begun = 0  # the time of buffer[0]
        self.first = 0  # the time of the last taken frame's first byte

    def receive(self, data: bytes) -> None:
        """Add the next bytes of the direction, received at `ns`."""
        if not self.buffer:
            self.begun = self.ns
        self.part = len(self.buffer)
        self.buffer += data
        self.received += len(data)

    def may_try(self, size: int) -> bool:
        """Return whether a search may decode `size` more bytes; the limit is for frames nested in frames."""
        if size > self.effort + EFFORT * self.received:
            return False
        self.effort -= size
        return True

    def take(self, count: int) -> bytes:
        """Remove the first bytes of the buffer and return them."""
        removed = bytes(self.buffer[:count])
        del self.buffer[:count]
        self.offset += count
        self.part = max(0, self.part - count)
        self.begun = self.ns
        return removed

    def pass_damaged(self) -> None:
        """Skip the bytes of a damaged frame so far."""
        count = len(self.take(min(self.skip, len(self.buffer))))
        self.skip -= count
        self.damaged += count

    def unsync(self) -> None:
        """Forget where frames begin."""
        self.synced = False
        self.skip = self.seen = 0
        self.cut = None
        self.end_search()

    def end_search(self) -> None:
        """Drop the results of a search for a frame."""
        self.searched = 0
        self.candidates = []
        self.ends = []

    def frame_size(self) -> int | None:
        """Return the length prefix; None if it is incomplete."""
        return int.from_bytes(self.buffer[:PREFIX], "big", signed=True) if len(self.buffer) >= PREFIX else None

    def take_frame(self, least: int) -> bytes | int | None:
        """Remove and return the first frame, without its length; None if it is incomplete. Return the length as an int
        if it is impossible.
        """
        size = self.frame_size()
        if size is not None and not least <= size < LARGEST:
            return size
        if size is None or len(self.buffer) < PREFIX + size:
            return None
        self.first = self.begun
        return self.take(PREFIX + size)[PREFIX:]

    def give_up(self) -> int:
        """Return the number of bytes at the front that are too old for further search."""
        waits = self.candidates or self.ends
        return max(0, len(self.buffer) - (LARGEST_FOUND if waits else SEARCHED))

    def dropped(self, count: int) -> None:
        """Update the positions of the search after `take`."""
        self.searched = max(0, self.searched - count)
        self.candidates = [at - count for at in self.candidates if at >= count]
        self.ends = [(end - count, at - count) for end, at in self.ends if at >= count]  # still a heap


def plausible_request(data: bytes | bytearray, at: int, bodies: Bodies, *, found: bool = False) -> bool | None:
    """Return whether a request's frame may begin here; None if there are too few bytes. found: stricter, for a
    search.
    """
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
    if found and version not in api.versions:
        return False
    if key == CONTROLLED_SHUTDOWN and version == 0:
        return True  # its header has no client id
    length = int.from_bytes(data[at + 12 : at + 14], "big", signed=True)
    return -1 <= length <= size - HEADER


def begins_request(data: bytes | bytearray, at: int, bodies: Bodies) -> bool:
    """Return whether a request of a known version begins here, whose client id is text, as far as it is there."""
    if not plausible_request(data, at, bodies, found=True):
        return False
    length = int.from_bytes(data[at + 12 : at + 14], "big", signed=True)
    name = bytes(data[at + 14 : at + 14 + max(0, length)])
    return name.isascii() and (not name or name.decode().isprintable())


def begins_response(data: bytes | bytearray, at: int, waiting: PendingRequests) -> bool:
    """Return whether a response to a waiting request begins here, by its length and correlation id."""
    if len(data) - at < 2 * PREFIX:
        return False
    size, number = (int.from_bytes(data[i : i + 4], "big", signed=True) for i in (at, at + PREFIX))
    return 4 <= size < LARGEST_FOUND and waiting.find(number) is not None


def names_api(data: bytes | bytearray, bodies: Bodies) -> bool:
    """Return whether a request of an unknown API begins here, with a client id that is text and within its frame."""
    if len(data) < PREFIX + HEADER:
        return False
    size, key, version = (int.from_bytes(data[a:b], "big") for a, b in ((0, 4), (4, 6), (6, 8)))
    length = int.from_bytes(data[12:14], "big")
    if bodies.api(key) is not None or key > 0x7FFF or version > NEWEST or data[8] > 0x7F:
        return False
    name = bytes(data[14 : 14 + length])
    return (
        0 < length <= min(LONGEST_ID, size - HEADER)
        and size < LARGEST_FOUND
        and name.isascii()
        and name.decode().isprintable()
    )


def find_request(stream: FrameStream, bodies: Bodies) -> int | None:
    """Return the position in the buffer at which a request certainly begins; None if there is none."""
    data = stream.buffer
    for at in list(stream.candidates):
        verdict = confirmed(stream, at, bodies)
        if verdict:
            return at
        if verdict is False:
            stream.candidates.remove(at)
    for match in REQUEST.finditer(data, max(0, stream.searched)):
        at = match.start()
        if len(stream.candidates) < TRIED and plausible_request(data, at, bodies, found=True):
            verdict = confirmed(stream, at, bodies)
            if verdict:
                return at
            if verdict is None:
                stream.candidates.append(at)
    stream.searched = max(0, len(data) - PREFIX - HEADER + 1)
    return None


def confirmed(stream: FrameStream, at: int, bodies: Bodies) -> bool | None:
    """Return whether a candidate's frame decodes to its end, and another may follow; None if it is incomplete."""
    data = stream.buffer
    end = at + PREFIX + int.from_bytes(data[at : at + PREFIX], "big")
    if end > len(data):
        return None
    if not stream.may_try(end - at) or not bodies.request_fits(bytes(data[at + PREFIX : end])):
        return False
    return end == len(data) or plausible_request(data, end, bodies) is not False


def find_response(stream: FrameStream, waiting: PendingRequests, bodies: Bodies) -> int | None:
    """Return the position in the buffer of the first complete response to a waiting request; None if there is none."""
    data = stream.buffer
    if not stream.searched and answers(stream, 0, waiting, bodies):
        return 0  # none can begin before it
    for at in response_starts(data, stream.searched, waiting):
        size = int.from_bytes(data[at : at + PREFIX], "big", signed=True)
        if 4 <= size < LARGEST_FOUND:
            heappush(stream.ends, (at + PREFIX + size, at))
    stream.searched = max(0, len(data) - 2 * PREFIX + 1)
    whole = []
    while stream.ends and stream.ends[0][0] <= len(data):
        whole.append(heappop(stream.ends)[1])
    return next((at for at in sorted(whole) if answers(stream, at, waiting, bodies)), None)


def response_starts(data: bytearray, start: int, waiting: PendingRequests) -> Iterator[int]:
    """Yield positions from `start` on, in any order, at which a waiting request's correlation id follows a length."""
    if len(waiting.by_id) > FEW:  # one pass over all positions, for any number of requests
        for match in RESPONSE.finditer(data, start):
            at = match.start()
            if int.from_bytes(data[at + PREFIX : at + 2 * PREFIX], "big", signed=True) in waiting.by_id:
                yield at
        return
    for number in waiting.by_id:
        needle = number.to_bytes(4, "big", signed=True)
        at = data.find(needle, start + PREFIX)
        while at >= 0:
            yield at - PREFIX
            at = data.find(needle, at + 1)


def answers(stream: FrameStream, at: int, waiting: PendingRequests, bodies: Bodies) -> bool:
    """Return whether a complete frame here is the response to a waiting request."""
    data = stream.buffer
    size = int.from_bytes(data[at : at + PREFIX], "big", signed=True)
    if not 4 <= size < LARGEST_FOUND or at + PREFIX + size > len(data):
        return False
    request = waiting.find(int.from_bytes(data[at + PREFIX : at + 2 * PREFIX], "big", signed=True))
    if request is None or request.frame is None or not stream.may_try(size):
        return False
    return bodies.response_fits(bytes(data[at + PREFIX : at + PREFIX + size]), request.api_key, request.api_version)


def acks_of(frame: bytes, dialect: str | None = None) -> int | None:
    """Return the acks of a Produce request (0 asks for no response); None if the bytes before are incomplete."""
    return produce_head(int.from_bytes(frame[2:4], "big"), dialect).acks(frame)


class ProduceHead:
    """One version of a Produce request, up to its acks."""

    def __init__(self, version: int, dialect: str | None) -> None:
        self.header = messages.request_header(PRODUCE, version, dialect)
        self.request = messages.request(PRODUCE, version, dialect)
        self.compiled = self.request.select([f"{ACKS}?"]).head

    def acks(self, frame: bytes) -> int | None:
        try:
            start = self.header.skip(frame)
            found = self.compiled.read(frame, start) if self.compiled is not None else None
        except DecodeError:
            found = None  # incomplete, or only the interpreted grammar can read it
        return NUMBER.unpack_from(found[0][0])[0] if found is not None else self.interpreted_acks(frame)

    def interpreted_acks(self, frame: bytes) -> int | None:
        try:
            source = ByteSource(frame, self.header.skip(frame))
            for field in self.request.grammar.fields:
                value = field.subcon.parse_word(source, DecodeTrace(), field.name)
                if field.name == ACKS:
                    return int(value)
        except DecodeError:
            pass
        return None


produce_head = cache(ProduceHead)
