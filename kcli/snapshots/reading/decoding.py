"""Metadata and control records: names, values and JSON text of their messages.

Kafka's form (`kafka-dump-log --cluster-metadata-decoder`): {"type": "PARTITION_RECORD", "version": 1, "data": {...}}.

Some releases wrote other layouts under the same version numbers. The newest layout is tried first, then the others,
until one reads the record to its last byte.
"""

import re
from functools import cached_property
from typing import Any

from kcli.core.codec.varints import read_unsigned, write_unsigned
from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.records.control import CONTROL_TYPES
from kcli.schemas.catalog import catalog
from kcli.schemas.field_codes import FRAME_VERSION


def upper_snake(name: str) -> str:
    """Turn PartitionRecord into PARTITION_RECORD."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


class Decoder:
    """The codecs of a metadata log's or snapshot's records, by type and version. `dialect` as for
    `kcli.schemas.catalog`.
    """

    def __init__(self, dialect: str | None = None) -> None:
        self.dialect = dialect
        self.codecs: dict[tuple[int, int], MessageCodec | None] = {}
        self.control_codecs: dict[tuple[int, int], MessageCodec | None] = {}

    @cached_property
    def names(self) -> dict[int, str]:
        """{apiKey: message name} of metadata records."""
        return dict(catalog(self.dialect).records("metadata"))

    @cached_property
    def type_names(self) -> dict[int, str]:
        """{apiKey: "PARTITION_RECORD"}"""
        return {key: upper_snake(name) for key, name in self.names.items()}

    def codec(self, key: int, version: int) -> MessageCodec | None:
        """Return the codec of a metadata record; None for a type or version that kcli does not know."""
        found = self.codecs.get((key, version), self)
        if found is self:
            name = self.names.get(key)
            known = name is not None and version in catalog(self.dialect).message(name).versions
            found = self.codecs[key, version] = messages.data(name, version, self.dialect) if known and name else None
        assert not isinstance(found, Decoder)
        return found

    def control_codec(self, kind: int, data: memoryview) -> MessageCodec | None:
        """Return the codec of a control record's value, whose first field is its version (int16); None for an unknown
        type or version.
        """
        name = catalog(self.dialect).records("control").get(kind)
        if name is None or len(data) < 2:
            return None
        version = int.from_bytes(data[:2], signed=True)
        if (kind, version) not in self.control_codecs:
            known = version in catalog(self.dialect).message(name).versions
            self.control_codecs[kind, version] = messages.data(name, version, self.dialect) if known else None
        return self.control_codecs[kind, version]

    def why_unknown(self, key: int, version: int) -> str:
        """Return why there is no codec for a metadata record."""
        name = self.names.get(key)
        if name is None:
            return f"unknown record type {key}"
        return f"{name} v{version} is unknown (there are {catalog(self.dialect).message(name).versions})"

    def read(self, key: int, version: int, data: memoryview) -> dict[str, Any]:
        """Decode a metadata record. Raises DecodeError for an unknown type or version, malformed bytes, or bytes left
        over.
        """
        codec = self.codec(key, version)
        if codec is None:
            raise DecodeError("", 0, self.why_unknown(key, version))
        return whole(codec, data)

    def read_control(self, kind: int, data: memoryview) -> dict[str, Any]:
        """Decode a control record. Raises DecodeError for the same reasons as `read`."""
        codec = self.control_codec(kind, data)
        if codec is None:
            raise DecodeError("", 0, self.why_unknown_control(kind, data))
        return whole(codec, data)

    def why_unknown_control(self, kind: int, data: memoryview) -> str:
        """Return why there is no codec for a control record."""
        if kind not in CONTROL_TYPES:
            return f"unknown control record type {kind}"
        if len(data) < 2:
            return f"a {CONTROL_TYPES[kind]} of {len(data)} bytes"
        return f"{CONTROL_TYPES[kind]} version {int.from_bytes(data[:2], signed=True)} is unknown"

    def read_framed(self, framed: bytes) -> dict[str, Any]:
        """Decode a record's value with its frame, the form in which images keep partitions."""
        data = memoryview(framed)
        _, at = read_unsigned(data)
        key, at = read_unsigned(data, at)
        version, at = read_unsigned(data, at)
        return self.read(key, version, data[at:])

    def write(self, name: str, version: int, value: dict[str, Any]) -> bytes:
        """Encode a metadata record's value with its frame. Raises EncodeError."""
        message = catalog(self.dialect).message(name)
        assert message.api_key is not None
        head = write_unsigned(FRAME_VERSION) + write_unsigned(message.api_key) + write_unsigned(version)
        return head + messages.data(name, version, self.dialect).write(value)


def whole(codec: MessageCodec, data: memoryview) -> dict[str, Any]:
    """Decode `data` as one message. Raises DecodeError if bytes are left over."""
    try:
        _, value, end = codec.fit(data, 0)
    except DecodeError as error:
        error.__context__ = None  # its frames would keep the file's map open
        raise error.with_traceback(None) from None
    if end != len(data):
        raise DecodeError("", end, f"{len(data) - end} bytes after the end of the message", what=codec.what)
    return value
