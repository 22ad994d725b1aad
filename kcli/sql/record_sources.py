"""Sources of the table `records`: log segments, and captures with Produce, Fetch and ShareFetch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.kafka.record_fields import RecordSink
from kcli.capture.nothing import require_exchanges
from kcli.errors import InputError, all_of
from kcli.input_names import unicode_name
from kcli.payloads.record_table import CapturedBatches, RecordsOrigin, count_batches, decoder_for, record_batches
from kcli.records.damage import stretches
from kcli.sql.scans import Source
from kcli.topic_names import partition_of
from kcli.whole_file import WholeFile

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder

CHUNK = 4 << 20  # bytes of record batches in one Arrow record batch


def segment_records(paths: Sequence[str], secrets: bool, reader: PayloadDecoder | None = None) -> Source:
    """Return the records of log segments. Topic and partition are those of the log's folder.

    Raises InputError after the last row for batches that cannot be read.
    """

    def batches(wanted: frozenset[str]) -> Iterator[Any]:
        decoder = decoder_for(reader, wanted)
        failures: list[InputError] = []
        for path in paths:
            topic, partition = partition_of(Path(path).absolute().parent.name)
            values = {"topic": topic, "partition": partition, "file": unicode_name(path)}
            try:
                yield from log_batches(path, values, secrets, failures, decoder)
            except InputError as error:
                failures.append(error)
        if failures:
            raise all_of(failures)

    return batches


def log_batches(
    path: str,
    values: dict[str, Any],
    secrets: bool,
    failures: list[InputError],
    decoder: PayloadDecoder | None = None,
) -> Iterator[Any]:
    """Yield the records of one log segment."""
    with WholeFile(path) as raw:
        for chunk, start, stop, damage in stretches(lambda into, _at: raw.readinto(into) or 0, CHUNK):
            found: list[tuple[int, int, str]] = []
            data = memoryview(chunk.data)[start:stop]
            place = RecordsOrigin(values)
            place.count = count_batches(data)
            yield from record_batches(data, [place], secrets, found, decoder)
            for position, record, reason in found:
                where = chunk.base + start + position
                failures.append(InputError(f"records[{record}] of the batch at {where:#x}: {reason}", file=path))
            if damage is not None and not damage.lawful:
                failures.append(InputError(f"{damage.reason} (at {chunk.base + damage.start:#x})", file=path))


def captured_records(paths: Sequence[str], options: dict[str, Any], reader: PayloadDecoder | None = None) -> Source:
    """Return the records in captures. Raises InputError after the last row for damaged captures and batches that cannot
    be read.
    """

    def batches(wanted: frozenset[str]) -> Iterator[Any]:
        """Yield record batches with these columns. Raises InputError at the end for damaged captures and unreadable
        batches.
        """
        decoder = decoder_for(reader, wanted)
        source, gathered = CaptureDecoder(paths, RecordSink(), DecodeOptions(**options)), CapturedBatches()
        found: list[tuple[int, int, str]] = []
        failures: list[InputError] = []
        try:
            for captured in source.sink.fields():
                gathered.add(captured)
                if len(gathered.data) >= CHUNK:
                    yield from record_batches(*gathered.drain(), source.bodies.secrets, found, decoder)
        except InputError as error:
            failures.append(error)
        if gathered.data:
            yield from record_batches(*gathered.drain(), source.bodies.secrets, found, decoder)
        failures += [InputError(f"records[{record}] of a batch: {reason}") for _, record, reason in found]
        if failures:
            raise all_of(failures)
        require_exchanges(source)

    return batches
