"""Each field of record batches with its bytes, by the grammar, for `--format tree` and `hexdump`.

Compressed records have no bytes of their own in the input: their stored payload is one span.
"""

from collections.abc import Iterator
from itertools import groupby

from kcli.core.records.batches import HEADER_SIZE, LEAST_LENGTH, LENGTH_END, MAGIC_AT, SIZE_AT
from kcli.errors import DecodeError, InputError
from kcli.grammar.batches import BATCH_HEADER, CONTROL_KEY, END_TRANSACTION_MARKER, MESSAGES, RECORD
from kcli.grammar.secrets import hide_span
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.trace import FAULT, DecodeTrace, Span, child
from kcli.records.batches import CODEC_MASK, CONTROL, Record, is_covered, scan
from kcli.records.codecs import CODECS
from kcli.records.record_faults import header_faults
from kcli.records.secrets import holds_secret, is_rest, is_secret_value


def batch_spans(data: bytes, secrets: bool = False) -> tuple[list[Span], DecodeError | None]:
    """Return the spans of all batches, and the error at the first unreadable part, None without one; the bytes from
    there on are one span.

    secrets: show them
    """
    spans, problem = all_spans(data)
    if not secrets:
        secret = holds_secret(data) or is_rest(data)
        spans = [
            shown for _, batch in groupby(spans, lambda span: span.path.partition(".")[0])
            for shown in shown_batch([*batch], data, secret)
        ]  # fmt: skip
    return spans, problem


def shown_batch(spans: list[Span], data: bytes, secret: bool) -> Iterator[Span]:
    """Yield the spans of a batch without the values that are secrets.

    secret: the bytes around the batch have a secret. A damaged batch shows no values if that is so or it has a secret
    itself, decompressed, because its fields may begin and end anywhere.
    """
    all_hidden = is_hidden(data[spans[0].start : spans[-1].end], secret)
    for span in spans:
        yield hide_span(span) if all_hidden and isinstance(span.value, bytes) else shown_span(span, data)


def shown_span(span: Span, data: bytes) -> Span:
    """Return a span; without its value if that is a secret."""
    return hide_span(span) if is_secret(span, data) else span


def is_hidden(data: bytes, secret: bool) -> bool:
    """Return whether bytes are not a batch with the right checksum, and may have a secret. secret: there is one beside
    them.
    """
    try:
        batches = [*scan(data)]
    except InputError:
        batches = []
    if not batches or any(batch.crc_valid is False for batch in batches):  # no batch: it is cut
        return secret or any(map(is_covered, batches))
    return False


def is_secret(span: Span, data: bytes) -> bool:
    value = span.value
    if not isinstance(value, bytes):
        return False
    if span.path.endswith(".value"):
        return is_secret_value(value)
    if span.path.endswith(".records"):  # compressed: the span ends the batch's bytes
        return any(record.value is not None and is_secret_value(record.value) for record in records_before(data, span))
    return span.path.endswith("._rest") and (holds_secret(value) or is_rest(value))


def records_before(data: bytes, span: Span) -> Iterator[Record]:
    """Yield the records of the compressed batch with this payload, up to the first unreadable one."""
    try:
        for batch in scan(data[span.start - HEADER_SIZE : span.end]):
            yield from batch.records()
    except InputError:
        return


def with_faults(
    spans: list[Span], data: bytes, problem: DecodeError | None, *, produced: bool = False
) -> Iterator[Span]:
    """Yield spans with those of faults after their fields: what is wrong with a header, and where reading stopped.

    produced: as `header_faults`.
    """
    starts = dict[int, str]()
    for span in reversed(spans):
        if span.path.count(".") == 1:
            starts[span.start] = span.path.partition(".")[0]
    faults = dict[str, str]()
    for batch in scan(data, damages=[]):
        path = starts.get(batch.file_position)
        faults |= {f"{path}.{name}": reason for name, reason in header_faults(batch, produced)}
        if not batch.crc_valid:
            faults[f"{path}.crc"] = f"{batch.crc:08x} is wrong"
    for span in spans:
        if problem is not None and span.path.endswith("._rest") and span is spans[-1]:
            yield fault(problem.path, problem.offset, problem.reason)
        yield span
        if span.path in faults:
            yield fault(span.path, span.start, faults[span.path])
    if problem is not None and not (spans and spans[-1].path.endswith("._rest")):
        yield fault(problem.path, problem.offset, problem.reason)


def fault(path: str, offset: int, reason: str) -> Span:
    return Span(path, offset, offset, FAULT, reason)


def all_spans(data: bytes) -> tuple[list[Span], DecodeError | None]:
    """Return the fields of batches with their bytes, up to the first that can't be read, and the error, None without
    one. The remaining bytes are one span `_rest`.
    """
    spans: list[Span] = []
    source, index = ByteSource(data), 0
    while source.left():
        path = f"batches[{index}]"
        start = source.tell()
        try:
            walk_entry(source, DecodeTrace(spans), path, data)
        except DecodeError as error:
            end = max((span.end for span in spans), default=start)
            if end < len(data):
                spans.append(Span(child(path, "_rest"), end, len(data), "bytes", data[end:]))
            return spans, DecodeError(error.path, error.offset, error.reason)
        index += 1
    return spans, None


def walk_entry(source: ByteSource, trace: DecodeTrace, path: str, data: bytes) -> None:
    """Note the fields of a batch or message in `trace`, and seek to its end, even if its records end elsewhere. Raises
    DecodeError.
    """
    start = source.tell()
    if source.left() < 18:
        raise DecodeError(path, start, f"{source.left()} bytes at {start:#x}, fewer than a batch has")
    at, behind = start + SIZE_AT, start + LENGTH_END
    size = int.from_bytes(data[at:behind], "big", signed=True)
    if size < min(LEAST_LENGTH):
        raise DecodeError(path, at, f"says {size} bytes at {at:#x}: {min(LEAST_LENGTH)} or more expected")
    if size > source.limit - behind:
        raise DecodeError(path, at, f"says {size} bytes at {at:#x}, {source.limit - behind} left")
    end, limit = behind + size, source.limit
    source.limit = end
    magic = data[start + MAGIC_AT]
    if magic < 2:
        MESSAGES[magic].parse_word(source, trace, path)
    else:
        walk_batch(source, trace, path, end)
    if source.tell() < end:
        trace.note(child(path, "_rest"), source.tell(), end, "bytes", data[source.tell() : end])
    source.limit = limit
    source.seek(end)


def walk_batch(source: ByteSource, trace: DecodeTrace, path: str, end: int) -> None:
    """Note the header of a batch of magic 2 and its records; compressed records are noted as one field."""
    header = BATCH_HEADER.parse_word(source, trace, path)
    codec = header["attributes"] & CODEC_MASK
    if codec:
        name = CODECS[codec] if codec < len(CODECS) else f"codec {codec}"
        start = source.tell()
        trace.note(
            child(path, "records"), start, end, f"{name} of {header['recordCount']} records", source.read(end - start)
        )
        return
    for index in range(max(header["recordCount"], 0)):
        place = child(path, f"records[{index}]")
        record = RECORD.parse_word(source, trace, place)
        if header["attributes"] & CONTROL:
            note_control(record, trace, place)


def note_control(record: dict[str, bytes | None], trace: DecodeTrace, path: str) -> None:
    """Note the fields of a control record's key, and of a marker's value, as spans inside those of key and value."""
    if trace.spans is None:
        return
    key, value = record["key"], record["value"]
    for name, data, grammar in (("key", key, CONTROL_KEY), ("value", value, marker_of(key))):
        span = next((span for span in reversed(trace.spans) if span.path == f"{path}.{name}"), None)
        if data is None or grammar is None or span is None or len(data) < grammar.least:
            continue
        inner: list[Span] = []
        grammar.parse_word(ByteSource(data), DecodeTrace(inner), span.path)
        shift = span.end - len(data)
        at = trace.spans.index(span) + 1
        trace.spans[at:at] = [each._replace(start=each.start + shift, end=each.end + shift) for each in inner]


def marker_of(key: bytes | None) -> Struct | None:
    return END_TRANSACTION_MARKER if key is not None and key[2:4] in (b"\0\0", b"\0\1") else None
