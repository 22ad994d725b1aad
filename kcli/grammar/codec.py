"""Reads and writes one version of a message, by the interpreted grammar or the compiled core."""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from kcli.core.codec.values import bytes_of
from kcli.core.codec.varints import Buffer
from kcli.errors import DecodeError, EncodeError, UnknownFieldError
from kcli.grammar.secrets import hide_broken, hide_records, hide_secrets, hide_spans, redacted
from kcli.grammar.topic_ids import annotate
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.trace import ENCODINGS, DecodeTrace, Span
from kcli.grammar.words.word import Grammar, JsonForm
from kcli.jsontext import dumps, loads
from kcli.schemas.secrets import secret_fields

if TYPE_CHECKING:
    from kcli.core.codec.messages import Names, Node
    from kcli.grammar.selection.select import Selection

Hook = Callable[[memoryview], bytes]


class JsonOptions(TypedDict, total=False):
    """Options of `MessageCodec.json`. By default, records are "none", hook and names None, whole and secrets False."""

    records: str
    hook: Hook | None
    names: Names | None
    whole: bool
    secrets: bool


# A length or count in an error's reason. Two printable bytes, read as a number, have at least four digits.
LARGE_NUMBER = re.compile(r"\b(needs|says) \d{4,}")
TRAILING = "_trailing"
BEHIND = b'"_trailing":'  # as a key; within a JSON string, the quotes would be escaped
EMPTY_SECTION = b"\0"  # an extra tag section: AlterUserScramCredentials of librdkafka, DescribeAcls of kafka-go
VARIANT = "_variant"


class Interpreted:
    """Reads and writes by the construct grammar itself. It is slower than the core, but complete, and the reference."""

    def __init__(self, grammar: Struct, secrets: Mapping[str, str] | None = None, guarded: bool = False) -> None:
        """Interpret a grammar. secrets: the fields that JSON hides, by path. guarded: JSON also hides the bytes that
        belong to no known field.
        """
        self.grammar, self.secrets, self.guarded = grammar, secrets or {}, guarded

    def parse(self, data: Buffer, offset: int, trace: DecodeTrace) -> tuple[Any, int]:
        """Return (value, end) of the message at `offset`, with spans and odd encodings in `trace`. Raises
        DecodeError.
        """
        source = ByteSource(data, offset)
        value = self.grammar.parse_word(source, trace, "")
        if trace.encodings:
            value[ENCODINGS] = trace.encodings
        return value, source.tell()

    def read(self, data: Buffer, offset: int = 0) -> tuple[Any, int]:
        """Return (value, end) of the message at `offset`. Raises DecodeError."""
        return self.parse(data, offset, DecodeTrace())

    def skip(self, data: Buffer, offset: int = 0) -> int:
        """Return the end of the message at `offset`. Raises DecodeError."""
        return self.read(data, offset)[1]

    def json(self, data: Buffer, offset: int = 0, **options: Unpack[JsonOptions]) -> tuple[bytes, int]:
        """Return (JSON text, the message's end): see `MessageCodec.json`."""
        value, end = self.read(data, offset)
        if options.get("whole") and end < len(data):
            value[TRAILING] = bytes(data[end:])
            end = len(data)
        form = JsonForm(options.get("records", "none"), options.get("hook"))
        made = self.json_value(value, form, options.get("secrets", False))
        if (names := options.get("names")) is not None:
            annotate(made, names)
        return dumps(made).encode(), end

    def json_value(self, value: dict[str, Any], form: JsonForm, secrets: bool = False) -> dict[str, Any]:
        """Return a value from `read` in the form of JSON. secrets: show them."""
        made = self.grammar.json_value(value, form)
        if ENCODINGS in value:
            made[ENCODINGS] = {path: base64.b64encode(raw).decode() for path, raw in value[ENCODINGS].items()}
        if TRAILING in value:
            made[TRAILING] = base64.b64encode(value[TRAILING]).decode()
        if VARIANT in value:
            made[VARIANT] = value[VARIANT]
        if not secrets:
            if self.guarded:
                hide_secrets(made, self.secrets)
            if form.records == "raw":
                hide_records(made)
        return made

    def write(self, value: dict[str, Any]) -> bytes:
        """Return the value's bytes. Raises EncodeError."""
        trace = DecodeTrace.of_value(value)
        out = bytearray()
        self.grammar.build_word(value, out, trace, "")
        return bytes(out)


class MessageCodec(Grammar):
    """The codec of one version of a message, for its bytes, values and JSON.

    Values are plain dicts with Kafka's field names. Keys with an underscore keep what a canonical encoder would lose:
    "_unknownTaggedFields", "_trailing" (bytes after the message), "_encodings" (odd but lawful bytes, by path) and
    "_variant" (the layout that some old releases had for this version, if it is not the newest).

    It is also a construct: parse, build and sizeof are those of the newest layout.
    """

    name: str

    def __init__(
        self,
        name: str,
        version: int,
        grammar: Struct,
        variants: Sequence[tuple[str, MessageCodec]] = (),
        guarded: bool = False,
    ) -> None:
        super().__init__()
        self.name, self.version, self.grammar = name, version, grammar
        self.variants = tuple(variants)
        self.secrets = secret_fields(name)
        self.guarded = guarded or bool(self.secrets)
        self.interpreted = Interpreted(grammar, self.secrets, self.guarded)

    def __repr__(self) -> str:
        return f"<MessageCodec {self.what}>"

    @property
    def what(self) -> str:
        """The message and version, as errors name them: `FetchRequest v12`."""
        return f"{self.name} v{self.version}"

    @cached_property
    def compiled(self) -> Node | None:
        """The core's node; None if the grammar has construct's own words."""
        if self.grammar.embeds:
            return None
        from kcli.grammar.native import to_native

        node = to_native(self.grammar, self.secrets, self.guarded)
        node.fallback = self.interpreted
        return node

    @property
    def node(self) -> Node | None:
        """The node in `compiled`; None for a version with variants, as the core alone cannot choose between these."""
        return None if self.variants else self.compiled

    def read(self, data: Buffer, offset: int = 0) -> tuple[dict[str, Any], int]:
        """Return (value, end) of the message at `offset`, in its newest layout. Raises DecodeError with path, offset
        and reason.
        """
        try:
            return (self.compiled or self.interpreted).read(data, offset)
        except DecodeError as error:
            raise self.named(error) from None

    def read_whole(self, data: Buffer, offset: int = 0) -> dict[str, Any]:
        """Return the value of a message that is the rest of `data`, in the layout that fits; bytes after it are
        "_trailing".
        """
        layout, value, end = self.fit(data, offset)
        if layout:
            value[VARIANT] = layout
        if end < len(data):
            value[TRAILING] = bytes(data[end:])
        return value

    def fit(self, data: Buffer, offset: int) -> tuple[str, dict[str, Any], int]:
        """Return (variant's name or "", value, end); a variant only if it fits, and the newest layout does not."""
        for name, codec in (("", self), *self.variants) if self.variants else ():
            try:
                value, end = codec.read(data, offset)
            except DecodeError:
                continue
            if end == len(data):
                return name, value, end
        return "", *self.read(data, offset)

    def json(
        self,
        data: Buffer,
        offset: int = 0,
        *,
        records: str = "none",
        hook: Hook | None = None,
        names: Names | None = None,
        whole: bool = False,
        secrets: bool = False,
    ) -> tuple[bytes, int]:
        """Return (text, end): the message at `offset` as JSON in UTF-8.

        records: the content of a records field beside its size: "none", "raw" for base64, or another word with `hook`,
        which returns the JSON text of "batches" for its bytes. names: known topic names, shown beside topic ids
        (`_topicName`). whole: the message is the rest of `data`, in the layout that fits, and bytes after it are
        "_trailing". secrets: show them instead of `{"redacted": size}`.
        """
        try:
            if whole and self.variants:
                value, form = self.read_whole(data, offset), JsonForm(records, hook)
                if self.guarded and not secrets and TRAILING in value:
                    return self.json_without_values(data, offset, form), len(data)
                made = self.interpreted_for(value).json_value(value, form, secrets)
                if names is not None:
                    annotate(made, names)
                return dumps(made).encode(), len(data)
            verbs = self.compiled or self.interpreted
            text, end = verbs.json(data, offset, records=records, hook=hook, names=names, whole=whole, secrets=secrets)
            if whole and self.guarded and not secrets and BEHIND in text:
                return self.json_without_values(data, offset, JsonForm(records, hook)) or text, end
            return text, end
        except DecodeError as error:
            raise self.named(error) from None

    def read_or_partial(
        self, data: bytes | memoryview, start: int, secrets: bool = False, whole: bool = True
    ) -> tuple[dict[str, Any], DecodeError | None]:
        """Return (a message in the form of JSON, None); or its readable part and the error. whole: the message is the
        rest of `data`.
        """
        try:
            return loads(self.json(data, start, whole=whole, secrets=secrets)[0]), None
        except DecodeError as error:
            from kcli.grammar.partial import partial_json

            spans = list[Span]()
            with contextlib.suppress(DecodeError):
                self.spans(bytes(data), start, spans, secrets=secrets)
            return partial_json(spans, JsonForm()), error

    def json_without_values(self, data: Buffer, offset: int, form: JsonForm) -> bytes:
        """Return the JSON text without values of a message that has bytes after it, as a misread secret may be in any
        field; b"" if these bytes are only an additional tag section.
        """
        from kcli.grammar.partial import partial_json  # rare

        spans = self.spans(data, offset)
        end = spans[-1].end if spans else offset
        if not self.is_damage(data[end:]):
            return b""
        return dumps(partial_json(spans, form) | {TRAILING: redacted(len(data) - end)}).encode()

    def without_values(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a decoded message, or {} where JSON hides its values: see `json_without_values`."""
        return {} if self.guarded and TRAILING in value and self.is_damage(value[TRAILING]) else value

    def is_damage(self, rest: Buffer) -> bool:
        """Return whether the bytes after a message show that it was misread. An additional tag section does not, as
        some clients send one.
        """
        return len(rest) > 0 and not (self.grammar.flexible and bytes(rest) == EMPTY_SECTION)

    def json_value(
        self, value: dict[str, Any], *, records: str = "none", hook: Hook | None = None, secrets: bool = False
    ) -> dict[str, Any]:
        """Return a value from `read` in the form of JSON (bytes as base64, records by size). secrets: show them."""
        return self.interpreted_for(value).json_value(value, JsonForm(records, hook), secrets)

    def interpreted_for(self, value: dict[str, Any]) -> Interpreted:
        """Return the interpreter for the layout of a value."""
        return self.layout(value).interpreted

    def layout(self, value: dict[str, Any]) -> MessageCodec:
        """Return the codec for a value's "_variant"; this codec if it has none."""
        name = value.get(VARIANT) if isinstance(value, dict) else None
        return dict(self.variants).get(name, self) if name else self

    def write(self, value: dict[str, Any]) -> bytes:
        """Encode the message, followed by "_trailing". Missing fields get their defaults. Raises EncodeError with the
        path.
        """
        codec = self.layout(value)
        try:
            has_encodings = isinstance(value, dict) and ENCODINGS in value
            data = (codec.interpreted if has_encodings else codec.compiled or codec.interpreted).write(value)
            return data + bytes_of(value[TRAILING]) if TRAILING in value else data
        except UnknownFieldError as error:
            raise UnknownFieldError(error.path, error.field, error.known, what=self.what) from None
        except EncodeError as error:
            raise EncodeError(error.path, self.reason_shown(error.reason), what=self.what) from None
        except ValueError as error:
            raise EncodeError(TRAILING, self.reason_shown(str(error)), what=self.what) from None

    def reason_shown(self, reason: str) -> str:
        """Return a reason without the value and the lengths in it, if these may be part of a secret."""
        return LARGE_NUMBER.sub(r"\1 [hidden]", reason.partition(", not ")[0]) if self.guarded else reason

    def skip(self, data: Buffer, offset: int = 0) -> int:
        """Return the end of the message at `offset`. Raises DecodeError."""
        try:
            return (self.compiled or self.interpreted).skip(data, offset)
        except DecodeError as error:
            raise self.named(error) from None

    def select(self, paths: str | Iterable[str], missing: int | None = None) -> Selection:
        """Select fields as columns: `select(["sessionId", "topics[].partitions[].fetchOffset"]).read(data)`.

        The layout is the newest. missing: the value in a column of numbers if the version or a message lacks the field;
        by default the least int64. Paths are those of `kcli.grammar.selection.plan.SelectionPlan`. Raises UsageError
        for an unknown path.
        """
        from kcli.arguments import texts
        from kcli.grammar.selection.select import Selection  # a command that reads one message does not need it

        selected = texts("select", paths, "a path, or several")
        return Selection(self, selected) if missing is None else Selection(self, selected, missing)

    def spans(self, data: Buffer, offset: int = 0, into: list[Span] | None = None, secrets: bool = False) -> list[Span]:
        """Return the bytes of each value, in order. into: gets the spans, which are there even if DecodeError is
        raised. secrets: show them.
        """
        spans: list[Span] = [] if into is None else into
        start = len(spans)
        codec = self
        if self.variants:
            with contextlib.suppress(DecodeError):  # if no layout fits, the newest one shows how far it reads
                codec = dict(self.variants).get(self.fit(data, offset)[0], self)
        try:
            _, end = codec.interpreted.parse(data, offset, DecodeTrace(spans=spans))
        except DecodeError as error:
            if self.guarded and not secrets:
                spans[start:] = hide_broken(hide_spans(spans[start:], self.secrets))
            raise self.named(error) from None
        if self.guarded and not secrets:
            made = hide_spans(spans[start:], self.secrets)
            spans[start:] = hide_broken(made) if self.is_damage(data[end:]) else made
        return spans

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> dict[str, Any]:
        return self.grammar.parse_word(source, trace, path)

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        self.grammar.build_word(value, out, trace, path)

    def _sizeof(self, context: Any, path: str) -> int:
        return self.grammar._sizeof(context, path)

    def named(self, error: DecodeError) -> DecodeError:
        """Return the error with the name and version of this message."""
        return DecodeError(error.path, error.offset, self.reason_shown(error.reason), what=self.what)


def guarded(codec: MessageCodec) -> MessageCodec:
    """Return the codec for a message that the tables lack. Its bytes may be secret, so JSON has only their number."""
    return MessageCodec(codec.name, codec.version, codec.grammar, guarded=True)
