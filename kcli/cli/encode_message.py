"""`kcli encode request` and `kcli encode response`: bytes from the JSON that `decode` prints."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import click

from kcli.cli.inputs import dialect_option, quiet_option, read_json
from kcli.cli.kinds import name_of
from kcli.cli.output import open_output, output_option
from kcli.errors import EncodeError, InputError, UsageError
from kcli.grammar import frames
from kcli.jsontext import dumps, loads
from kcli.schemas.apikeys import API_VERSIONS
from kcli.schemas.catalog import catalog

__all__ = ["request", "response", "write_as"]

FORMS = click.Choice(["raw", "hex", "base64"])


HELP = """Encode {0}s from JSON: what `decode {0}` prints, or the lines of `decode pcap`.

FILE ("-", the default: standard input) holds one JSON object, or one on each line. Fields left out take their
defaults. The API stands in the JSON by key or name, or in --api; an object without a header is then the body alone:

\b
echo '{{"topics":null}}' | kcli encode {0} --api Metadata --to hex
kcli encode {0} edited.json --framed -o {0}.bin
kcli encode {0} --api Fetch --template > {0}.json"""


def encoder(side: str, bytes_of: Callable[[dict[str, Any], str | None], bytes | None]) -> click.Command:
    """The command for one side of an exchange. bytes_of: makes a message of (row of JSON, dialect), or nothing."""

    @click.command(side, help=HELP.format(side))
    @click.argument("file", default="-")
    @click.option("--api", metavar="NAME", help="The API, by name or key: the JSON need not name it.")
    @click.option(
        "--api-version",
        type=click.IntRange(0, 32767),
        metavar="N",
        help="The API's version; by default the JSON's, or with --api the newest in the tables.",
    )
    @dialect_option
    @click.option("--to", "form", type=FORMS, default="raw", show_default=True, help="Write bytes, or their text.")
    @click.option(
        "--template",
        is_flag=True,
        help="Print the JSON of such a message instead, with every field, and an entry in every array.",
    )
    @click.option("--framed/--unframed", default=False, help="Write the message's int32 length in front of it.")
    @output_option
    @quiet_option("No warnings.", used=False)
    def encode(
        file: str,
        api: str | None,
        api_version: int | None,
        dialect: str | None,
        form: str,
        template: bool,
        framed: bool,
        output: str | None,
    ) -> None:
        if template:
            with open_output(output, []) as out:
                out.write(template_of(side, api, api_version, dialect))
            return
        api_key = None if api is None else catalog(dialect).known(catalog(dialect).api_key(api)).key
        with open_output(output, [file]) as out:
            for place, row in rows(file):
                try:
                    data = bytes_of(completed(row, side, api_key, api_version, dialect), dialect)
                except InputError as error:
                    raise error.within(place) from None
                if data is not None:
                    prefix = len(data).to_bytes(4, "big") if framed else b""
                    out.write(write_as(form, prefix + data))

    return encode


def template_of(side: str, api: str | None, version: int | None, dialect: str | None) -> bytes:
    """The JSON of a message to start from, in lines. UsageError: no API, or not in that version."""
    from kcli.schemas.template import template

    if api is None:
        raise UsageError("--template: of which message? --api NAME expected")
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


def write_as(form: str, data: bytes) -> bytes:
    """Bytes as they are, or a line of text."""
    if form == "raw":
        return data
    return (data.hex() if form == "hex" else base64.b64encode(data).decode()).encode() + b"\n"


def rows(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, object): the JSON objects of the input, one in all or one on each line."""
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
    if not isinstance(row, dict):
        raise InputError("a JSON object expected, as decode prints it", file=place)
    if "_error" in row:
        raise EncodeError("_error", "this message did not decode whole", file=place)
    return row


def completed(
    row: dict[str, Any], side: str, api_key: int | None, version: int | None, dialect: str | None
) -> dict[str, Any]:
    """A row with the key and version of its API as numbers, where `decode` has them: the command line's before its own.

    A row without a header is the body itself where the command line names the API.
    """
    if "event" in row:
        return row
    if api_key is not None and side not in row and "requestHeader" not in row:
        row = {side: row}
    if side == "response" and "requestHeader" not in row:
        return row | api_of(row, api_key, version, dialect)
    header = row.get("requestHeader", None if api_key is None else {})
    if not isinstance(header, dict):
        return row
    return row | {"requestHeader": header | api_of(header, api_key, version, dialect)}


def api_of(header: dict[str, Any], api_key: int | None, version: int | None, dialect: str | None) -> dict[str, Any]:
    """requestApiKey and requestApiVersion; those that nobody says are left out."""
    tables = catalog(dialect)
    named = header.get("requestApiKey", header.get("requestApiKeyName")) if api_key is None else api_key
    said = header.get("requestApiVersion") if version is None else version
    if said is None and api_key is not None:
        said = tables.known(api_key).versions.hi
    found = {"requestApiKey": tables.api_key(named) if isinstance(named, str) else named, "requestApiVersion": said}
    return {name: value for name, value in found.items() if value is not None}


def request_bytes(row: dict[str, Any], dialect: str | None) -> bytes | None:
    """The frame of a row's request; None for an event line of `decode pcap`."""
    if "event" in row:
        return None
    header = part(row, "requestHeader")
    check_version("requestHeader", header, dialect)
    return frames.encode_request(header, with_records(part(row, "request")), dialect)


def response_bytes(row: dict[str, Any], dialect: str | None) -> bytes | None:
    """The frame of a row's response; None for an event line, and for an exchange that had none."""
    if "event" in row or ("requestHeader" in row and row.get("response") is None):
        return None
    asked = row.get("requestHeader", row)
    header = row.get("responseHeader") or {"correlationId": asked.get("correlationId", 0)}
    api_key, version = (frames.header_int(asked, name) for name in ("requestApiKey", "requestApiVersion"))
    body = part(row, "response")
    if api_key != API_VERSIONS:  # whose answer in version 0 may follow a request of any
        check_version("requestHeader" if asked is not row else "", asked, dialect)
    return frames.encode_response(header, api_key, version, with_records(body), dialect)


def check_version(path: str, header: dict[str, Any], dialect: str | None) -> None:
    """EncodeError: the tables don't have this message."""
    api_key, version = (frames.header_int(header, name) for name in ("requestApiKey", "requestApiVersion"))
    known = catalog(dialect).api(api_key)
    if known is None or version not in known.versions:
        error = frames.unknown_version(api_key, version, dialect)
        raise EncodeError(f"{path}.{error.path}" if path else error.path, error.reason)


def part(row: dict[str, Any], name: str) -> dict[str, Any]:
    value = row.get(name)
    if not isinstance(value, dict):
        raise EncodeError(name, "is missing" if value is None else f"needs an object, not {value!r}")
    return value


def with_records(value: Any) -> Any:
    """The value with every records field's "batches" encoded."""
    if isinstance(value, list):
        return [with_records(item) if isinstance(item, (dict, list)) else item for item in value]
    if not isinstance(value, dict):
        return value
    if "batches" in value and "sizeInBytes" in value and "base64" not in value:
        from kcli.records import encode_batches

        return encode_batches(value["batches"])
    return {name: with_records(item) if isinstance(item, (dict, list)) else item for name, item in value.items()}


request = encoder("request", request_bytes)
response = encoder("response", response_bytes)
