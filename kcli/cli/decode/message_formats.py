"""One message as JSON, as a table of paths and values, or with the bytes of each field; and its problems."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.cli.decode.batch_findings import error_lines
from kcli.cli.decode.message_input import Frame
from kcli.cli.terminal.console import console, is_terminal
from kcli.cli.terminal.lines import print_line
from kcli.counting import counted
from kcli.errors import DecodeError, InputError, UsageError
from kcli.grammar.codec import EMPTY_SECTION, TRAILING, MessageCodec
from kcli.grammar.secrets import Hidden, hide_header, hide_span
from kcli.grammar.words.trace import FAULT, Span
from kcli.grammar.words.word import JsonForm
from kcli.jsontext import dumps, loads

if TYPE_CHECKING:
    from kcli.records.text import Findings, RecordsText

PRODUCE = "ProduceRequest"
ERROR = "_error"
# Bytes that librdkafka sends after a message and brokers ignore: message -> versions, bytes.
PADDING = {"MetadataRequest": (range(11, 14), b"\1\0\0")}


class Shape(NamedTuple):
    """The shape of a frame: header and body codec, and the JSON around them."""

    header: MessageCodec
    body: Callable[[int], MessageCodec]
    wrap: Callable[[dict[str, Any], Any], dict[str, Any]]


ShapeOf = Callable[[bytes, Frame, dict[str, Any]], Shape]


class PaddingError(InputError):
    """Known, harmless bytes after a message."""


def is_whole(data: bytes, shape: Shape) -> bool:
    """Return whether data is this message and nothing else. Raises DecodeError."""
    start = shape.header.skip(data)
    codec = shape.body(start)
    end = codec.fit(data, start)[2] if codec.variants else codec.skip(data, start)
    return end == len(data) or is_padding(codec, data[end:])


def is_padding(codec: MessageCodec, rest: bytes) -> bool:
    """Return whether these bytes after a message are known ones of clients, which brokers ignore."""
    versions, padding = PADDING.get(codec.name, ((), b""))
    return (codec.version in versions and rest == padding) or not codec.is_damage(rest)


def show(data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]) -> list[InputError]:
    """Print the message and return its problems. If it fails to decode, print its readable part, raise DecodeError."""
    if options["format_"] == "json":
        return show_json(data, frame, shape, options)
    if options["format_"] == "table":
        return show_table(data, frame, shape, options)
    return show_spans(data, frame, shape, options)


def show_json(data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]) -> list[InputError]:
    made, problems = read_json(data, frame, shape, options)
    print_json(made)
    return problems


def read_json(
    data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]
) -> tuple[dict[str, Any], list[InputError]]:
    """Return the JSON of a message, or of its readable part, and the problems. Raises DecodeError if nothing could be
    read.
    """
    try:
        return read_whole(data, frame, shape, options)
    except DecodeError as error:
        if (partial := partly(data, frame, shape, options)) is None:
            raise
        return partial | {ERROR: {"path": error.path, "offset": error.offset, "reason": error.reason}}, [error]


def read_whole(
    data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]
) -> tuple[dict[str, Any], list[InputError]]:
    """Return the JSON of a message, with --embedded also of what group members embed, and the problems. Raises
    DecodeError.
    """
    header, start = shape.header.read(data, frame.start)
    codec = shape.body(start)
    found = Wrong(options, codec)
    text, _ = codec.json(
        data, start, whole=True, records=options["records"], hook=found.hook, secrets=options["secrets"]
    )
    body = loads(text)
    problems = found.problems(data, body)
    if options.get("embedded"):
        from kcli.grammar.group_data import add_group_data

        add_group_data(codec.name, body, options["dialect"])
    return shape.wrap(shape.header.json_value(header), body), problems


def partly(data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]) -> dict[str, Any] | None:
    """Return the JSON of the readable part of a message that does not decode; None if no part is readable."""
    from kcli.grammar.partial import partial_json

    header, body = list[Span](), list[Span]()
    form = JsonForm(options["records"], records_hook(options["records"], options["secrets"]))
    reached = False
    try:
        shape.header.spans(data, frame.start, header)
        codec = shape.body(start := header[-1].end if header else frame.start)
        reached = True
        codec.spans(data, start, body, secrets=options["secrets"])
    except DecodeError:
        pass
    if not header:
        return None
    if hides_values(shape, frame.start, options):
        header = hide_header(header)
    return shape.wrap(partial_json(header, form), partial_json(body, form) if reached else None)


def hides_values(shape: Shape, start: int, options: dict[str, Any]) -> bool:
    """Return whether the values of a message are hidden where decoding stops. start: the offset of the message;
    decoding may stop in its header.
    """
    try:
        return not options["secrets"] and shape.body(start).guarded
    except DecodeError:
        return not options["secrets"]  # it is unknown which message it is


def print_json(made: dict[str, Any]) -> None:
    if is_terminal(sys.stdout):
        from rich.highlighter import JSONHighlighter

        console().print(JSONHighlighter()(dumps(made, indent=2)))
    else:
        print_line(dumps(made))


def records_hook(records: str, secrets: bool = False, findings: Findings | None = None) -> RecordsText | None:
    """Return a function that turns a records field into JSON, for a value of --records. findings: collects problems."""
    if records in ("none", "raw"):
        return None
    from kcli.records.text import RecordsText

    return RecordsText(records, secrets, findings)


class Wrong:
    """Faults of a message that decodes: bytes after it, and batches in its records."""

    def __init__(self, options: dict[str, Any], codec: MessageCodec) -> None:
        self.codec = codec
        self.faults: list[str] = []
        self.hook = None
        if (records := options["records"]) in ("batches", "full"):
            from kcli.records.record_faults import field_faults
            from kcli.records.text import Findings, RecordsText

            self.findings = findings = Findings()
            self.write = write = RecordsText(records, options["secrets"], findings)
            faults, produced = self.faults, codec.name == PRODUCE

            def checked(data: memoryview) -> bytes:
                before = len(findings.problems)
                text = write(data)
                faults.extend(field_faults(data, produced=produced, problems=findings.problems[before:]))
                return text

            self.hook = checked

    def begin(self) -> None:
        """Begin another message."""
        self.faults.clear()
        if self.hook is not None:
            self.findings.clear()
            self.write.begin()

    def problems(self, data: bytes, body: dict[str, Any]) -> list[InputError]:
        """Return the problems of a message. body: its JSON."""
        codec, found = self.codec, self.in_records()
        if (rest := body.get(TRAILING)) is not None:
            size = rest["redacted"] if isinstance(rest, dict) else len(rest) // 4 * 3 - rest.count("=")
            found.append(left_over(codec, data, len(data) - size))
        return found

    def in_records(self) -> list[InputError]:
        """Return the problems of batches."""
        if self.hook is None:
            return []
        lines = error_lines(self.findings, self.faults)
        return [InputError(f"{self.codec.what}: records: {line}") for line in lines]


def left_over(codec: MessageCodec, data: bytes, end: int) -> InputError:
    size = counted(len(data) - end, "byte")
    if is_padding(codec, data[end:]):
        sent = "as some clients send (_trailing)"
        slip = ": is it a tag section too many?" if data[end:] == EMPTY_SECTION else ""
        return PaddingError(f"{codec.what}: {size} after the message at {end:#x}, {sent}{slip}")
    return DecodeError(TRAILING, end, f"{size} left after the message at {end:#x}", what=codec.what)


def show_table(data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]) -> list[InputError]:
    """Print path and value, a line each."""
    made, problems = read_whole(data, frame, shape, options)
    rows = list(leaves(made))
    width = max((len(path) for path, _ in rows), default=0)
    for path, item in rows:
        print_line(f"{path:<{width}}  {dumps(item)}")
    return problems


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def show_spans(data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]) -> list[InputError]:
    """Print every field's bytes; those before an error are shown before it is raised. Raises UsageError."""
    from kcli.cli.decode.spans import failure_line, hexdump_lines, tree_lines

    if options["records"] == "raw" and options["format_"] == "tree":
        raise UsageError("--records raw: a tree shows records as batches or full (--format hexdump: all bytes)")
    spans, found = list[Span](), list[InputError]()
    hidden = hides_values(shape, frame.start, options)
    failure: DecodeError | None = None
    message_name = shape.header.what
    try:
        shape.header.spans(data, frame.start, spans)
        start = spans[-1].end if spans else frame.start
        codec = shape.body(start)
        message_name = codec.what
        codec.spans(data, start, spans, secrets=options["secrets"])
        end = spans[-1].end if spans else start
        if options["format_"] == "tree" or options.get("embedded"):
            from kcli.grammar.group_data import group_data_spans

            spans = group_data_spans(codec.name, spans, options["dialect"])
        if options["records"] in ("batches", "full"):
            spans, found = with_batches(spans, options, message_name)
        if end < len(data):
            rest = Span(TRAILING, end, len(data), "bytes after the message", bytes(data[end:]))
            spans.append(hide_span(rest) if hidden else rest)
            found.append(left_over(codec, data, end))
    except DecodeError as error:
        failure = error
        spans = hide_header(spans) if hidden else spans
    print_line(f"{message_name}, {frame.end - frame.start} bytes")
    lines = tree_lines if options["format_"] == "tree" else hexdump_lines
    for line in lines(data, spans, options["dialect"]):
        print_line(line)
    if failure is not None:
        print_line(failure_line(data, failure, hidden, options["format_"]))
        raise failure
    return found


def with_batches(spans: list[Span], options: dict[str, Any], message_name: str) -> tuple[list[Span], list[InputError]]:
    """Return the spans with those of each batch after the field that holds it, and the problems of the batches."""
    from kcli.records.record_faults import field_faults
    from kcli.records.spans import batch_spans, with_faults

    made, found = list[Span](), list[InputError]()
    for span in spans:
        if not (span.type.endswith("records") and isinstance(span.value, bytes)):
            made.append(span)
            continue
        start = span.end - len(span.value)
        made.append(span._replace(end=start))
        produced = message_name.startswith(PRODUCE)
        inside, problem = batch_spans(span.value, options["secrets"])
        inside = [*with_faults(inside, span.value, problem, produced=produced)]
        faults = field_faults(span.value, produced=produced)
        found += [InputError(f"{message_name}: {span.path}: {line}") for line in faults]
        shown = inside if options["records"] == "full" else merged(inside, span.value)
        made += [
            each._replace(path=f"{span.path}.{each.path}", start=each.start + start, end=each.end + start)
            for each in shown
        ]
        if problem is not None:
            at = problem.offset + start
            found.append(DecodeError(f"{span.path}.{problem.path}", at, problem.reason, what=message_name))
    return made, found


def merged(spans: list[Span], data: bytes) -> list[Span]:
    """Return the spans of batches, with a single span for all records of a batch."""
    made: list[Span] = []
    for span in spans:
        path, records, _ = span.path.partition(".records")
        if not records or span.type == FAULT:
            made.append(span)
            continue
        start, hidden = span.start, isinstance(span.value, Hidden)
        if made and made[-1].path == path + records:
            last = made.pop()
            start, hidden = last.start, hidden or isinstance(last.value, Hidden)
        whole = Span(path + records, start, max(start, span.end), "bytes", data[start : span.end])
        made.append(hide_span(whole) if hidden else whole)
    return made
