"""`kcli records` as lines and as Parquet, made by the core without a Python object for each record.

The core does this for plain batches. For others (control batches, messages of magic 0 and 1, aborted transactions,
damage) rows are made as for all formats, and written in their order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from kcli.calendar import NO_TIME
from kcli.cli.records.choice import RecordChoice
from kcli.cli.records.formats import GROUP, REPEATED, parquet_batches, parquet_schema, write_jsonl
from kcli.cli.records.sources import RecordGroup
from kcli.core.records import batches as core
from kcli.jsontext import dumps
from kcli.records.batches import CONTROL
from kcli.records.rows import is_cut
from kcli.records.text import new_writer

LINES = 1 << 20  # bytes of lines that are written at a time
GATHERED = 16 << 20  # bytes of batches that become columns at a time
HELD = 32 << 20  # bytes of a group of rows in a Parquet file, behind which it ends


End = Callable[[], None]  # called behind the last record, before a table without any is made


def write_plain_lines(groups: Iterator[RecordGroup], choice: RecordChoice, out: BinaryIO, _end: End) -> None:
    """Write records as `write_jsonl` does."""
    writer: Any = None
    for group in groups:
        if not choice.wants_group(group):
            continue
        if writer is None or writer.decompress is not group.unfold:
            flush(writer, out)
            writer = new_writer(payloads=False, secrets=group.secrets, unfold=group.unfold)
        before = f'{dumps(group.place)[:-1]},"offset":'.encode("utf-8", "surrogatepass")
        behind = f",{dumps(group.seen)[1:]}\n".encode("utf-8", "surrogatepass")
        at = count = 0
        while at < len(group.data):
            begun = at
            if group.is_plain:
                at = writer.write_records(group.data, at, before, behind, group.offset_at(count), group.timestamp)
            _, records, _, _ = writer.take_findings()
            count += records
            choice.note(group, records)
            if at == begun:
                flush(writer, out)
                write_jsonl(choice.wanted(group.rows(at, count)), out, None)
                break
            if len(writer.text()) > LINES:
                flush(writer, out)
        group.unfold.tolerated.clear()
    flush(writer, out)


def flush(writer: Any, out: BinaryIO) -> None:
    """Write the lines so far."""
    if writer is not None:
        out.write(writer.text())
        writer.clear()


def write_plain_parquet(groups: Iterator[RecordGroup], choice: RecordChoice, out: BinaryIO, end: End) -> None:
    """Write records as `write_parquet` does."""
    from kcli.pipeline.background import Background
    from kcli.tables.parquet import parquet_file, parquet_writer

    schema = parquet_schema()
    with parquet_file(out, schema, parquet_writer) as writer, Background(1) as background:
        for batches in row_groups(plain_batches(groups, choice, schema)):
            background.do(writer().write_table, batches)
        end()


def row_groups(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield record batches as tables that are worth a group of rows."""
    import pyarrow

    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= GROUP or sum(each.nbytes for each in held) >= HELD:
            yield pyarrow.Table.from_batches(held).unify_dictionaries()
            held = []
    if held:
        yield pyarrow.Table.from_batches(held).unify_dictionaries()


def plain_batches(groups: Iterator[RecordGroup], choice: RecordChoice, schema: Any) -> Iterator[Any]:
    """Yield records as record batches."""
    gathered = GatheredBatches(schema)
    for group in groups:
        if not choice.wants_group(group):
            continue
        if group.is_plain and gathered.add(group):
            if len(gathered.data) >= GATHERED:
                yield from gathered.drain(choice)
            continue
        yield from gathered.drain(choice)
        yield from parquet_batches(choice.wanted(group.rows()), schema)
    yield from gathered.drain(choice)


class GatheredBatches:
    """The batches of groups, one behind another, until they are columns."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.data = bytearray()
        self.groups: list[RecordGroup] = []
        self.starts: list[tuple[int, int]] = []  # of each batch: the number of its group, where it is in that

    def add(self, group: RecordGroup) -> bool:
        """Add a group. Returns False, and adds nothing, if the group is not plain. The last batch of a Fetch may be cut
        off.
        """
        frames, status, end = core.frames(group.data)
        numbered = group.next_offset is not None
        if status != core.END and (numbered or not is_cut(group.data, end)):
            return False
        if not all(is_plain(frame, group) for frame in frames):
            return False
        for position, size, _, attributes, *_ in frames:
            if not attributes & CONTROL:
                self.starts.append((len(self.groups), position))
                self.data += group.data[position : position + size]
        self.groups.append(group)
        return True

    def drain(self, choice: RecordChoice) -> Iterator[Any]:
        """Yield the added rows as record batches, and start with none."""
        from kcli.records.columns import record_arrays

        data, groups, starts = self.data, self.groups, self.starts
        if not starts:
            return
        self.data, self.groups, self.starts = bytearray(), [], []
        import numpy

        of_group = numpy.array([group for group, _ in starts], numpy.int64)
        before = numpy.zeros(len(groups), numpy.int64)  # of each group, how many records are in parts before
        begun = 0
        wrong: list[tuple[int, int, str]] = []
        for arrays, of_batch in record_arrays(memoryview(data), "", wrong, groups[0].secrets, of_group, whole=False):
            if wrong:  # said as the rows say it, from this part on
                number, at = starts[begun]
                for each in groups[number:]:
                    rows = each.rows(at, int(before[number])) if each is groups[number] else each.rows()
                    yield from parquet_batches(choice.wanted(rows), self.schema)
                return
            if not len(of_batch):
                continue
            begun = int(of_batch[-1]) + 1
            where = of_group[of_batch]
            yield self.batch(arrays, where, groups, before)
            for number, records in enumerate(numpy.bincount(where, minlength=len(groups)).tolist()):
                choice.note(groups[number], records)

    def batch(self, arrays: Mapping[str, Any], where: Any, groups: list[RecordGroup], before: Any) -> Any:
        """Return the columns of a part. where: of each record the number of its group. before: is counted up."""
        import numpy
        import pyarrow

        from kcli.records.columns import within_calendar
        from kcli.tables.arrays import integers, numbered

        rank = numpy.arange(len(where)) - numpy.searchsorted(where, numpy.arange(len(groups)))[where] + before[where]
        before += numpy.bincount(where, minlength=len(groups))
        made = {name: arrays[name] for name in ("key", "value")}
        nexts = numpy.array([-2 if each.next_offset is None else each.next_offset for each in groups])[where]
        offsets = numpy.where(nexts == -2, numbers_in(arrays["offset"]), nexts + rank)
        made["offset"] = integers(offsets, "int64", nexts == -1)
        timestamps = numpy.array([NO_TIME if each.timestamp is None else each.timestamp for each in groups])[where]
        timed = numpy.array([each.timestamp is not None for each in groups])[where]
        times = numpy.where(timed, timestamps, numbers_in(arrays["timestamp"]))
        made["timestamp_ms"] = integers(times, "int64", times == NO_TIME)
        made["timestamp"] = within_calendar(made["timestamp_ms"].view(pyarrow.timestamp("ms", "UTC")))
        for name in REPEATED:
            values = [each.place[name] if name in each.place else each.seen[name] for each in groups]
            numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
            made[name] = numbered([*numbers], numpy.array([numbers[value] for value in values])[where]).dictionary()
        partitions = [each.place["partition"] for each in groups]
        is_absent = numpy.array([each is None for each in partitions])[where]
        made["partition"] = integers(numpy.array([each or 0 for each in partitions])[where], "int32", is_absent)
        made["headers"] = headers_of(arrays["headers"], self.schema.field("headers").type)
        made["aborted"] = integers(numpy.zeros(len(where), bool), "bool")
        return pyarrow.record_batch([made[name] for name in self.schema.names], schema=self.schema)


def is_plain(frame: Sequence[Any], group: RecordGroup) -> bool:
    """Return whether a batch has magic 2, is sound, and is no control batch, or a control batch that may be skipped."""
    position, size, magic, attributes = frame[:4]
    if magic < 2 or not frame[8]:
        return False
    if not attributes & CONTROL:
        return True
    writer = new_writer(payloads=False, unfold=group.unfold)
    control = group.data[position : position + size]
    return group.next_offset is None and writer.write_records(control, 0, b"", b"") == size


def numbers_in(column: Any) -> Any:
    """Return the numbers of a column that begins with its memory; anything where it is null."""
    import numpy

    return numpy.frombuffer(column.buffers()[1], numpy.int64)[: len(column)]


def headers_of(headers: Any, kind: Any) -> Any:
    """Return headers with keys as text."""
    import pyarrow

    from kcli.payloads.record_table import as_text

    if not len(headers.values):
        none = pyarrow.nulls(0, kind.value_type)
        return pyarrow.Array.from_buffers(kind, len(headers), headers.buffers()[:2], children=[none])
    pairs = [as_text(headers.values.field("key")), headers.values.field("value")]
    return pyarrow.ListArray.from_arrays(
        headers.offsets, pyarrow.StructArray.from_arrays(pairs, names=["key", "value"])
    )


PLAIN: dict[str, Callable[[Iterator[RecordGroup], RecordChoice, BinaryIO, End], None]] = {
    "jsonl": write_plain_lines,
    "parquet": write_plain_parquet,
}
