"""Decodes keys and values of records by their schemas or formats, for all commands that show records.

decoder = PayloadDecoder(PayloadOptions(value_schemas=("orders=order.avsc",)))
decoder.decode("orders", "value", data, headers)  ->  Payload(data={"id": 7}, format="avro", schema=...)
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol, get_args

from kcli.capture.name_choice import matches
from kcli.errors import NetworkError, UsageError
from kcli.extras import require
from kcli.grammar.secrets import redacted
from kcli.payloads import internal
from kcli.payloads.formats import FORMATS, decoded, encoded
from kcli.payloads.framing import CONFLUENT, Frame, IdType, SchemaId, Which, frame_of, framed
from kcli.payloads.options import PayloadOptions
from kcli.payloads.schema import AVRO, JSON, PROTOBUF, PayloadError, Schema
from kcli.payloads.schema_files import SchemaFiles, local_schema
from kcli.records.internal import TOPICS, coordinator_record, metadata_record

RECORDS = {kind: coordinator_record if kind != "metadata" else metadata_record for kind in TOPICS.values()}
MOST_KNOWN = 10_000  # codecs, and errors of making one
MOST_COMPILED = 300  # schemas of Protobuf, each of which takes protoc some tenths of a second
RAW = "raw"
UNKNOWN = "its schema is not known"
DIRECT = ("avro", "json")  # formats whose payloads begin directly after the frame
NO_HEADERS: Mapping[str, bytes] = {}

Row = dict[str, Any]
OPERATIONS = {"c", "u", "d", "r", "t", "m"}
META = {"op": "__op", "ts_ms": "__ts_ms"}  # names of Debezium's own ExtractNewRecordState
DELETED = "__deleted"


class Source(Protocol):
    """A source of schemas."""

    def find(self, schema: SchemaId) -> Schema | None:
        """Return the schema with this id; None if the source does not have it. Raises PayloadError."""


class Payload(NamedTuple):
    """A decoded key or value. data: as in JSON, if `reason` is None; reason: why it can't be decoded; hidden: secrets
    in it are not shown.
    """

    data: Any = None
    format: str | None = None
    schema: SchemaId | None = None
    reason: str | None = None
    hidden: bool = False

    @property
    def is_known(self) -> bool:
        """Return whether the schema could be looked up, or none is needed."""
        return self.reason is None or not self.reason.startswith(UNKNOWN)

    @property
    def members(self) -> Row:
        """The payload as a JSON object."""
        made: Row = {} if self.schema is None else {self.schema.type: self.schema.value}
        if self.format is not None:
            made["format"] = self.format
        return made | ({"data": self.data} if self.reason is None else {"reason": self.reason})


class TopicRule(NamedTuple):
    """The rule for a topic's payloads. kind: for a topic of Connect or MirrorMaker, which of them, from an option or
    the topic's name.
    """

    schema: Schema | None = None
    format: str | None = None
    kind: str | None = None


class PayloadDecoder:
    """Decodes payloads, and keeps a bounded number of schemas and codecs."""

    def __init__(self, options: PayloadOptions, *more: Source) -> None:
        """Prepare to decode. more: other sources of schemas. Raises UsageError for a missing library or an invalid
        option, InputError for a file of schemas that can't be read.
        """
        require("decoding payloads", "payloads")
        self.options = options
        self.formats = {
            "value": [pair(each, "--value-format", format_named) for each in options.value_formats],
            "key": [pair(each, "--key-format", format_named) for each in options.key_formats],
        }
        self.sources: list[Source] = [SchemaFiles(options.schemas)] if options.schemas else []
        self.sources += more
        if options.registry or options.registry_config:
            self.sources.append(self.registry)
        # {(topic, key or value, bytes of the frame): (codec, format, schema id)}
        self.known: dict[tuple[str | None, Which, bytes], tuple[PayloadCodec, str, SchemaId]] = {}
        self.rules: dict[tuple[str | None, Which], TopicRule] = {}
        # By id() of the schemas, which is unique as long as they are kept here.
        self.codecs: dict[tuple[int, int], tuple[Schema, Schema | None, PayloadCodec | PayloadError]] = {}
        self.compiled = 0
        self.schemas = {
            "value": [pair(each, "--value-schema", self.own_schema) for each in options.value_schemas],
            "key": [pair(each, "--key-schema", self.own_schema) for each in options.key_schemas],
        }
        self.writers: dict[SchemaId, Schema | PayloadError] = {}

    def own_schema(self, name: str) -> Schema:
        """Read a schema of the user's own. Raises InputError also for an invalid one, UsageError."""
        schema = local_schema(name)
        try:
            self.codec(schema)
        except PayloadError as error:
            raise error.within(name) from None
        return schema

    @cached_property
    def registry(self) -> Any:
        """The registry of the options."""
        from kcli.payloads.registry import Registry

        return Registry(self.options.registry, self.options.registry_config)

    @property
    def failure(self) -> NetworkError | None:
        """Return why the registry could not be reached; None if it could, or there is none."""
        found: NetworkError | None = self.__dict__["registry"].failure if "registry" in self.__dict__ else None
        return found

    def raise_failure(self) -> None:
        """Raise NetworkError if the registry could not be reached."""
        if self.failure is not None:
            raise self.failure

    def decode(
        self, topic: str | None, which: Which, data: bytes, headers: Mapping[str, bytes] = NO_HEADERS
    ) -> Payload | None:
        """Return the decoded key or value; None if there is no rule or schema for it. Bytes that can't be decoded have
        a reason.
        """
        if not headers and (known := self.known.get((topic, which, data[:CONFLUENT]))) is not None:
            codec, form, name = known
            try:
                return Payload(codec.decode(data, CONFLUENT), form, name)
            except PayloadError as error:
                return Payload(None, form, name, error.text)
        rule = self.rules.get((topic, which)) or self.rule(topic, which)
        if rule.format == RAW:
            return None
        payload = self.payload(rule, topic, which, data, headers)
        if payload is not None and self.options.flatten and payload.reason is None:
            made = flattened(payload.data)
            return payload if made is payload.data else Payload(made, payload.format, payload.schema)
        return payload

    def rule(self, topic: str | None, which: Which) -> TopicRule:
        """Return the rule for a topic's payloads, and keep it. Later options take precedence."""
        schema = next((found for name, found in reversed(self.schemas[which]) if fits(topic, name)), None)
        form = next((found for name, found in reversed(self.formats[which]) if fits(topic, name)), None)
        kind = form if form in internal.KINDS else None if schema or form else internal.kind_of(topic)
        if len(self.rules) >= MOST_KNOWN:
            self.rules.clear()
        rule = self.rules[topic, which] = TopicRule(schema, None if form == kind else form, kind)
        return rule

    def payload(
        self, rule: TopicRule, topic: str | None, which: Which, data: bytes, headers: Mapping[str, bytes]
    ) -> Payload | None:
        """Decode a payload by a rule: by its format, the kind of topic, the rule's schema, or the schema that the frame
        names.
        """
        if rule.format is not None:
            try:
                return Payload(decoded(rule.format, data), rule.format)
            except PayloadError as error:
                return Payload(format=rule.format, reason=error.text)
        failed = None
        if rule.kind is not None:
            try:
                made, hidden = internal.decoded(rule.kind, which, data, self.options.secrets)
                return Payload(made, rule.kind, hidden=hidden)
            except PayloadError as error:
                failed = Payload(format=rule.kind, reason=error.text)
        frame = frame_of(data, which, headers)
        if rule.schema is not None:
            return self.by_schema(rule.schema, frame, data)
        if frame is None:
            return failed
        made = self.by_frame(frame, data)
        direct = made.format in DIRECT and frame.start == CONFLUENT and rule.kind is None and not self.options.flatten
        if direct and made.reason is None:
            self.remember(topic, which, data, made)
        return made

    def remember(self, topic: str | None, which: Which, data: bytes, made: Payload) -> None:
        """Keep the codec for the topic's next payloads that begin with the same frame."""
        if len(self.known) >= MOST_KNOWN:
            self.known.clear()
        assert made.schema is not None and made.format is not None
        self.known[topic, which, data[:CONFLUENT]] = self.codec(self.writer(made.schema)), made.format, made.schema

    def by_frame(self, frame: Frame, data: bytes) -> Payload:
        """Decode a payload by the schema that its frame names."""
        form = None
        try:
            schema = self.writer(frame.schema)
            form = "json" if frame.json and schema.type != AVRO else schema.type.lower()
            return Payload(self.codec(schema).decode_framed(frame, data), form, frame.schema)
        except PayloadError as error:
            return Payload(format=form, schema=frame.schema, reason=error.text)

    def by_schema(self, schema: Schema, frame: Frame | None, data: bytes) -> Payload:
        """Decode a payload by the user's own schema: after its frame, or, if that fails or there is none, as a whole.

        For Avro, the schema that the frame names is the writer's if it is known, and the user's is the reader's.
        """
        form, failed = schema.type.lower(), None
        if frame is not None:
            try:
                codec = self.codec(schema)
                if schema.type == AVRO and self.sources:
                    codec = self.codec(self.writer(frame.schema), schema)
                return Payload(codec.decode_framed(frame, data), form, frame.schema)
            except PayloadError as error:
                failed = Payload(format=form, schema=frame.schema, reason=error.text)
        try:
            return Payload(self.codec(schema).decode(data, 0), form)
        except PayloadError as error:
            return failed or Payload(format=form, reason=error.text)

    def writer(self, name: SchemaId) -> Schema:
        """Return the schema with this id. Raises PayloadError if no source has it, or it can't be read."""
        found = self.writers.get(name)
        if found is None:
            if len(self.writers) >= MOST_KNOWN:
                self.writers.clear()
            found = self.writers[name] = self.found(name)
        if isinstance(found, PayloadError):
            raise found
        return found

    def found(self, name: SchemaId) -> Schema | PayloadError:
        """Return the schema with this id from the sources, or the error."""
        try:
            for source in self.sources:
                if schema := source.find(name):
                    return schema
        except PayloadError as error:
            return error
        if self.options.registry or self.options.registry_config or self.options.schemas:
            return PayloadError("its schema is missing")
        return PayloadError(f"{UNKNOWN} (--schema-registry, --schemas, --value-schema)")

    def codec(self, schema: Schema, reader: Schema | None = None) -> PayloadCodec:
        """Return the codec of a schema. Raises PayloadError."""
        kept = self.codecs.get((id(schema), id(reader)))
        if kept is None:
            if len(self.codecs) >= MOST_KNOWN:
                self.codecs.clear()
            made: PayloadCodec | PayloadError
            self.compiled += schema.type == PROTOBUF
            try:
                if self.compiled > MOST_COMPILED:
                    raise PayloadError(f"more than {MOST_COMPILED:,} schemas of Protobuf, each of which is compiled")
                made = codec_of(schema, reader if reader is None or reader.type == schema.type else None)
            except PayloadError as error:
                made = error
            kept = self.codecs[id(schema), id(reader)] = schema, reader, made
        if isinstance(kept[2], PayloadError):
            raise kept[2]
        return kept[2]

    def members(
        self, topic: str | None, key: bytes | None, value: bytes | None, headers: Mapping[str, bytes] = NO_HEADERS
    ) -> tuple[Row, set[Which]]:
        """Return the additional JSON members of a record, `_key` and `_value` if they can be decoded, and which of the
        two has secrets, so that its bytes have to be hidden, too. Records of Kafka's own topics have `_record` instead,
        as in segments.
        """
        if topic in TOPICS:
            kind = TOPICS[topic]
            return {"_record": RECORDS[kind](kind, key, value, None, self.options.secrets)}, set()
        made: Row = {}
        hidden = set[Which]()
        pairs: tuple[tuple[Which, bytes | None], ...] = ("key", key), ("value", value)
        for which, data in pairs:
            payload = None if data is None else self.decode(topic, which, data, headers)
            if payload is not None:
                made[f"_{which}"] = payload.members
                if payload.hidden:
                    hidden.add(which)
        return made, hidden

    def add_to(self, row: Row, topic: str | None) -> None:
        """Add `members` to a record in kcli's JSON, and hide keys and values with secrets."""
        value = row.get("value")
        key, data = bytes_of(row.get("key")), bytes_of(value)
        if topic in TOPICS and value is not None and data is None:
            return  # the value is a hidden secret
        made, hidden = self.members(topic, key, data, headers_of(row.get("headers")))
        row |= made
        for which in hidden:
            row[which] = redacted(len((data if which == "value" else key) or b""))

    def encode(
        self, topic: str | None, which: Which, payload: Row, row: Mapping[str, Any] | None = None
    ) -> bytes | None:
        """Return the bytes of a payload of JSON (`Payload.members`), by the rule for the topic; None if there is no
        schema.

        row: the record in kcli's JSON. The payload gets its frame, and its bytes if these decode to the same JSON,
        which does not show everything, such as a union's branch. Raises PayloadError, UsageError.
        """
        rule = self.rules.get((topic, which)) or self.rule(topic, which)
        if rule.format is not None and rule.format != RAW:
            return encoded(rule.format, payload["data"])
        name = next((SchemaId(each, payload[each]) for each in get_args(IdType) if each in payload), None)
        schema = rule.schema if rule.schema is not None else self.writer(name) if name and self.sources else None
        if schema is None:
            return None
        if name is not None and self.sources and schema.type == AVRO:
            schema = self.writer(name)
        data, headers = bytes_of((row or {}).get(which)) or b"", headers_of((row or {}).get("headers"))
        if data and (former := self.decode(topic, which, data, headers)) is not None and former.members == payload:
            return data
        frame = frame_of(data, which, headers)
        if frame is not None and frame.schema == name:
            return data[: frame.start] + self.codec(schema).encode_like(payload["data"], frame, data)
        made = self.codec(schema).encode(payload["data"])
        if name is None or name.type != "schemaId":
            return made
        if schema.type == PROTOBUF:
            from kcli.payloads.protobuf import write_indexes

            made = write_indexes([0]) + made
        return framed(Frame(name, CONFLUENT), made)


def pair(text: str, option: str, made: Any) -> tuple[str | None, Any]:
    """Return (topic, made(word)) of "TOPIC=WORD"; (None, made(word)) of a word for all topics. Raises UsageError."""
    topic, equals, word = text.partition("=")
    if equals and not word:
        raise UsageError(f"{option} {text}: TOPIC=... expected")
    return (topic, made(word)) if equals else (None, made(text))


def format_named(name: str) -> str:
    """Return the name of a format if it is one. Raises UsageError."""
    if name not in FORMATS and name not in internal.KINDS and name != RAW:
        raise UsageError(f"no format {name!r} ({', '.join((*FORMATS, *internal.KINDS, RAW))})")
    return name


def fits(topic: str | None, wanted: str | None) -> bool:
    return wanted is None or matches(topic, wanted)


def bytes_of(shown: Any) -> bytes | None:
    """Return the bytes of a key or value in kcli's JSON; None for null, and for a secret."""
    if isinstance(shown, str):
        return shown.encode("utf-8", "surrogatepass")
    if isinstance(shown, dict) and isinstance(text := shown.get("base64"), str):
        return base64.b64decode(text)
    return None


def headers_of(headers: Iterable[Row] | None) -> Mapping[str, bytes]:
    """Return {key: value} of headers in kcli's JSON. Of several with one key the last counts, as in Kafka's clients."""
    if not headers:
        return NO_HEADERS
    named = ((each.get("key"), bytes_of(each.get("value"))) for each in headers)
    return {key: value for key, value in named if isinstance(key, str) and value is not None}


def flattened(value: Any) -> Any:
    """Return the row in an envelope; a value without one unchanged.

    A row of Debezium is the one after the change, for a deletion the one before it, with `__op`, `__ts_ms` and
    `__deleted`.
    """
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        value = value["payload"]
    return row_of(value) if is_change(value) else value


def is_change(value: Any) -> bool:
    """Return whether a value is a change event of Debezium."""
    return (
        isinstance(value, dict)
        and isinstance(op := value.get("op"), str)
        and op in OPERATIONS
        and bool(value.keys() & {"before", "after"})
    )


def row_of(change: dict[str, Any]) -> dict[str, Any]:
    row = change.get("after") if change.get("after") is not None else change.get("before")
    made = dict(row) if isinstance(row, dict) else {} if row is None else {"row": row}
    made |= {META[name]: change[name] for name in META if name in change}
    return made | {DELETED: "true" if change["op"] == "d" else "false"}  # text, as Debezium writes it


class PayloadCodec(Protocol):
    """Reads and writes the payloads of one schema."""

    def decode(self, data: bytes, start: int) -> Any:
        """Return the value as in JSON. Raises PayloadError."""

    def encode(self, value: Any) -> bytes:
        """Return the bytes of a value as in JSON. Raises PayloadError."""

    def decode_framed(self, frame: Frame, data: bytes) -> Any:
        """Return the value of a payload after its frame, in the encoding that the frame names. Raises PayloadError."""

    def encode_like(self, value: Any, frame: Frame, data: bytes) -> bytes:
        """Return the bytes of a value after a frame, encoded like the payload there. Raises PayloadError."""


def codec_of(schema: Schema, reader: Schema | None = None) -> PayloadCodec:
    """Return a new codec of a schema. reader: for Avro, the schema into which values are resolved. Raises
    PayloadError.
    """
    return CODECS[schema.type](schema, reader)


def avro_codec(schema: Schema, reader: Schema | None) -> PayloadCodec:
    from kcli.payloads.avro import AvroCodec

    return AvroCodec(schema, reader)


def protobuf_codec(schema: Schema, _reader: Schema | None) -> PayloadCodec:
    from kcli.payloads.protobuf import ProtobufCodec

    return ProtobufCodec(schema)


def json_codec(schema: Schema, _reader: Schema | None) -> PayloadCodec:
    from kcli.payloads.json_values import JsonCodec

    return JsonCodec(schema)


CODECS: dict[str, Callable[[Schema, Schema | None], PayloadCodec]] = {
    AVRO: avro_codec,
    PROTOBUF: protobuf_codec,
    JSON: json_codec,
}
