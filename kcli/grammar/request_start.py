"""The fields at fixed offsets of a frame: its length, and in a request API key, version and client id."""

from struct import Struct

from kcli.core.codec.varints import Buffer
from kcli.errors import DecodeError

PREFIX = 4  # bytes of the length in front of a frame on a connection
LEAST = 4  # bytes of a frame: API key and version of a request, or correlation id of a response
CLIENT_ID = 8  # its offset in a request's header, after key, version and correlation id
HEAD = Struct(">hhi")  # API key, version, correlation id
BIG, LITTLE = Struct(">i"), Struct("<i")  # the length prefix of a frame, and a wrong one


def starts_with_length(data: Buffer, start: int = 0) -> bool:
    """Return whether data has a length prefix at `start`, and exactly this frame after it."""
    left = len(data) - start - PREFIX
    return left >= LEAST and int.from_bytes(data[start : start + PREFIX], "big") == left


def chain(data: Buffer, order: Struct = BIG, extra: int = 0) -> list[tuple[int, int]]:
    """Return (start, end) of each frame; [] if the lengths do not lead exactly to the end. extra: bytes that a length
    counts beyond its frame.
    """
    size_at, frames, at, end = order.unpack_from, [], 0, len(data)
    while at < end:
        start = at + PREFIX
        if start > end:
            return []
        at = start + size_at(data, at)[0] - extra
        if not start + LEAST <= at <= end:
            return []
        frames.append((start, at))
    return frames


def api_of(data: Buffer, start: int = 0) -> tuple[int, int]:
    """Return (API key, version) of the request frame at `start`. Raises DecodeError if it is too short."""
    left = len(data) - start
    if left < 4:
        raise DecodeError("requestApiKey", start, f"needs 4 bytes of api key and version at {start:#x}, {left} left")
    version = int.from_bytes(data[start + 2 : start + 4], "big", signed=True)
    return int.from_bytes(data[start : start + 2], "big", signed=True), version


def client_id_of(frame: Buffer) -> bytes | None:
    """Return the client id of a request frame; None for null, or if the frame is cut before its end.

    Compiled twin: core/codec/request_header.h. Only ControlledShutdown v0 has no client id at this offset.
    """
    size = int.from_bytes(frame[CLIENT_ID : CLIENT_ID + 2], "big", signed=True)
    found = bytes(frame[CLIENT_ID + 2 : CLIENT_ID + 2 + max(0, size)])
    return found if size == len(found) and len(frame) >= CLIENT_ID + 2 else None
