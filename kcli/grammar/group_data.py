"""Messages between members of a group, in bytes fields of JoinGroup, SyncGroup and DescribeGroups, and of groups in
`__consumer_offsets`.

Brokers do not read them. Their layout depends on the protocol type: consumers use ConsumerProtocol, in which Kafka
Streams puts its own data into "userData" (StreamsPartitionAssignor); Connect uses ConnectProtocol and
IncrementalCooperativeConnectProtocol. Some messages do not have the type; then the layout that fits all bytes is used.
"""

import base64
from typing import Any, NamedTuple

from kcli.errors import DecodeError, InputError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.words.trace import Span
from kcli.schemas.catalog import catalog


class Fields(NamedTuple):
    """The fields of a message with the type and the name of the group's protocol. data: bytes field -> its data
    message.
    """

    type: str
    name: str
    data: dict[str, str]


class Opened(NamedTuple):
    """A data message: its codec, the offset of its body (0 if that includes the version), and the version."""

    codec: MessageCodec
    start: int
    version: int


SUBSCRIPTION, ASSIGNMENT = "Subscription", "Assignment"
# Message -> its fields. The protocol's fields precede the bytes that depend on them.
GROUPS = {
    "JoinGroupRequest": Fields("protocolType", "name", {"metadata": SUBSCRIPTION}),
    "JoinGroupResponse": Fields("protocolType", "protocolName", {"metadata": SUBSCRIPTION}),
    "SyncGroupRequest": Fields("protocolType", "protocolName", {"assignment": ASSIGNMENT}),
    "SyncGroupResponse": Fields("protocolType", "protocolName", {"assignment": ASSIGNMENT}),
    "DescribeGroupsResponse": Fields(
        "protocolType", "protocolData", {"memberMetadata": SUBSCRIPTION, "memberAssignment": ASSIGNMENT}
    ),
    "GroupMetadataValue": Fields("protocolType", "protocol", {"subscription": SUBSCRIPTION, "assignment": ASSIGNMENT}),
}
NONE = Fields("", "", {})
FAMILIES = {"consumer": "ConsumerProtocol", "connect": "ConnectProtocol"}
STREAMS = "stream"  # the protocol's name
# Data message -> its bytes field -> the message in it.
INSIDE = {
    "ConsumerProtocolSubscription": {"userData": "SubscriptionInfoData"},
    "ConsumerProtocolAssignment": {"userData": "AssignmentInfo"},
    "ConnectProtocolSubscription": {"allocation": "ConnectProtocolAssignment"},
}
VERSION_IN_FRONT = {f"{family}{kind}" for family in FAMILIES.values() for kind in (SUBSCRIPTION, ASSIGNMENT)}
VERSION_IN_FRONT.add("DefaultPrincipalData")
NUMBERED_INSIDE = {"SubscriptionInfoData", "AssignmentInfo"}  # the version is an int32, the first field


def open_data(name: str, data: bytes, dialect: str | None = None) -> Opened:
    """Return the codec for a data message that begins with its version. Raises DecodeError if the bytes are too short
    or unknown.

    Consumers read a version newer than they know as their newest one, and ignore the rest (ConsumerProtocol).
    """
    inside = name in NUMBERED_INSIDE
    size = 4 if inside else 2
    if len(data) < size:
        raise DecodeError("version", 0, f"needs {size} bytes of version at 0x0, {len(data)} left", what=name)
    version = int.from_bytes(data[:size], "big", signed=True)
    known = catalog(dialect).message(name).versions
    read_as = min(version, known.hi) if name.startswith(FAMILIES["consumer"]) else version
    if read_as not in known:
        raise DecodeError("version", 0, f"{name} has no version {version} (known: {known})")
    return Opened(messages.data(name, read_as, dialect), 0 if inside else size, version)


def add_group_data(message: str, body: Any, dialect: str | None = None) -> None:
    """Add the contents of bytes fields to a message's JSON: `_metadata` beside `metadata`, and so on.

    Each is {"type", "version", "data"}; damaged bytes give the readable part, with a "reason".
    """
    if message in INSIDE:
        Walk(NONE, dialect).add_inside(message, body)
    elif (fields := GROUPS.get(message)) is not None:
        Walk(fields, dialect).add(body)


class Walk:
    """One pass over a message. It remembers the protocol that the last fields named."""

    def __init__(self, fields: Fields, dialect: str | None) -> None:
        self.fields, self.dialect = fields, dialect
        self.type: str | None = None
        self.name: str | None = None

    def note(self, field: str, value: Any) -> None:
        """Remember a field's value if it is the protocol's type or name."""
        if field == self.fields.type:
            self.type = value
        elif field == self.fields.name:
            self.name = value

    def add(self, value: Any) -> None:
        if isinstance(value, list):
            for each in value:
                self.add(each)
        if not isinstance(value, dict):
            return
        for field, item in [*value.items()]:
            self.note(field, item)
            kind = self.fields.data.get(field)
            if kind is None:
                self.add(item)
            elif isinstance(item, str) and (made := self.made(kind, base64.b64decode(item))) is not None:
                value[f"_{field}"] = made

    def candidates(self, kind: str, data: bytes) -> list[str]:
        """Return the messages that the bytes may be."""
        if not data:
            return []
        if self.type is None:
            names = [f"{family}{kind}" for family in FAMILIES.values()]
            return [name for name in names if reads_whole(name, data, self.dialect)][:1]
        return [f"{FAMILIES[self.type]}{kind}"] if self.type in FAMILIES else []

    def made(self, kind: str, data: bytes) -> dict[str, Any] | None:
        for name in self.candidates(kind, data):
            return self.json(name, data)
        return None

    def json(self, name: str, data: bytes) -> dict[str, Any]:
        """Return the message as JSON, with the messages inside; for damaged bytes the readable part and the reason."""

        try:
            codec, start, version = open_data(name, data, self.dialect)
        except InputError as error:
            return {"type": name, "reason": str(error)}
        body, fault = codec.read_or_partial(data, start)
        self.add_inside(name, body)
        made = {"type": name, "version": version, "data": body}
        return made if fault is None else made | {"reason": str(fault)}

    def add_inside(self, name: str, body: dict[str, Any]) -> None:
        """Add the contents of the bytes fields of a data message."""
        for field in INSIDE.get(name, {}):
            item = body.get(field)
            if isinstance(item, str) and (inner := self.inner(name, field, raw := base64.b64decode(item))):
                body[f"_{field}"] = self.json(inner, raw)

    def inner(self, name: str, field: str, data: bytes) -> str | None:
        """Return the message in a field of a data message; that of Streams only if the protocol is, or may be,
        Streams.
        """
        inner = INSIDE.get(name, {}).get(field) if data else None
        if inner not in NUMBERED_INSIDE or self.name == STREAMS:
            return inner
        return inner if self.name is None and inner and reads_whole(inner, data, self.dialect) else None

    def spans(self, name: str, data: bytes, path: str, offset: int) -> list[Span]:
        """Return a span for each value of a data message. offset: its start. Raises DecodeError."""
        codec, start, version = open_data(name, data, self.dialect)
        found = [Span("version", 0, start, "int16", version)] if start else []
        codec.spans(data, start, found)
        if found and (end := found[-1].end) < len(data):
            found.append(Span("_trailing", end, len(data), "bytes after the message", data[end:]))
        return [
            each._replace(path=f"{path}.{each.path}", start=each.start + offset, end=each.end + offset)
            for each in self.spans_inside(name, found)
        ]

    def spans_inside(self, name: str, spans: list[Span]) -> list[Span]:
        """Return the spans of a data message, with those inside its bytes fields."""
        made: list[Span] = []
        for span in spans:
            inner = self.inner(name, span.path, span.value) if isinstance(span.value, bytes) else None
            made += self.opened(span, inner) if inner else [span]
        return made

    def opened(self, span: Span, name: str) -> list[Span]:
        """Return the spans of a bytes field: its length, and the values inside. If these are damaged, return the field
        with the reason.
        """
        if not isinstance(span.value, bytes) or not span.value:
            return [span]
        start = span.end - len(span.value)
        try:
            inside = self.spans(name, span.value, span.path, start)
        except DecodeError as error:
            return [span._replace(type=f"{span.type}: no {name}: {error}")]
        return [span._replace(end=start, type="length", value=len(span.value)), *inside]


def group_data_spans(message: str, spans: list[Span], dialect: str | None = None) -> list[Span]:
    """Return the spans of a message, with those inside its bytes fields."""
    if message in INSIDE:
        return Walk(NONE, dialect).spans_inside(message, spans)
    fields = GROUPS.get(message)
    if fields is None:
        return spans
    walk, made = Walk(fields, dialect), list[Span]()
    for span in spans:
        field = span.path.rpartition(".")[2]
        walk.note(field, span.value)
        kind = fields.data.get(field)
        names = walk.candidates(kind, span.value) if kind and isinstance(span.value, bytes) else []
        made += walk.opened(span, names[0]) if names else [span]
    return made


def reads_whole(name: str, data: bytes, dialect: str | None) -> bool:
    """Return whether data is exactly one message of this kind."""
    try:
        codec, start, _ = open_data(name, data, dialect)
        return codec.skip(data, start) == len(data)
    except InputError:
        return False
