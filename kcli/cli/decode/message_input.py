"""Finds the messages in the input of `decode request` and `decode response`: in lines of text, or in framed bytes."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kcli.base64_text import unbase64
from kcli.cli.options.file_type import refuse_batches, refuse_others
from kcli.cli.options.inputs import read_text, refuse_two_forms
from kcli.counting import counted
from kcli.errors import DecodeError, InputError
from kcli.grammar.request_start import CLIENT_ID, PREFIX, chain
from kcli.hex_text import is_dump, unhex
from kcli.input_names import name_of

Reads = Callable[[bytes], bool]  # whether bytes are one message, read to the last
Reach = Callable[[bytes, bool], int]
LOOKED_AT = 20  # lines
LONGEST = 100 << 20  # bytes of a frame: socket.request.max.bytes of a broker
READ_AHEAD = 1 << 16  # bytes of a message that are read to tell whether a length precedes it


class Frame(NamedTuple):
    """The place of a message's frame in the input: `start` to `end`, without the length prefix."""

    start: int
    end: int


class InputPart(NamedTuple):
    """Bytes that contain messages. place: their position in the input ("line 3"); "": they are the whole input."""

    place: str
    data: bytes | InputError

    def source(self, file: str) -> str:
        """Return the name of its source for messages about problems."""
        return f"{name_of(file)}: {self.place}" if self.place else name_of(file)


def pieces(
    file: str, hex_: bool, base64_: bool, reads: Reads, begins: Reads, *, batches: bool = False
) -> Iterator[InputPart]:
    """Yield the input as a whole, or each line of hex or base64 text where lines are messages of their own.

    reads: returns whether bytes are a whole message; begins: returns whether they start as one. batches: they may be
    record batches. Raises UsageError, InputError.
    """
    refuse_two_forms(hex_, base64_)
    data = read_text(file)
    if not data.strip():
        raise InputError(f"no bytes: {'record batches' if batches else 'a message'} expected", file=name_of(file))
    if not (hex_ or base64_):
        refuse_others(data, name_of(file))
        if not batches:
            refuse_batches(data, name_of(file))
        yield InputPart("", data)
        return
    bytes_of = unhex if hex_ else unbase64
    lines = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line.strip()]
    if are_messages([line for _, line in lines], bytes_of, reads, begins):
        for number, line in lines:
            yield InputPart(f"line {number}", decoded(line, bytes_of))
        return
    yield InputPart("", decoded(data, bytes_of))


def decoded(text: bytes, bytes_of: Callable[[bytes], bytes]) -> bytes | InputError:
    """Return the bytes of the text, or the error in it."""
    try:
        return bytes_of(text)
    except InputError as error:
        return error


def are_messages(lines: list[bytes], bytes_of: Callable[[bytes], bytes], reads: Reads, begins: Reads) -> bool:
    """Return whether each line is a message: not a hex dump, nor one message over several lines (`xxd
    -p`, `base64`).
    """
    if len(lines) < 2 or is_dump(b"\n".join(lines)):
        return False
    whole = decoded(b"\n".join(lines), bytes_of)
    if isinstance(whole, bytes) and reads(whole):
        return False
    made = [decoded(line, bytes_of) for line in lines[:LOOKED_AT]]
    single = [data for data in made if isinstance(data, bytes)]
    return any(reads(data) for data in single) or (len(single) > 1 and all(begins(data) for data in single))


def frames_of(
    data: bytes,
    framed: bool | None,
    reads: Reads,
    note: Callable[[InputError], None],
    reach: Reach = lambda data, cut: 0,
    known: Reads = lambda data: False,
) -> Iterator[Frame]:
    """Yield the frames in a piece. By default it is framed if lengths lead exactly to its end, or if more of it can be
    read after a length than from its first byte; `note` then gets the number of missing or extra bytes.

    Frames whose lengths include themselves, or are little-endian, are found, too; `note` gets a text about it. Raises
    DecodeError. reach: returns how many bytes of a message can be read; cut: the frame's end is missing. known: returns
    whether bytes start with a known API and a version that it may have.
    """
    fits = framed is not False and bool(chain(data))
    if framed is not False and not fits and not reads(data):
        from kcli.grammar.slips.framings import framings

        for frames, slip in framings(data):
            if reads(data[slice(*frames[0])]):
                note(DecodeError("", 0, slip))
                yield from (Frame(*each) for each in frames)
                return
        if framed is None and is_length(data) and is_framed(data, reach, known):
            yield from uneven_frames(data, note)
            return
    if not (framed or fits):
        yield Frame(0, len(data))
        return
    at = 0
    while at < len(data) or not data:
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        left = len(data) - at - 4
        if left < 0:
            raise DecodeError("", at, f"needs a length of 4 bytes at {at:#x}, {len(data) - at} left")
        if size < 0:
            raise DecodeError("", at, f"length {size} at {at:#x}")
        if size > left:
            raise DecodeError("", at, f"the length at {at:#x} says {size} bytes, {left} are left")
        yield Frame(at + 4, at + 4 + size)
        at += 4 + size


def is_length(data: bytes) -> bool:
    """Return whether the first bytes may be the length of a frame that is cut, or that has bytes after it."""
    return len(data) >= 2 * PREFIX and 2 * PREFIX <= int.from_bytes(data[:PREFIX], "big") <= LONGEST


def is_framed(data: bytes, reach: Reach, known: Reads) -> bool:
    """Return whether more can be read after the length. If most of the frame is missing, the readable start of a header
    does not count, and a length that reads as key and version of a known request is none.
    """
    size, left = int.from_bytes(data[:PREFIX], "big"), len(data) - PREFIX
    behind = reach(data[PREFIX : min(PREFIX + size, READ_AHEAD)], size > left)
    if size > 2 * left and (behind <= CLIENT_ID or known(data)):
        return False
    return behind > max(reach(data[:READ_AHEAD], False), PREFIX)


def uneven_frames(data: bytes, note: Callable[[InputError], None]) -> Iterator[Frame]:
    """Yield frames behind their lengths. The last may be cut or have bytes after it; `note` is called with their
    number.
    """
    at = 0
    while at < len(data):
        size, left = int.from_bytes(data[at : at + PREFIX], "big"), len(data) - at - PREFIX
        if at and not is_length(data[at:]):
            note(DecodeError("", at, f"{counted(len(data) - at, 'byte')} left after the frame at {at:#x}"))
            return
        if size > left:
            missing = f"{counted(size - left, 'byte')} missing"
            note(DecodeError("", at, f"the length at {at:#x} says {counted(size, 'byte')}, {left} are left: {missing}"))
        yield Frame(at + PREFIX, min(at + PREFIX + size, len(data)))
        at += PREFIX + size
