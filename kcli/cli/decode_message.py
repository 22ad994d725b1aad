"""`kcli decode request` and `kcli decode response`: one message, or several behind their lengths."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import click

from kcli.cli.console import console, is_terminal
from kcli.cli.inputs import (
    binary_input,
    dialect_option,
    format_option,
    name_of,
    quiet_option,
    read_message,
    secrets_option,
)
from kcli.cli.lines import print_line
from kcli.errors import DecodeError, InputError, UsageError
from kcli.grammar import frames, messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.secrets import hide_span
from kcli.grammar.trace import Span
from kcli.jsontext import dumps, loads
from kcli.schemas.catalog import catalog

__all__ = ["request", "response"]

RECORDS = click.Choice(["none", "raw", "batches", "full"])


def message_options(api: str, version: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of both commands. api, version: help of --api and --api-version."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in options_of(api, version):
            command = option(command)
        return command

    return add


def options_of(api: str, version: str) -> tuple[Callable[..., Any], ...]:
    return (
        quiet_option("No warnings."),
        click.option(
            "--records", type=RECORDS, default="none", help="What to show of records fields besides their size."
        ),
        format_option(("json", "tree", "hexdump", "table"), "The form of the output.", default="json"),
        click.option(
            "--framed/--unframed",
            default=None,
            help="Whether the message's int32 length stands in front of it (default: detect).",
        ),
        click.option("--api-version", type=click.IntRange(0, 32767), help=version),
        click.option("--api", metavar="NAME", help=api),
        dialect_option,
        secrets_option(),
        binary_input,
        click.argument("file", default="-"),
    )


class Frame(NamedTuple):
    """Where a message's frame lies in the input: `start` to `end`, without the length prefix."""

    start: int
    end: int


class Shape(NamedTuple):
    """How the parts of a frame are read: header and body codec, and the JSON around them."""

    header: MessageCodec
    body: Callable[[int], MessageCodec]
    wrap: Callable[[dict[str, Any], Any], dict[str, Any]]


@click.command()
@message_options(
    "Refuse a request of another API than this one (name or key); a request names its own.",
    "Refuse a request in another version.",
)
def request(**options: Any) -> None:
    """Decode a request: header and body, by the api key and version that it starts with.

    FILE holds the request's bytes ("-", the default: standard input), with or without the length in front; several
    framed requests one after another are decoded one after another.

    \b
    kcli decode request request.bin
    kcli decode request --hex --format tree <<< '0003 0001 00000007 0003 636c69 00000001 0006 6f7264657273'
    """
    decode(options, request_shape)


@click.command()
@message_options("The API of the response, by name or key.", "The API version of its request.")
def response(**options: Any) -> None:
    """Decode a response, which does not name its API: --api and --api-version are those of its request.

    FILE holds the response's bytes ("-", the default: standard input), with or without the length in front.

    \b
    kcli decode response --api Metadata --api-version 12 response.bin
    kcli decode response --api Fetch --api-version 17 --records full --format hexdump response.bin
    """
    if options["api"] is None or options["api_version"] is None:
        raise UsageError("a response does not name its API: --api NAME and --api-version N expected")
    decode(options, response_shape)


def decode(options: dict[str, Any], shape_of: Callable[[bytes, Frame, dict[str, Any]], Shape]) -> None:
    file = options["file"]
    data = read_message(file, options["hex_"], options["base64_"])
    failure: InputError | None = None
    try:
        for frame in frames_of(data, options["framed"], options.get("api") is not None):
            try:
                show(data[: frame.end], frame, shape_of(data[: frame.end], frame, options), options)
            except DecodeError as error:
                failure = failure or error
    except InputError as error:
        failure = failure or error
    if failure is not None:
        raise failure.within(name_of(file)) if file != "-" else failure


def frames_of(data: bytes, framed: bool | None, response: bool) -> Iterator[Frame]:
    """The frames in the input. By default framed when lengths lead exactly to the end of it."""
    if framed is None:
        framed = chain_fits(data)
    if not framed:
        yield Frame(0, len(data))
        return
    at = 0
    while at < len(data) or not data:
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        left = len(data) - at - 4
        if left < 0 or size < 0:
            raise DecodeError(
                "",
                at,
                f"needs a length of 4 bytes at {at:#x}, {len(data) - at} left"
                if left < 0
                else f"length {size} at {at:#x}",
            )
        if size > left:
            raise DecodeError("", at, f"the length at {at:#x} says {size} bytes, {left} are left")
        yield Frame(at + 4, at + 4 + size)
        at += 4 + size


def chain_fits(data: bytes) -> bool:
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        if size < 4:
            return False
        at += 4 + size
    return at == len(data) and at > 0


def request_shape(data: bytes, frame: Frame, options: dict[str, Any]) -> Shape:
    dialect = options["dialect"]
    header, body = frames.request_codecs(data, frame.start, dialect)
    api_key = int.from_bytes(data[frame.start : frame.start + 2], "big", signed=True)
    version = int.from_bytes(data[frame.start + 2 : frame.start + 4], "big", signed=True)
    check_said(api_key, version, options)
    known = catalog(dialect).api(api_key)
    if known is None or version not in known.versions:
        raise frames.unknown_version(api_key, version, dialect)
    name = known.log_name
    return Shape(
        header,
        lambda _start: body,
        lambda head, value: {"requestHeader": head | {"requestApiKeyName": name}, "request": value},
    )


def check_said(api_key: int, version: int, options: dict[str, Any]) -> None:
    """--api and --api-version add nothing to a request's own; where they contradict it something is amiss."""
    if options["api"] is not None and catalog(options["dialect"]).api_key(options["api"]) != api_key:
        raise UsageError(f"--api {options['api']}: the request's header has API key {api_key}")
    if options["api_version"] not in (None, version):
        raise UsageError(f"--api-version {options['api_version']}: the request's header has version {version}")


def response_shape(data: bytes, frame: Frame, options: dict[str, Any]) -> Shape:
    dialect, version = options["dialect"], options["api_version"]
    api_key = catalog(dialect).api_key(options["api"])
    return Shape(
        messages.response_header(api_key, version, dialect),
        lambda start: frames.response_codec(data, start, api_key, version, dialect, strict=True),
        lambda head, value: {
            "responseHeader": head,
            "requestApiKey": api_key,
            "requestApiVersion": version,
            "response": value,
        },
    )


def show(data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]) -> None:
    if options["format_"] == "json":
        show_json(data, frame, shape, options)
    elif options["format_"] == "table":
        show_table(data, frame, shape, options["secrets"])
    else:
        show_spans(data, frame, shape, options)


def show_json(data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]) -> None:
    header, start = shape.header.read(data, frame.start)
    codec = shape.body(start)
    form = {
        "records": options["records"],
        "hook": records_hook(options["records"], options["secrets"]),
        "secrets": options["secrets"],
    }
    text, _ = codec.json(data, start, whole=True, **form)
    made = shape.wrap(shape.header.json_value(header), loads(text))
    if is_terminal(sys.stdout):
        from rich.highlighter import JSONHighlighter

        console().print(JSONHighlighter()(dumps(made, indent=2)))
    else:
        print_line(dumps(made))


def records_hook(records: str, secrets: bool = False) -> Callable[[memoryview], bytes] | None:
    if records in ("none", "raw"):
        return None
    from kcli.records import batches_json

    return lambda data: batches_json(data, records, secrets=secrets)


def show_table(data: bytes, frame: Frame, shape: Shape, secrets: bool) -> None:
    """Path and value, a line each."""
    header, start = shape.header.read(data, frame.start)
    codec = shape.body(start)
    body = codec.json_value(codec.read_whole(data, start), secrets=secrets)
    rows = list(leaves(shape.wrap(shape.header.json_value(header), body)))
    width = max((len(path) for path, _ in rows), default=0)
    for path, value in rows:
        print_line(f"{path:<{width}}  {dumps(value)}")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def show_spans(data: bytes, frame: Frame, shape: Shape, options: dict[str, Any]) -> None:
    """Every field's bytes; those before an error are shown before it is raised."""
    from kcli.cli.spans import failure_line, hexdump_lines, tree_lines

    spans: list[Span] = []
    hidden = False
    failure: DecodeError | None = None
    what = shape.header.what
    try:
        shape.header.spans(data, frame.start, spans)
        start = spans[-1].end if spans else frame.start
        codec = shape.body(start)
        what = codec.what
        hidden = codec.guarded and not options["secrets"]
        codec.spans(data, start, spans, secrets=options["secrets"])
        end = spans[-1].end if spans else start
        if end < len(data):
            rest = Span("_trailing", end, len(data), "bytes behind the message", bytes(data[end:]))
            spans.append(hide_span(rest) if hidden else rest)
    except DecodeError as error:
        failure = error
    print_line(f"{what}, {frame.end - frame.start} bytes")
    lines = tree_lines if options["format_"] == "tree" else hexdump_lines
    for line in lines(data, spans, options["dialect"]):
        print_line(line)
    if failure is not None:
        print_line(failure_line(data, failure, hidden, options["format_"]))
        raise failure
