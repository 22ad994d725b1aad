"""Writes a JSON Schema of kcli's JSON: the lines of decode and records, and each message in each version."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from kcli.jsontext import dumps
from kcli.schemas.apikeys import API_VERSIONS
from kcli.schemas.field_codes import CODECS, TIMESTAMP_TYPES
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import INTEGERS, Api, Field, Message
from kcli.schemas.secrets import secret_fields
from kcli.version import __version__

Schema = dict[str, Any]

BASE64: Schema = {"type": "string", "contentEncoding": "base64", "pattern": "^[A-Za-z0-9+/]*={0,2}$"}
REDACTED: Schema = {
    "type": "object",
    "properties": {"redacted": {"type": "integer", "minimum": 0}},
    "required": ["redacted"],
    "additionalProperties": False,
}
UNDERSCORED: Schema = {"^_": True}
TIMESTAMP: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6,9}Z$"}
COUNT: Schema = {"type": "integer", "minimum": 0}
EVENTS = ("gap", "truncated", "undecodable", "not-kafka", "unanswered-at-end")


def json_schema(tables: Catalog) -> Iterator[str]:
    """Yield the lines of the schema, one definition on each."""
    apis = tables.apis.values()
    yield '{"$schema":"https://json-schema.org/draft/2020-12/schema",'
    yield f'"title":{dumps(f"JSON of kcli {__version__}: decode, records")},'
    yield f'"$ref":{dumps(link("line"))},'
    yield '"$defs":{'
    definitions = {**lines_of(apis), **PARTS}
    for api in apis:
        definitions |= definitions_of(tables, api)
    last = len(definitions) - 1
    for index, (name, schema) in enumerate(definitions.items()):
        yield f"{dumps(name)}:{dumps(schema)}{',' if index < last else ''}"
    yield "}}"


def link(name: str) -> str:
    return f"#/$defs/{name}"


def ref(name: str) -> Schema:
    return {"$ref": link(name)}


def closed(properties: Schema, optional: Iterable[str] = ()) -> Schema:
    """Return the schema of an object with these properties, and with any that begin with an underscore, which kcli
    adds.
    """
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in set(optional)],
        "patternProperties": UNDERSCORED,
        "additionalProperties": False,
    }


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [{"type": "null"}, schema]}


# Lines ----------------------------------------------------------------------------------------------------------------


def lines_of(apis: Iterable[Api]) -> Schema:
    """Return the schema of a line, whose forms are distinguished by their members."""
    forms = {
        "exchange": ["connection", "requestHeader"],
        "event": ["event"],
        "request": ["requestHeader"],
        "response": ["responseHeader"],
        "batch": ["magic"],
        "record": ["topic", "offset"],
    }
    chain: Schema = {"not": {}}
    for form, members in reversed(forms.items()):
        chain = {"if": {"type": "object", "required": members}, "then": ref(form), "else": chain}
    versions: list[Schema] = [
        {"if": {"properties": {"requestHeader": holding("requestApiKey", api.key)}}, "then": ref(api.name)}
        for api in apis
    ]
    answers: list[Schema] = [
        {"if": holding("requestApiKey", api.key), "then": ref(f"{api.name}.response")} for api in apis
    ]
    exchange = {
        "timestamp": TIMESTAMP,
        "connection": {"type": "string"},
        "requestHeader": ref("requestHeader"),
        "request": {"type": "object"},
        "response": {"type": ["object", "null"]},
        "requestBytes": COUNT,
        "responseBytes": nullable(COUNT),
        "latencyMs": {"type": ["number", "null"]},
        "errors": {"type": ["array", "null"], "items": {"type": "string"}},
        "file": {"type": "string"},
    }
    response = {
        "responseHeader": closed({"correlationId": integer("int32")}),
        "requestApiKey": integer("int16"),
        "requestApiVersion": integer("int16"),
        "response": {"type": "object"},
    }
    return {
        "line": chain,
        "exchange": closed(exchange, ["file"]) | {"allOf": versions},
        "request": closed({"requestHeader": ref("requestHeader"), "request": {"type": "object"}}) | {"allOf": versions},
        "response": closed(response) | {"allOf": answers},
    }


def holding(name: str, value: int) -> Schema:
    return {"properties": {name: {"const": value}}, "required": [name]}


def integer(kind: str) -> Schema:
    lo, hi = INTEGERS[kind]
    return {"type": "integer", "minimum": lo, "maximum": hi}


TEXT_OR_BYTES: Schema = {
    "anyOf": [
        {"type": ["string", "null"]},
        {"type": "object", "properties": {"base64": BASE64}, "required": ["base64"], "additionalProperties": False},
        REDACTED,
    ]
}
OR_NULL = {"type": ["integer", "null"]}
HEADERS: Schema = {
    "type": "array",
    "items": closed({"key": TEXT_OR_BYTES, "value": TEXT_OR_BYTES}),
}
PARTS: Schema = {
    "requestHeader": closed(
        {
            "requestApiKey": integer("int16"),
            "requestApiVersion": integer("int16"),
            "correlationId": integer("int32"),
            "clientId": {"type": ["string", "null"]},
            "requestApiKeyName": {"type": ["string", "null"]},
        },
        ["clientId"],
    ),
    "event": {
        "type": "object",
        "properties": {
            "event": {"enum": [*EVENTS]},
            "connection": {"type": ["string", "null"]},
            "timestamp": TIMESTAMP,
            "offset": COUNT,
            "bytes": COUNT,
            "reason": {"type": "string"},
            "sender": {"enum": ["client", "server"]},
            "file": {"type": "string"},
            "base64": {"anyOf": [BASE64, REDACTED]},
        },
        "required": ["event", "offset", "bytes", "reason"],
        "patternProperties": UNDERSCORED,
        "additionalProperties": False,
    },
    "records": closed(
        {
            "sizeInBytes": COUNT,
            "batches": {"type": "array", "items": ref("batchOrEvent")},
            "base64": {"anyOf": [BASE64, REDACTED]},
        },
        ["batches", "base64"],
    ),
    "batchOrEvent": {"if": {"required": ["event"]}, "then": ref("event"), "else": ref("batch")},
    "batch": closed(
        {
            "baseOffset": integer("int64"),
            "lastOffset": integer("int64"),
            "magic": {"enum": [0, 1, 2]},
            "compression": {"anyOf": [{"enum": [*CODECS]}, {"type": "string"}]},
            "timestampType": {"enum": [*TIMESTAMP_TYPES]},
            "isTransactional": {"type": ["boolean", "null"]},
            "isControl": {"type": ["boolean", "null"]},
            "partitionLeaderEpoch": OR_NULL,
            "producerId": OR_NULL,
            "producerEpoch": OR_NULL,
            "baseSequence": OR_NULL,
            "baseTimestamp": OR_NULL,
            "maxTimestamp": OR_NULL,
            "count": integer("int32"),
            "sizeInBytes": COUNT,
            "crc": integer("uint32"),
            "crcValid": {"type": "boolean"},
            "records": {"type": "array", "items": {"if": {"required": ["event"]}, "then": ref("event"),
                                                   "else": ref("recordOfBatch")}},
        },
        ["records"],
    ),
    "recordOfBatch": closed(
        {
            "offset": integer("int64"),
            "timestamp": integer("int64"),
            "key": TEXT_OR_BYTES,
            "value": TEXT_OR_BYTES,
            "headers": HEADERS,
        }
    ),
    "record": closed(
        {
            "topic": {"type": ["string", "null"]},
            "partition": {"type": ["integer", "null"]},
            "offset": {"type": ["integer", "null"]},
            "timestamp": integer("int64"),
            "key": TEXT_OR_BYTES,
            "value": TEXT_OR_BYTES,
            "headers": HEADERS,
            "api": {"enum": ["PRODUCE", "FETCH", "SHARE_FETCH", None]},
            "client_id": {"type": ["string", "null"]},
            "connection": {"type": ["string", "null"]},
            "file": {"type": ["string", "null"]},
            "aborted": {"type": "boolean"},
        },
        ["aborted"],
    ),
}  # fmt: skip


# Messages -------------------------------------------------------------------------------------------------------------


def definitions_of(tables: Catalog, api: Api) -> Schema:
    """Return the definitions of an API's messages, one for each run of versions with the same JSON, and the choice
    between them by version.
    """
    made: Schema = {}
    choices: dict[str, list[Schema]] = {"request": [], "response": []}
    for side, name in (("request", api.request), ("response", api.response)):
        message = tables.message(name)
        for lo, hi, schema in runs_of(message):
            label = f"{name}.v{lo}" if lo == hi else f"{name}.v{lo}-{hi}"
            made[label] = schema
            choices[side].append({"versions": {"minimum": lo, "maximum": hi}, "then": ref(label)})
    if api.key == API_VERSIONS:  # a broker responds in version 0 to a version that it does not know (KIP-511)
        oldest = choices["response"][0]["then"]
        for choice in choices["response"]:
            choice["then"] = {"anyOf": [choice["then"], oldest]}
    of_header: list[Schema] = [
        {
            "if": {"properties": {"requestHeader": {"properties": {"requestApiVersion": choice["versions"]}}}},
            "then": {"properties": {side: choice["then"] if side == "request" else nullable(choice["then"])}},
        }
        for side, listed in choices.items()
        for choice in listed
    ]
    of_line: list[Schema] = [
        {
            "if": {"properties": {"requestApiVersion": choice["versions"]}},
            "then": {"properties": {"response": choice["then"]}},
        }
        for choice in choices["response"]
    ]
    return {api.name: {"allOf": of_header}, f"{api.name}.response": {"allOf": of_line}, **made}


def runs_of(message: Message) -> Iterator[tuple[int, int, Schema]]:
    """Yield (lowest version, highest, schema) of each run of versions with the same schema."""
    found = ((version, schema_of(message, version)) for version in message.versions)
    for _, run in groupby(found, key=lambda pair: dumps(pair[1])):
        several = list(run)
        yield several[0][0], several[-1][0], several[0][1]


def schema_of(message: Message, version: int) -> Schema:
    """Return the schema of a message in a version: its newest layout, or a layout of old releases."""
    secrets = secret_fields(message.name)
    others = [variant.message for variant in message.variants if version in variant.versions]
    layouts = [struct(each.fields, version, secrets, "") for each in (message, *others)]
    whole = layouts[0] if len(layouts) == 1 else {"anyOf": layouts}
    # a message that does not decode is incomplete, and has _error
    return {"if": {"required": ["_error"]}, "then": {"type": "object"}, "else": whole}


# The content of an Envelope (KIP-590), decoded: another request, or its response.
ENVELOPE_FIELDS = ("requestData", "responseData")
ENVELOPED: Schema = {
    "anyOf": [
        {"type": "object", "required": ["requestHeader", "request"]},
        {"type": "object", "required": ["responseHeader", "response"]},
    ]
}


def struct(fields: Iterable[Field], version: int, secrets: Iterable[str], path: str) -> Schema:
    present = [field for field in fields if version in field.versions]
    tagged = [field.name for field in present if version in field.tagged]
    return closed({field.name: member(field, version, secrets, f"{path}{field.name}") for field in present}, tagged)


def member(field: Field, version: int, secrets: Iterable[str], path: str) -> Schema:
    inner = struct(field.fields, version, secrets, f"{path}.") if field.is_struct else scalar(field.element)
    made = {"type": "array", "items": inner} if field.is_array else inner
    choices = [{"type": "null"}] if version in field.nullable else []
    choices += [REDACTED] if path in secrets else []
    choices += [ENVELOPED] if path in ENVELOPE_FIELDS else []
    return {"anyOf": [made, *choices]} if choices else made


def scalar(kind: str) -> Schema:
    if kind in INTEGERS:
        return integer(kind)
    schemas: dict[str, Schema] = {
        "bool": {"type": "boolean"},
        "float64": {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]},
        "uuid": {"type": "string", "pattern": "^[A-Za-z0-9_-]{22}$"},
        "string": {"type": "string"},
        "bytes": BASE64,
        "records": ref("records"),
    }
    return schemas[kind]
