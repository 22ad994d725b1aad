"""`kcli encode request` and `kcli encode response`: bytes from the JSON that `decode` prints."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import click

from kcli.cli.decode.coprocess import Reply, answer_lines, bytes_in
from kcli.cli.decode.lines_option import lines_option
from kcli.cli.options.inputs import dialect_option, quiet_option, read_json
from kcli.cli.terminal.output import one_form_output_option, open_output
from kcli.errors import EncodeError, InputError, UsageError
from kcli.grammar import frames
from kcli.input_names import name_of
from kcli.jsontext import dumps, loads
from kcli.schemas.apikeys import API_VERSIONS
from kcli.schemas.catalog import catalog

NOT_THERE = "an event, or an exchange without this side: a message expected"
to_option = click.option(
    "--to",
    "form",
    type=click.Choice(["raw", "hex", "base64"]),
    help="Write bytes (raw, the default), or hex or base64 text; with --lines hex is the default.",
)

NESTED = (dict, list)
HELP = """Encode {0}s from JSON: what `decode {0}` prints, or the lines of `decode pcap`.

FILE ("-", the default: standard input) has one JSON object, or one per line. Missing fields take their defaults. The
JSON has the API's key or name, or --api gives it; with --api an object without a header is the body:

\b
echo '{{"topics":null}}' | kcli encode {0} --api Metadata --to hex
kcli encode {0} edited.json --framed -o {0}.bin
kcli encode {0} --api Fetch --template > {0}.json"""


@dataclass(frozen=True, kw_only=True)
class EncodeOptions:
    """The options of `kcli encode request` and `kcli encode response`."""

    api: str | None
    api_version: int | None
    dialect: str | None
    form: str | None
    lines: bool
    template: bool
    framed: bool
    output: str | None


def encoder(side: str, bytes_of: Callable[[dict[str, Any], str | None], bytes | None]) -> click.Command:
    """Make the command for one side of an exchange. bytes_of: makes a message of (row of JSON, dialect), or nothing."""

    @click.command(side, help=HELP.format(side))
    @click.argument("file", default="-")
    @click.option("--api", metavar="NAME", help="The API, by name or key, if the JSON does not name it.")
    @click.option(
        "--api-version",
        type=click.IntRange(0, 32767),
        metavar="N",
        help="The API's version; by default the JSON's, or with --api the newest in the tables.",
    )
    @dialect_option
    @to_option
    @lines_option("a message in JSON by a line of hex or base64")
    @click.option(
        "--template",
        is_flag=True,
        help="Print a JSON template of the message, with every field, and one entry in every array.",
    )
    @click.option("--framed/--unframed", default=False, help="Write the message's int32 length in front of it.")
    @one_form_output_option
    @quiet_option("No warnings.", used=False)
    def encode(file: str, **values: Any) -> None:
        options = EncodeOptions(**values)
        dialect = options.dialect
        if options.template:
            with open_output(options.output, []) as out:
                out.write(template_of(side, options.api, options.api_version, dialect))
            return
        api_key = None if options.api is None else catalog(dialect).known(catalog(dialect).api_key(options.api)).key

        def made(row: dict[str, Any]) -> bytes | None:
            data = bytes_of(completed(row, side, api_key, options.api_version, dialect), dialect)
            return data if data is None or not options.framed else len(data).to_bytes(4, "big") + data

        if options.lines:
            text_form = line_form(options.form)
            answer_lines(file, lambda text, number: encoded_line(text, number, made, text_form), options.output)
            return
        with open_output(options.output, [file]) as out:
            for place, row in rows(file):
                try:
                    data = made(row)
                except InputError as error:
                    raise error.within(place) from None
                if data is not None:
                    out.write(write_as(options.form, data))

    return encode


def template_of(side: str, api: str | None, version: int | None, dialect: str | None) -> bytes:
    """Return the JSON of a message to start from, in lines. Raises UsageError: no API, or not in that version."""
    from kcli.schemas.vectors.template import template

    if api is None:
        raise UsageError("--template: --api NAME expected")
    tables = catalog(dialect)
    known = tables.known(tables.api_key(api))
    chosen = known.versions.hi if version is None else version
    if chosen not in known.versions:
        raise UsageError(f"--api-version {chosen}: {known.name} has {known.versions}")
    body = template(tables.message(known.request if side == "request" else known.response), chosen)
    named = {"requestApiKey": known.key, "requestApiVersion": chosen}
    if side == "request":
        header = named | {"correlationId": 0, "clientId": "", "requestApiKeyName": known.log_name}
        made: dict[str, Any] = {"requestHeader": header, "request": body}
    else:
        made = {"responseHeader": {"correlationId": 0}, **named, "response": body}
    return dumps(made, indent=2).encode() + b"\n"


def write_as(form: str | None, data: bytes) -> bytes:
    """Return bytes as they are, or a line of text."""
    return data if form in (None, "raw") else text_as(form, data) + b"\n"


def text_as(form: str | None, data: bytes) -> bytes:
    """Return bytes as base64 text, else as hex."""
    return base64.b64encode(data) if form == "base64" else data.hex().encode()


def line_form(form: str | None) -> str:
    """Return the form that --to means for a line of text. Raises UsageError: raw bytes have no lines."""
    if form == "raw":
        raise UsageError("--to raw: with --lines an answer is text (hex or base64 expected)")
    return form or "hex"


def encoded_line(text: bytes, number: int, made: Callable[[dict[str, Any]], bytes | None], form: str) -> Reply:
    """Return the answer to a line of JSON. Raises KcliError if it is not a message."""
    data = made(checked(loads(text, line=number), ""))
    if data is None:
        raise InputError(NOT_THERE)
    return Reply(text_as(form, data))


def rows(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, object): the JSON objects of the input, one in all or one on each line."""
    text = read_json(file)
    try:
        whole = [loads(text)]
    except InputError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) < 2:
            raise error.within(name_of(file)) from None
        for number, line in lines:
            try:
                row = loads(line, line=number)
            except InputError as error:
                raise error.within(name_of(file)) from None
            place = f"{name_of(file)}: line {number}"
            yield place, checked(row, place)
        return
    yield name_of(file), checked(whole[0], name_of(file))


def checked(row: Any, place: str) -> dict[str, Any]:
    """Return the row as an object that was decoded whole. Raises InputError for anything else."""
    if not isinstance(row, dict):
        raise InputError("a JSON object expected, as decode prints it", file=place)
    if "_error" in row:
        raise EncodeError("_error", "this message could not be decoded to its end", file=place)
    return row


def completed(
    row: dict[str, Any], side: str, api_key: int | None, version: int | None, dialect: str | None
) -> dict[str, Any]:
    """Return a row with its API's key and version as numbers, where `decode` puts them; the command line overrides the
    row. A row without a header is the body itself if the command line names the API.
    """
    if "event" in row:
        return row
    if api_key is not None and side not in row and "requestHeader" not in row:
        row = {side: row}
    if side == "response" and "requestHeader" not in row:
        return row | api_fields(row, api_key, version, dialect)
    header = row.get("requestHeader", None if api_key is None else {})
    if not isinstance(header, dict):
        return row
    return row | {"requestHeader": header | api_fields(header, api_key, version, dialect)}


def api_fields(header: dict[str, Any], api_key: int | None, version: int | None, dialect: str | None) -> dict[str, Any]:
    """Return requestApiKey and requestApiVersion. One that nothing gives is left out."""
    tables = catalog(dialect)
    named = header.get("requestApiKey", header.get("requestApiKeyName")) if api_key is None else api_key
    api_version = header.get("requestApiVersion") if version is None else version
    if api_version is None and api_key is not None:
        api_version = tables.known(api_key).versions.hi
    found = {
        "requestApiKey": tables.api_key(named) if isinstance(named, str) else named,
        "requestApiVersion": api_version,
    }
    return {name: value for name, value in found.items() if value is not None}


def request_bytes(row: dict[str, Any], dialect: str | None) -> bytes | None:
    """Return the frame of a row's request; None for an event line of `decode pcap`."""
    if "event" in row:
        return None
    header = part(row, "requestHeader")
    check_version("requestHeader", header, dialect)
    return frames.encode_request(header, with_records(part(row, "request")), dialect)


def response_bytes(row: dict[str, Any], dialect: str | None) -> bytes | None:
    """Return the frame of a row's response; None for an event line, and for an exchange that had none."""
    if "event" in row or ("requestHeader" in row and row.get("response") is None):
        return None
    request_header = row.get("requestHeader", row)
    header = row.get("responseHeader") or {"correlationId": request_header.get("correlationId", 0)}
    api_key, version = (frames.header_int(request_header, name) for name in ("requestApiKey", "requestApiVersion"))
    body = part(row, "response")
    if api_key != API_VERSIONS:  # its answer may have version 0 whatever the request's version
        check_version("requestHeader" if request_header is not row else "", request_header, dialect)
    return frames.encode_response(header, api_key, version, with_records(body), dialect)


def message_bytes(row: Any, number: int, side: str, dialect: str | None) -> bytes:
    """Return the frame on a line of JSON: its fields, or its bytes as "hex" or "base64". Raises InputError."""
    if isinstance(row, dict) and ("hex" in row or "base64" in row):
        return bytes_in(row, number)
    data = BYTES_OF[side](completed(checked(row, ""), side, None, None, dialect), dialect)
    if data is None:
        raise InputError(NOT_THERE)
    return data


def check_version(path: str, header: dict[str, Any], dialect: str | None) -> None:
    """Raise EncodeError if the tables lack this message."""
    api_key, version = (frames.header_int(header, name) for name in ("requestApiKey", "requestApiVersion"))
    if not catalog(dialect).knows(api_key, version):
        error = frames.unknown_version(api_key, version, dialect)
        raise EncodeError(f"{path}.{error.path}" if path else error.path, error.reason)


def part(row: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object in the row. Raises EncodeError if there is none."""
    value = row.get(name)
    if not isinstance(value, dict):
        raise EncodeError(name, "is missing" if value is None else f"needs an object, not {value!r}")
    return value


def with_records(value: Any) -> Any:
    """Return the value, with the "batches" of every records field encoded."""
    if type(value) is dict and "batches" in value and "sizeInBytes" in value and "base64" not in value:
        from kcli.records import encode_batches

        return encode_batches(value["batches"])
    for key, item in value.items() if type(value) is dict else enumerate(value):
        if type(item) in NESTED:
            value[key] = with_records(item)
    return value


BYTES_OF = {"request": request_bytes, "response": response_bytes}
request, response = (encoder(side, bytes_of) for side, bytes_of in BYTES_OF.items())
