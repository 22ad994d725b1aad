"""Log segments and KRaft snapshots as data sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kcli.calendar import has_date
from kcli.errors import InputError
from kcli.grammar.secrets import redacted
from kcli.jsontext import dumps, loads
from kcli.pipeline.sources.file_source import KcliSource, shows_secrets
from kcli.pipeline.storage import StoragePath, StoredFile, split_query
from kcli.topic_names import partition_of

if TYPE_CHECKING:
    from kcli.records.batches import Record

PIECE = 16 << 20  # bytes of a segment that are read at a time


class SegmentSource(KcliSource):
    """A row for each record of .log files.

    `record`: JSON, for internal topics; `timestamp`: null outside of the calendar; topic and partition: from the
    folder's name; is_control: transaction markers and other control records
    """

    columns = (
        ("file", "string"), ("topic", "string"), ("partition", "int"), ("offset", "bigint"), ("timestamp", "timestamp"),
        ("key", "binary"), ("value", "binary"), ("headers", "string"), ("record", "string"),
        ("base_offset", "bigint"), ("magic", "tinyint"), ("compression", "string"), ("timestamp_type", "string"),
        ("is_transactional", "boolean"), ("is_control", "boolean"), ("partition_leader_epoch", "int"),
        ("producer_id", "bigint"), ("producer_epoch", "smallint"), ("base_sequence", "int"), ("crc_valid", "boolean"),
    )  # fmt: skip
    suffixes = (".log",)

    @classmethod
    def name(cls) -> str:
        return "kcli.segments"

    def rows(self, task: StoredFile, wanted: frozenset[str]) -> Iterator[tuple[Any, ...]]:
        from kcli.records.batches import is_covered

        topic, partition = partition_of(folder_of(task.uri))
        decode = self.decoder(topic) if "record" in wanted else None
        failing = self.options.get("damage") == "fail"
        for batch in batches_of(task.uri, failing):
            head = (
                batch.base_offset, batch.magic, batch.compression, batch.timestamp_type, batch.is_transactional,
                batch.is_control, batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch,
                batch.base_sequence, batch.crc_valid,
            )  # fmt: skip
            covered = not self.secrets and is_covered(batch)
            for each in records_of(batch, task.uri, failing):
                record = hidden_record(each) if covered else each
                plain = not batch.is_control and not covered
                decoded = decode(record.key, record.value) if decode and plain else None
                when = record.timestamp * 1000 if has_date(record.timestamp) else None
                names = dumps(
                    [
                        [name, value.decode("utf-8", "replace") if value is not None else None]
                        for name, value in record.headers
                    ]
                )
                value = shown_value(record.value, self.secrets)
                yield (task.uri, topic, partition, record.offset, when, record.key, value, names, decoded, *head)

    def decoder(self, topic: str | None) -> Any:
        """Return a function that decodes a key and value of an internal topic into JSON text; None for other topics."""
        from kcli.records.internal import TOPICS, record_members

        named = self.options.get("topic", topic)
        if named not in TOPICS:
            return None
        members = record_members(named, self.options.get("schema"), self.secrets)
        return lambda key, value: members(key, value).decode().removeprefix(',"_record":')

    @property
    def secrets(self) -> bool:
        """Return whether secrets are shown."""
        return shows_secrets(self.options)


def shown_value(value: bytes | None, secrets: bool) -> bytes | None:
    """Return a record's value; for a secret its redacted JSON form."""
    from kcli.records.secrets import is_secret_value

    if value is None or secrets or not is_secret_value(value):
        return value
    return hidden(value)


def hidden_record(record: Record) -> Record:
    """Return a record in which key, value and headers are replaced by their sizes."""
    headers = ((hidden(name.encode("utf-8", "surrogateescape")).decode(), value) for name, value in record.headers)
    return record._replace(
        key=None if record.key is None else hidden(record.key),
        value=None if record.value is None else hidden(record.value),
        headers=tuple((name, None if value is None else hidden(value)) for name, value in headers),
    )


def hidden(data: bytes) -> bytes:
    return dumps(redacted(len(data))).encode()


def folder_of(uri: str) -> str:
    """Return the name of a file's folder."""
    return split_query(uri)[0].rpartition("/")[0].rpartition("/")[2]


def batches_of(uri: str, failing: bool) -> Iterator[Any]:
    """Yield the batches of a segment, read in pieces. Zeroes at its end are unused room."""
    from kcli.records.batches import scan

    with StoragePath(uri).open() as file:
        left = b""
        while True:
            more = bytes(file.read(PIECE))
            data = left + more
            end = 0
            try:
                for batch in scan(data):
                    end = batch.position + batch.size
                    yield batch
            except InputError as error:
                if not more and data[end:].strip(b"\0") and failing:
                    raise error.within(uri) from None
            left = data[end:]
            if not more:
                return


def records_of(batch: Any, uri: str, failing: bool) -> Iterator[Any]:
    try:
        yield from batch.records()
    except InputError as error:
        if failing:
            raise error.within(uri) from None


class SnapshotSource(KcliSource):
    """A row for each record of .checkpoint files (and of metadata logs that are named), in Kafka's form."""

    columns = (
        ("file", "string"), ("offset", "bigint"), ("type", "string"), ("version", "int"), ("api_key", "int"),
        ("data", "string"), ("reason", "string"),
    )  # fmt: skip
    suffixes = (".checkpoint",)

    @classmethod
    def name(cls) -> str:
        return "kcli.snapshots"

    def rows(self, task: StoredFile, wanted: frozenset[str]) -> Iterator[tuple[Any, ...]]:
        from kcli.snapshots.json_lines import RecordLines

        maker = RecordLines(self.options.get("schema"), shows_secrets(self.options))
        for piece in maker.lines(memoryview(StoragePath(task.uri).read())):
            for line in bytes(piece).splitlines():
                value = loads(line)
                if "event" in value:
                    continue
                yield (
                    task.uri, value["offset"], value["type"], value.get("version"), value.get("apiKey"),
                    dumps(value["data"]), value.get("reason"),
                )  # fmt: skip
        if maker.problems and self.options.get("damage") == "fail":
            raise InputError(maker.problems[0], file=task.uri)
