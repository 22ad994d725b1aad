"""Writes Wireshark's dissector of Kafka: one Lua file with the message tables and the code that reads them.

The code does not depend on the tables: `messages.lua`, `zstd.lua`, `batches.lua`, `exchanges.lua` beside this file.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from kcli.schemas.apikeys import API_VERSIONS, PRODUCE
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Api, Field, Message
from kcli.schemas.ranges import Range
from kcli.schemas.vectors.notes import Notes
from kcli.version import __version__

PARTS = ("messages.lua", "zstd.lua", "batches.lua", "exchanges.lua")
HEADERS = ("RequestHeader", "ResponseHeader")
HEAD = f"""\
-- Apache Kafka's protocol for Wireshark and tshark: every API in every version, by kcli {__version__}.
-- Made by `kcli schema export --to wireshark-lua`; do not edit.
--
--   tshark -X lua_script:kafka.lua -r capture.pcap -Y 'kafka2.topic == "orders"'
--   tshark -X lua_script:kafka.lua -r capture.pcap -d tcp.port==19092,kafka2
--
-- Ports 9092 and 9093 (TLS) by the preferences of the protocol; other ports where a connection begins with a request.
-- Fields are named after Kafka's: kafka2.FetchRequest.maxWaitMs, kafka2.FetchResponse.responses.partitions.errorCode.
"""


def wireshark_lua(tables: Catalog) -> Iterator[str]:
    """Yield the text of the dissector, line by line or in larger parts."""
    yield HEAD
    yield f"local PRODUCE, API_VERSIONS = {PRODUCE}, {API_VERSIONS}"
    yield "local ERRORS = {"
    yield from (f"  [{code}] = {text(name)}," for code, name in tables.errors.items())
    yield "}"
    yield "local APIS = {"
    yield from (f"  [{key}] = {api_entry(api)}," for key, api in tables.apis.items())
    yield "}"
    yield "local MESSAGES = {"
    for name in (*HEADERS, *(name for api in tables.apis.values() for name in (api.request, api.response))):
        message = tables.message(name)
        yield f"  {message.name} = {{"
        yield from message_lines(message, tables.notes(message))
        if message.variants:
            yield "    variants = {"
            for variant in message.variants:
                yield f"      {{ name = {text(variant.name)}, {span(variant.versions)},"
                yield from message_lines(variant.message, {})
                yield "      },"
            yield "    },"
        yield "  },"
    yield "}"
    for part in PARTS:
        yield (Path(__file__).parent / part).read_text("utf-8").rstrip()


def api_entry(api: Api) -> str:
    headers = {
        "request_headers": [api.request_header_version(version) for version in api.versions],
        "response_headers": [api.response_header_version(version) for version in api.versions],
    }
    listed = ", ".join(f"{name} = {{ {', '.join(map(str, versions))} }}" for name, versions in headers.items())
    names = {"name": api.name, "log_name": api.log_name, "request": api.request, "response": api.response}
    names_text = ", ".join(f"{name} = {text(value)}" for name, value in names.items())
    return f"{{ {names_text}, {span(api.versions)}, {listed} }}"


def message_lines(message: Message, notes: Notes) -> Iterator[str]:
    if message.flexible:
        yield f"    flexible = {message.flexible.lo},"
    yield "    fields = {"
    yield from field_lines(message.fields, notes, "", "      ")
    yield "    },"


def field_lines(fields: Iterable[Field], notes: Notes, path: str, indent: str) -> Iterator[str]:
    for field in fields:
        field_path = f"{path}{field.name}"
        parts = [f"name = {text(field.name)}", span(field.versions)]
        parts += ["array = true"] if field.is_array else []
        parts += [f"type = {text(field.element)}"] if not field.is_struct else []
        parts += [span(field.nullable, "null_")] if field.nullable else []
        parts += [f"tag = {field.tag}", span(field.tagged, "tag_")] if field.tagged else []
        parts += [span(field.flexible, "flexible_")] if field.flexible is not None else []
        parts += ["topic = true"] if notes.get(field_path, {}).get("entityType") == "topicName" else []
        if field.is_struct:
            yield f"{indent}{{ {', '.join(parts)}, fields = {{"
            yield from field_lines(field.fields, notes, f"{field_path}.", f"{indent}  ")
            yield f"{indent}}} }},"
        else:
            yield f"{indent}{{ {', '.join(parts)} }},"


def span(versions: Range, prefix: str = "") -> str:
    return f"{prefix}lo = {versions.lo}, {prefix}hi = {versions.hi}"


def text(value: str) -> str:
    r"""Return a string literal of Lua in ASCII; other bytes of UTF-8, as in a dialect's names, are escaped as \ddd."""
    return '"' + "".join(chr(byte) if is_plain(byte) else f"\\{byte:03d}" for byte in value.encode()) + '"'


def is_plain(byte: int) -> bool:
    return 32 <= byte < 127 and byte not in b'"\\'
