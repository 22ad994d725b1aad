"""`kcli decode request` and `kcli decode response`: one message, or several behind their lengths."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import click

from kcli.cli.decode.lines_option import lines_option
from kcli.cli.decode.message_formats import PaddingError, Shape, ShapeOf, is_padding, is_whole, show
from kcli.cli.decode.message_input import Frame, frames_of, pieces
from kcli.cli.decode.slip_hints import MOST_LINES, SlipNamer, records_text, request_text, response_text
from kcli.cli.options.inputs import (
    binary_input,
    dialect_option,
    embedded_option,
    format_option,
    quiet_option,
    records_option,
    secrets_option,
)
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.error_summary import conclude
from kcli.errors import DecodeError, InputError, UsageError
from kcli.grammar import frames, messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.request_start import CLIENT_ID, LEAST, PREFIX, api_of
from kcli.grammar.words.trace import Span
from kcli.schemas.catalog import catalog
from kcli.schemas.secrets import secret_fields

FORMATS = ("json", "tree", "hexdump", "table")
NEWER = 16  # versions above the newest of the tables
MOST_SHAPES = 256  # shapes of requests that are cached


def message_options(api: str, version: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of both commands. api, version: help of --api and --api-version."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in options_of(api, version):
            command = option(command)
        return command

    return add


def options_of(api: str, version: str) -> tuple[Callable[..., Any], ...]:
    return (
        quiet_option("No warnings."),
        lines_option("a message in hex or base64 by a line of JSON"),
        records_option(),
        embedded_option,
        format_option(FORMATS, "The output format.", default="json"),
        click.option(
            "--framed/--unframed",
            default=None,
            help="The message has, or doesn't have, its int32 length in front (default: detect).",
        ),
        click.option("--api-version", type=click.IntRange(0, 32767), help=version),
        click.option("--api", metavar="NAME", help=api),
        dialect_option,
        secrets_option(),
        binary_input,
        click.argument("file", default="-"),
    )


@click.command()
@message_options(
    "Refuse requests of another API (name or key).",
    "Refuse requests in another version.",
)
def request(**options: Any) -> None:
    """Decode a request, header and body; its header has the API and version.

    FILE has the request's bytes ("-", the default: standard input), with or without the length in front. It may have
    several requests: with lengths one after another, or one per line of hex or base64 text. For a damaged request kcli
    prints the readable part. Exit code 3: a request is damaged, or has bytes left over.

    \b
    kcli decode request request.bin
    kcli decode request --hex --format tree <<< '0003 0001 00000007 0003 636c69 00000001 0006 6f7264657273'
    """
    decode(options, request_shape)


@click.command()
@message_options("The API of the response, by name or key.", "The API version of its request.")
def response(**options: Any) -> None:
    """Decode a response. It does not contain its API: give that of the request with --api and --api-version.

    FILE has the response's bytes ("-", the default: standard input), with or without the length in front.

    \b
    kcli decode response --api Metadata --api-version 12 response.bin
    kcli decode response --api Fetch --api-version 17 --records full --format hexdump response.bin
    """
    if not options["lines"] and (options["api"] is None or options["api_version"] is None):
        raise UsageError("a response does not name its API: --api NAME and --api-version N expected")
    decode(options, response_shape)


def decode(options: dict[str, Any], shape_of: ShapeOf) -> None:
    """Show the messages of the input. options: those of the command. InputError at the end: something is wrong."""
    if options["lines"]:
        decode_lines(options, shape_of)
        return
    file, problems = options["file"], list[InputError]()

    def reads(data: bytes) -> bool:
        try:
            return is_whole(data, shape_of(data, Frame(0, len(data)), options))
        except (DecodeError, UsageError):
            return False

    def begins(data: bytes) -> bool:
        return shape_of is request_shape and begins_with_known_api(data, options["dialect"])

    slips, batch_slips = SlipNamer(slips_for(shape_of)), SlipNamer(records_text)
    for piece in pieces(file, options["hex_"], options["base64_"], reads, begins):
        data = piece.data
        if isinstance(data, InputError):
            found = [data]
        else:
            found = decode_piece(data, reads, shape_of, options, slips, batch_slips)
        for each in found:
            each = each.within(piece.source(file))
            if isinstance(each, PaddingError):
                warn(str(each), options["quiet"])
            else:
                problems.append(each)
    if not options["secrets"] and any(isinstance(each, DecodeError) and has_secrets(each) for each in problems):
        warn("a damaged message may have a secret in any field: values are hidden (--show-secrets shows them)",
             options["quiet"])  # fmt: skip
    conclude(problems, options["quiet"])


def has_secrets(error: DecodeError) -> bool:
    """Return whether the message with the error contains hidden values: see kcli.grammar.secrets.hide_broken."""
    return bool(secret_fields(error.what.partition(" ")[0]))


def decode_lines(options: dict[str, Any], shape_of: ShapeOf) -> None:
    from kcli.cli.decode.coprocess import answer_lines, check_lines
    from kcli.cli.decode.lines import DecodedLines

    check_lines(options)
    requests = shape_of is request_shape
    slips = SlipNamer(slips_for(shape_of), most=MOST_LINES)
    lines = DecodedLines(options, shape_of, slips.named, requests=requests)
    answer_lines(options["file"], lines.answer)


def slips_for(shape_of: ShapeOf) -> Callable[[bytes, int, dict[str, Any]], str]:
    """Return the finder of likely slips in such messages."""
    if shape_of is request_shape:
        return request_text
    return response_text if shape_of is response_shape else lambda _data, _start, _options: ""


def decode_piece(
    data: bytes,
    reads: Callable[[bytes], bool],
    shape_of: ShapeOf,
    options: dict[str, Any],
    slips: SlipNamer,
    batch_slips: SlipNamer,
) -> list[InputError]:
    """Show each message, and return the problems."""
    found: list[InputError] = []
    try:
        framing = partial(reach, shape_of, options), partial(may_begin, dialect=options["dialect"])
        for frame in frames_of(data, options["framed"], reads, found.append, *framing):
            try:
                wrong = show(data[: frame.end], frame, shape_of(data[: frame.end], frame, options), options)
            except DecodeError as error:
                wrong = [error]
            if wrong and type(wrong[-1]) is InputError and batch_slips.left:  # in records
                message = data[: frame.end]
                text = batch_slip(message, frame, shape_of(message, frame, options), batch_slips)
                wrong[-1] = InputError(wrong[-1].text + text)
            found += [slips.named(each, data[slice(*frame)], frame.start, options) for each in wrong]
    except InputError as error:
        found.append(error)
    if found:
        from kcli.capture.first_bytes import protocol_of  # whole messages need none

        if name := protocol_of(data):
            return [InputError(f"begins like {name}: not a Kafka message")]
    return found


def reach(shape_of: ShapeOf, options: dict[str, Any], data: bytes, cut: bool = False) -> int:
    """Return how many bytes of a message can be read; 0 for an unknown API or version. cut: the frame's end is missing,
    so a whole message with further bytes does not count.
    """
    head, body, least = list[Span](), list[Span](), 0
    if shape_of is request_shape:
        if not is_known_api(data, options["dialect"]):
            return 0
        least = min(len(data), CLIENT_ID)  # where the client id is cut
    with contextlib.suppress(DecodeError, UsageError):
        shape = shape_of(data, Frame(0, len(data)), options)
        shape.header.spans(data, 0, head)
        start = head[-1].end if head else 0
        codec = shape.body(start)
        codec.spans(data, start, body)
        rest = data[body[-1].end if body else start :]
        if cut and rest and not is_padding(codec, rest):
            return least
    read = body or head
    return read[-1].end if read else least


def batch_slip(data: bytes, frame: Frame, shape: Shape, slips: SlipNamer) -> str:
    """Return "; " and the likely slip in the first records field that has one; "" if none has."""
    start = shape.header.skip(data, frame.start)
    for span in shape.body(start).spans(data, start, secrets=True):
        if span.type.endswith("records") and span.value:
            records = bytes(span.value)
            if text := slips.text(records, span.end - len(records), {}):
                return text
    return ""


def begins_with_known_api(data: bytes, dialect: str | None) -> bool:
    """Return whether data starts with a known API and version, after its length or not."""
    return any(is_known_api(data[start:], dialect) for start in (0, PREFIX))


def is_known_api(data: bytes, dialect: str | None) -> bool:
    """Return whether data starts with a known API and version."""
    return len(data) >= LEAST and catalog(dialect).knows(*api_of(data))


def may_begin(data: bytes, dialect: str | None) -> bool:
    """Return whether data starts with a known API, in a version that the tables have or a little above, as a draft may
    use.
    """
    if len(data) < LEAST:
        return False
    key, version = api_of(data)
    return any(catalog(dialect).knows(key, version - back) for back in range(NEWER + 1))


def reads_request(data: bytes, dialect: str | None) -> bool:
    """Return whether data is one request to its last byte."""
    options = {"dialect": dialect, "api": None, "api_version": None}
    try:
        return is_whole(data, request_shape(data, Frame(0, len(data)), options))
    except DecodeError:
        return False


def request_shape(data: bytes, frame: Frame, options: dict[str, Any]) -> Shape:
    """Return how to read a request frame. options: dialect, api, api_version. Raises DecodeError, UsageError."""
    api_key, version = api_of(data, frame.start)
    check_said(api_key, version, options)
    shape = shape_of_requests(api_key, version, options["dialect"])
    if not has_api(api_key, options["dialect"]) and not has_client(data[slice(*frame)], shape.header):
        raise frames.unknown_version(api_key, version, options["dialect"])
    return shape


@lru_cache(MOST_SHAPES)
def has_api(api_key: int, dialect: str | None) -> bool:
    """Return whether the tables have an API of that key."""
    return catalog(dialect).api(api_key) is not None


def has_client(data: bytes, header: MessageCodec) -> bool:
    """Return whether a possible request of an unknown API has a header: a correlation id, and a printable client id."""
    try:
        head, _ = header.read(data)
    except DecodeError:
        return False
    return head["correlationId"] >= 0 and bool(head["clientId"]) and head["clientId"].isprintable()


def no_body(api_key: int, version: int, dialect: str | None) -> MessageCodec:
    """Raise DecodeError: the body of an unknown API is unknown."""
    raise frames.unknown_version(api_key, version, dialect)


@lru_cache(MOST_SHAPES)
def shape_of_requests(api_key: int, version: int, dialect: str | None) -> Shape:
    """Return how to read requests of an API and version. Decoding the body raises DecodeError for an unknown API or
    version.
    """
    known = catalog(dialect).api(api_key)
    if known is None:
        return Shape(
            messages.data("RequestHeader", 1, dialect),
            lambda _start: no_body(api_key, version, dialect),
            lambda head, value: {"requestHeader": head | {"requestApiKeyName": None}, "request": value},
        )
    body, name = frames.request_codec(api_key, version, dialect), known.log_name

    def body_at(_start: int) -> MessageCodec:
        if version not in known.versions:
            raise frames.unknown_version(api_key, version, dialect)
        return body

    return Shape(
        messages.request_header(api_key, version, dialect),
        body_at,
        lambda head, value: {"requestHeader": head | {"requestApiKeyName": name}, "request": value},
    )


def check_said(api_key: int, version: int, options: dict[str, Any]) -> None:
    """Raise UsageError if --api or --api-version contradicts the request's header, which always has both."""
    if options["api"] is not None and catalog(options["dialect"]).api_key(options["api"]) != api_key:
        raise UsageError(f"--api {options['api']}: the request's header has API key {api_key}")
    if options["api_version"] not in (None, version):
        raise UsageError(f"--api-version {options['api_version']}: the request's header has version {version}")


def response_shape(data: bytes, frame: Frame, options: dict[str, Any]) -> Shape:
    """Return how to read a response frame. options: dialect, api, api_version. Raises UsageError."""
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
