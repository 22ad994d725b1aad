"""Surveys a snapshot or a metadata log segment in one pass: its records by type, and whether it can be read completely.

Memory does not grow with the file, because frequent types are counted without decoding them.
"""

import time
from collections.abc import Iterable
from typing import Any

from kcli.errors import DecodeError, InputError
from kcli.records.control import CONTROL_TYPES
from kcli.schemas.field_codes import RecordType
from kcli.snapshots.image.partitions import FACTS, PartitionTable, id_text
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.framing import Batch, Fault, batches, checksum, release
from kcli.snapshots.reading.old_fields import feature_level
from kcli.snapshots.reading.walk import PROBLEMS, SOFT, Row, opened, walk
from kcli.snapshots.rules.levels import FEATURE, level_name

LOUD = (
    RecordType.REGISTER_BROKER,
    RecordType.TOPIC,
    RecordType.PARTITION,
    RecordType.FEATURE_LEVEL,
    RecordType.REGISTER_CONTROLLER,
)
QUIET = [key for key in range(64) if key not in LOUD]
MOST_NAMES = 100_000
MOST_PROBLEMS = 20


class Survey:
    """file: its name; size: bytes; batches: their number, of which `control_batches` hold control records
    records     metadata records; types: {(apiKey, version): [count, bytes, most bytes, its offset]}
    controls    [(offset, name in Kafka's form, value)] (a log's leader changes too), at most 1,000
    facts       {key of partitions.FACTS: count of partitions}; snapshots only
    brokers, fenced, controllers, topics, partitions: counts, of the records in the file
    features    {name: level}; largest: [(topic name or id, partitions, bytes)] the topics with most bytes
    bad_checksums   positions of batches; problems: texts on the first 20 unreadable parts; unread: the number of all
    compressions    {codec: batches}; epochs: (least, most) partitionLeaderEpoch; offsets: (first, last)
    timestamps  (least, most) of the batches, ms
    seconds     duration of the pass
    """

    def __init__(self, file: str, size: int) -> None:
        self.file, self.size = file, size
        self.batches = self.control_batches = self.records = self.unread = 0
        self.brokers = self.fenced = self.controllers = self.topics = self.partitions = 0
        self.types: dict[tuple[int, int], list[int]] = {}
        self.controls: list[tuple[int, str, Any]] = []
        self.facts: dict[str, int] = {}
        self.features: dict[str, int] = {}
        self.largest: list[tuple[str, int, int]] = []
        self.bad_checksums: list[int] = []
        self.problems: list[str] = []
        self.compressions: dict[str, int] = {}
        self.epochs: tuple[int, int] | None = None
        self.offsets: tuple[int, int] | None = None
        self.timestamps: tuple[int, int] | None = None
        self.seconds = 0.0

    def control(self, name: str) -> Any:
        """Return the value of the first control record with this name; None if there is none."""
        return next((value for _, kind, value in self.controls if kind == name), None)

    @property
    def header_timestamp(self) -> int | None:
        """lastContainedLogTimestamp in ms; None without a header."""
        header = self.control("SNAPSHOT_HEADER")
        return None if header is None else int(header["lastContainedLogTimestamp"])

    @property
    def kraft_version(self) -> int | None:
        """The level of kraft.version; None without such a record (before KIP-853)."""
        found = self.control("KRAFT_VERSION")
        return None if found is None else int(found["kRaftVersion"])

    @property
    def voters(self) -> list[dict[str, Any]] | None:
        """The voters of the quorum; None without such a record."""
        found = self.control("KRAFT_VOTERS")
        return None if found is None else list(found["voters"])

    @property
    def level(self) -> int | None:
        """The level of metadata.version; None if the file sets none."""
        return self.features.get(FEATURE)

    @property
    def metadata_version(self) -> str | None:
        """The level of metadata.version by name, "4.0-IV3"; None without one."""
        return None if self.level is None else level_name(self.level)

    @property
    def whole(self) -> bool:
        """Return whether every record was decoded, and every checksum was right."""
        return not self.unread and not self.bad_checksums

    def count(self, *keys: int) -> int:
        """Return the number of records of these types, in any version."""
        return sum(row[0] for (key, _), row in self.types.items() if key in keys)


def survey(
    data: memoryview, file: str, *, dialect: str | None = None, mapped: object = None, checksums: bool = True
) -> Survey:
    """Survey the bytes of one file. mapped: as in `framing.release`; checksums: verify them."""
    return Surveyor(Survey(file, len(data)), dialect, checksums).run(data, mapped)


class Surveyor:
    def __init__(self, found: Survey, dialect: str | None, checksums: bool) -> None:
        self.found = found
        self.decoder = Decoder(dialect)
        self.checksums = checksums
        self.table = PartitionTable(quiet=QUIET)
        self.names: dict[str, str] = {}

    def run(self, data: memoryview, mapped: object) -> Survey:
        began = time.perf_counter()
        for batch in batches(data):
            if isinstance(batch, Fault):
                self.complain(f"at byte {batch.position}: {batch.reason}")
                break
            self.batch(data, batch, mapped)
            release(mapped, batch.position, batch.end)
        self.close()
        self.found.seconds = time.perf_counter() - began
        return self.found

    def batch(self, data: memoryview, batch: Batch, mapped: object) -> None:
        found = self.found
        found.batches += 1
        found.control_batches += batch.is_control
        found.compressions[batch.compression] = found.compressions.get(batch.compression, 0) + 1
        found.epochs = spread(found.epochs, batch.leader_epoch, batch.leader_epoch)
        found.offsets = spread(found.offsets, batch.base_offset, batch.last_offset)
        found.timestamps = spread(found.timestamps, batch.base_timestamp, batch.max_timestamp)
        if self.checksums and batch.magic == 2 and checksum(data, batch, mapped) != batch.crc:
            found.bad_checksums.append(batch.position)
        try:
            if batch.magic != 2:
                raise InputError(f"magic {batch.magic} (2 expected)")
            records = opened(data, batch)
        except InputError as error:
            self.complain(f"at byte {batch.position}: {error}")
            return
        self.rows(walk(records, batch, self.table, mapped is not None), records, batch)

    def rows(self, rows: Iterable[Row], records: memoryview, batch: Batch) -> None:
        for row in rows:
            offset, key, version, start, end, problem = row
            if problem and problem not in SOFT:
                self.complain(f"record {offset}: {PROBLEMS[problem]}")
                continue
            assert key is not None
            assert version is not None
            if problem:
                self.complain(f"record {offset}: {PROBLEMS[problem]}")
            try:
                if batch.is_control:
                    self.control(offset, key, records[start:end])
                else:
                    self.metadata(row, records[start:end])
            except DecodeError as error:
                self.complain(f"record {offset}: {error}")

    def control(self, offset: int, kind: int, data: memoryview) -> None:
        value = self.decoder.read_control(kind, data)
        if len(self.found.controls) < 1000:
            self.found.controls.append((offset, CONTROL_TYPES[kind], value))

    def metadata(self, row: Row, data: memoryview) -> None:
        offset, key, version = row[:3]
        assert key is not None
        assert version is not None
        size = len(data) + 3
        tally = self.found.types.setdefault((key, version), [0, 0, 0, offset])
        tally[0] += 1
        tally[1] += size
        if size > tally[2]:
            tally[2:] = [size, offset]
        if self.decoder.codec(key, version) is None:
            raise DecodeError("", 0, self.decoder.why_unknown(key, version))
        if key in LOUD:
            self.take(key, version, self.decoder.read(key, version, data), data, offset)

    def take(self, key: int, version: int, value: dict[str, Any], data: memoryview, offset: int) -> None:
        found = self.found
        if key == RecordType.REGISTER_BROKER:
            found.brokers += 1
            found.fenced += bool(value.get("fenced"))
        elif key == RecordType.REGISTER_CONTROLLER:
            found.controllers += 1
        elif key == RecordType.TOPIC:
            found.topics += 1
            if len(self.names) < MOST_NAMES:
                self.names[value["topicId"]] = value["name"]
        elif key == RecordType.FEATURE_LEVEL:
            found.features[value["name"]] = feature_level(value)
        else:
            self.table.add(value, version, bytes(3) + bytes(data), offset)

    def close(self) -> None:
        found, table = self.found, self.table
        table.close()
        for (key, version), row in table.tallies.items():
            found.types[key, version] = row[:4]
            if self.decoder.codec(key, version) is None:
                found.unread += row[0] - 1
                self.complain(f"record {row[3]}: {self.decoder.why_unknown(key, version)}")
        for version, (count, size) in table.by_version.items():
            found.types[RecordType.PARTITION, version] = [count, size, 0, -1]
        found.partitions = table.count
        found.facts = {name: table.facts[name] for name in FACTS}
        found.records = sum(row[0] for row in found.types.values())
        found.largest = self.largest(5)

    def largest(self, most: int) -> list[tuple[str, int, int]]:
        from heapq import nlargest

        top = nlargest(most, self.table.topics.items(), key=lambda item: item[1][1])
        return [(self.names.get(id_text(topic), id_text(topic)), row[0], row[1]) for topic, row in top]

    def complain(self, text: str) -> None:
        self.found.unread += 1
        if len(self.found.problems) < MOST_PROBLEMS:
            self.found.problems.append(text)


def spread(known: tuple[int, int] | None, least: int, most: int) -> tuple[int, int]:
    return (least, most) if known is None else (min(known[0], least), max(known[1], most))
