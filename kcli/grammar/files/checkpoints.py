"""Kafka's small text files as constructs: checkpoints and partition.metadata.

A checkpoint is a version (0), a count, and one entry per line. Sources: Kafka's CheckpointFile,
LeaderEpochCheckpointFile, OffsetCheckpointFile and PartitionMetadataFile. As in Kafka, there may be white space around
a number, and the last line may lack its line feed.
"""

import re
from collections.abc import Iterator
from typing import Any

from kcli.errors import DecodeError, EncodeError
from kcli.grammar.words.arrays import entries
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.trace import DecodeTrace, element
from kcli.grammar.words.word import Word

CHUNK = 64  # bytes that hold any 64-bit number with white space
LONGEST_TOKEN = 256  # a topic's name has at most 249 characters


class Decimal(Word):
    """A decimal 64-bit number as text. end: the bytes after it. only: the only valid value, if any."""

    least = 1
    type = "decimal"
    zero = 0

    def __init__(self, end: bytes = b"\n", only: int | None = None) -> None:
        super().__init__()
        behind = rb"[ \t]*\r?(?:\n|\Z)" if end == b"\n" else rb"[ \t]*" + re.escape(end)
        self.end, self.only, self.pattern = end, only, re.compile(rb"[ \t]*(-?[0-9]{1,19})" + behind)

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> int:
        start, chunk = source.tell(), peek(source, CHUNK)
        found = self.pattern.match(chunk)
        if found is None or (self.only is not None and int(found[1]) != self.only):
            wanted = "a number" if self.only is None else str(self.only)
            raise DecodeError(path, start, f"line {line_of(source, start)}: {wanted} expected, not {shown(chunk)}")
        value = int(found[1])
        source.seek(start + found.end())
        if found[0] != self.bytes_for(value):
            trace.encodings[path] = found[0]
        trace.note(path, start, source.tell(), self.type, value)
        return value

    def bytes_for(self, value: int) -> bytes:
        """Return the number as Kafka writes it."""
        return str(value).encode() + self.end

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not -(1 << 63) <= value < 1 << 63:
            raise EncodeError(path, f"needs an int64, not {value!r}")
        if self.only not in (None, value):
            raise EncodeError(path, f"needs {self.only}, not {value}")
        out += self.kept(value, path, trace) or self.bytes_for(value)


class Token(Word):
    """Text without white space. end: the bytes after it."""

    least = 1
    type = "token"
    zero = ""

    def __init__(self, end: bytes = b"\n") -> None:
        super().__init__()
        self.end = end

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> str:
        start, chunk = source.tell(), peek(source, LONGEST_TOKEN)
        text, end, _ = chunk.partition(self.end)
        if not text or not (end or source.left() == len(chunk)):
            raise DecodeError(path, start, f"line {line_of(source, start)}: a name expected, not {shown(chunk)}")
        source.seek(start + len(text) + len(end))
        value = text.decode("utf-8", "replace").strip()
        if value.split() != [value]:
            raise DecodeError(path, start, f"line {line_of(source, start)}: a name expected, not {shown(chunk)}")
        if text + end != self.bytes_for(value):
            trace.encodings[path] = text + end
        trace.note(path, start, source.tell(), self.type, value)
        return value

    def bytes_for(self, value: str) -> bytes:
        """Return the text as Kafka writes it."""
        return value.encode() + self.end

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if not isinstance(value, str) or value.split() != [value]:
            raise EncodeError(path, f"needs text without white space, not {value!r}")
        try:
            out += self.kept(value, path, trace) or self.bytes_for(value)
        except UnicodeEncodeError:
            raise EncodeError(path, "a name with surrogates has no UTF-8 form") from None


class Labelled(Word):
    """A value after a label, as in `topic_id: ...`."""

    type = "labelled"

    def __init__(self, label: str, subcon: Word) -> None:
        super().__init__()
        self.label, self.subcon = label.encode(), subcon
        self.least, self.zero = len(self.label) + subcon.least, subcon.zero

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
        start, chunk = source.tell(), peek(source, CHUNK)
        if not chunk.startswith(self.label):
            wanted = f"`{self.label.decode()}...` expected"
            raise DecodeError(path, start, f"line {line_of(source, start)}: {wanted}, not {shown(chunk)}")
        source.seek(start + len(self.label))
        return self.subcon.parse_word(source, trace, path)

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        out += self.label
        self.subcon.build_word(value, out, trace, path)


class CountedLines(Word):
    """Entries up to the end of the file, one per line, with a line for their number in front. Blank lines are
    ignored.
    """

    least = 1
    type = "lines"
    count = Decimal()

    def __init__(self, subcon: Struct) -> None:
        super().__init__()
        self.subcon = subcon

    def entries(self, source: ByteSource, trace: DecodeTrace, path: str) -> Iterator[dict[str, Any]]:
        """Yield each entry as soon as it is read. Raises DecodeError for an invalid line, and at the end for a wrong
        count.
        """
        start, found = source.tell(), 0
        count = self.count.parse_word(source, trace, f"{path}#count")
        while skip_blank(source):
            yield self.subcon.parse_word(source, trace, element(path, found))
            found += 1
        if count != found:
            raise DecodeError(path, start, f"line 2 says {entries(count)}, {found} here")

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> list[dict[str, Any]]:
        return list(self.entries(source, trace, path))

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if not isinstance(value, list):
            raise EncodeError(path, f"needs a list, not {value!r}")
        self.count.build_word(len(value), out, trace, f"{path}#count")
        for index, item in enumerate(value):
            self.subcon.build_word(item, out, trace, element(path, index))


def peek(source: ByteSource, size: int) -> bytes:
    start = source.tell()
    data = source.read(min(size, source.left()))
    source.seek(start)
    return data


def skip_blank(source: ByteSource) -> bool:
    """Skip white space; return whether anything follows."""
    while chunk := peek(source, 4096):
        source.seek(source.tell() + len(chunk) - len(chunk.lstrip()))
        if chunk.strip():
            return True
    return False


def line_of(source: ByteSource, at: int) -> int:
    return source.getvalue().count(b"\n", 0, at) + 1


def shown(chunk: bytes) -> str:
    return repr(chunk.partition(b"\n")[0].decode("utf-8", "replace"))


VERSION = Decimal(only=0)
LEADER_EPOCHS = CountedLines(Struct(epoch=Decimal(b" "), startOffset=Decimal()))
LEADER_EPOCH_CHECKPOINT = Struct(version=VERSION, entries=LEADER_EPOCHS)
OFFSET_CHECKPOINT = Struct(
    version=VERSION, entries=CountedLines(Struct(topic=Token(b" "), partition=Decimal(b" "), offset=Decimal()))
)
PARTITION_METADATA = Struct(version=Labelled("version: ", VERSION), topicId=Labelled("topic_id: ", Token()))
