"""One Delta table, through the library deltalake: commits files that already exist to it."""

import contextlib
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

from kcli.calendar import EPOCH, moment_text
from kcli.errors import InputError, UsageError
from kcli.jsontext import dumps
from kcli.pipeline.entry import is_below
from kcli.pipeline.output_lock import HeldError
from kcli.pipeline.schemas import STRICT
from kcli.pipeline.storage import StoragePath, StoredFile
from kcli.tables.definition import Table, schema_of
from kcli.tables.parquet import LONG

APP = "kcli"  # the id of the transactions; their versions are the numbers of the runs
DATE = "date"  # the column that dated tables are partitioned by
BOUNDED = ("timestamp", "string", "byte", "short", "integer", "long")  # types of the columns with statistics
EACH = {"delta.checkpointInterval": "25"}  # commits; to open a table, those after the last checkpoint are read
UNFIT = re.compile(r"[%\\\x00-\x1f\x7f]")  # characters in a path that deltalake would misunderstand
OF_SYSTEM = re.compile(r"\(os error (\d+)\)")
COLOURED = re.compile(r"\x1b\[[0-9;]*m|↳")
MOST_CAUSES = 3  # lines of an error that are shown; a backtrace may follow
STORES = ("s3://", "gs://")


class DeltaLog:
    """A Delta table as it was when it was opened, or at a given version. It may not exist yet.

    A commit is refused (HeldError) if there was another since. Raises InputError if the table can't be read.
    """

    def __init__(self, place: StoragePath, table: Table, version: int | None = None) -> None:
        from deltalake import DeltaTable

        self.place, self.table = place, table
        self.uri, self.options = location(place)
        self.handle: Any = None
        with clear_errors(place.uri):
            if DeltaTable.is_deltatable(self.uri, self.options):
                self.handle = DeltaTable(self.uri, version=version, storage_options=self.options)

    @property
    def version(self) -> int:
        """The version of the table; the first is 0."""
        return int(self.handle.version())

    @property
    def transaction(self) -> int:
        """The number of the last run that committed to the table; 0: none has."""
        return (self.handle.transaction_version(APP) or 0) if self.handle is not None else 0

    @property
    def files(self) -> dict[str, int]:
        """The sizes of the table's files by their path in its folder. Raises InputError if one is outside the
        folder.
        """
        if self.handle is None:
            return {}
        import pyarrow

        with clear_errors(self.place.uri):
            # Do not use pyarrow.table: it imports pandas.
            actions = pyarrow.RecordBatchReader.from_stream(self.handle.get_add_actions(flatten=True)).read_all()
        made = dict(zip(*(actions.column(name).to_pylist() for name in ("path", "size_bytes")), strict=True))
        for path in made:
            if not is_below(path):
                raise InputError(f"its log names a file elsewhere: {path}", file=self.place.uri)
        return made

    def listed(self) -> list[StoredFile]:
        """Return the files, by name."""
        return [StoredFile((self.place / path).uri, size, 0.0) for path, size in sorted(self.files.items())]

    def make(self) -> None:
        """Make the table if it does not exist, and add columns that an older release of kcli did not have. Raises
        InputError if a column has another type.
        """
        from deltalake import DeltaTable, Field, Schema

        wanted = Schema.from_arrow(schema_with_date(self.table))
        with clear_errors(self.place.uri):
            if self.handle is None:
                self.handle = DeltaTable.create(
                    self.uri, wanted, name=self.table.name, description=self.table.text, storage_options=self.options,
                    partition_by=[DATE] if self.table.dated else None, configuration=EACH | skipping(bounded(wanted)),
                )  # fmt: skip
                return
            existing = {each.name: each for each in self.handle.schema().fields}
            for each in wanted.fields:
                if each.name in existing and kind_of(existing[each.name]) != kind_of(each):
                    text = f"column {each.name} is {kind_of(existing[each.name])}, and {kind_of(each)} for this kcli"
                    raise InputError(f"{text} (take another --output)", file=self.place.uri)
            fresh = [each for each in wanted.fields if each.name not in existing]
            if fresh:
                self.handle.alter.add_columns([Field(e.name, e.type, metadata=e.metadata) for e in fresh])

    def set_to(self, wanted: Iterable[str], run: int | None = None, *, changes: bool = True) -> None:
        """Commit that `wanted` are the table's files, if they are not already. run: the number of the run that commits;
        None: undo a run that died. changes: the rows change, not only the files.
        """
        from deltalake.transaction import CommitProperties, RemoveAction, Transaction

        current, kept = self.files, set(wanted)
        now = int(time.time() * 1000)
        actions: list[Any] = [self.added(path, now, changes) for path in sorted(kept - current.keys())]
        actions += [
            RemoveAction(path, changes, now, current[path], partition(path)) for path in sorted(current.keys() - kept)
        ]
        if not actions:
            return
        properties = CommitProperties(app_transactions=[Transaction(APP, run)] if run else None, max_commit_retries=0)
        version = self.version
        with clear_errors(self.place.uri):
            self.handle.create_write_transaction(
                actions,
                "append",
                self.handle.schema(),
                [DATE] if self.table.dated else None,
                commit_properties=properties,
            )
            self.handle.load_as_version(version + 1)

    def added(self, path: str, now: int, changes: bool) -> Any:
        """Return the Delta action that adds a file."""
        import pyarrow.parquet
        from deltalake.transaction import AddAction

        place, names = self.place / path, bounded(self.handle.schema())
        with place.open() as file:
            statistics = stats_of(pyarrow.parquet.read_metadata(file), names)
        return AddAction(path, place.info().size, partition(path), now, changes, statistics)

    def vacuum(self, hours: int) -> list[str]:
        """Remove the files that no version had in the last `hours` hours, and return them. This does not commit."""
        if self.handle is None:
            return []
        with clear_errors(self.place.uri):
            found = self.handle.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
        places = [self.place / path for path in found if is_below(path)]
        for place in places:
            place.remove()
        return [place.uri for place in places]


def schema_with_date(table: Table) -> Any:
    """Return the table's columns, with the date by which it is partitioned."""
    import pyarrow

    schema = schema_of(table.columns, strict=table.name in STRICT)
    return schema.append(pyarrow.field(DATE, pyarrow.date32())) if table.dated else schema


def bounded(schema: Any) -> list[str]:
    """Return the columns that get statistics: short ones that are never null."""
    found = (each for each in schema.fields if not each.nullable and kind_of(each) in BOUNDED)
    return [each.name for each in found if each.name not in LONG]


def skipping(names: Sequence[str]) -> dict[str, str | None]:
    """Return the table properties that say which columns have statistics: if statistics are missing for a column,
    readers would think that it has no values.
    """
    if not names:
        return {"delta.dataSkippingNumIndexedCols": "0"}
    return {"delta.dataSkippingStatsColumns": ",".join(names)}


def kind_of(field: Any) -> str:
    """Return the type of a column, by its name in Delta."""
    return str(getattr(field.type, "type", "array"))


def partition(path: str) -> dict[str, str | None]:
    """Return the values of the partition columns, from the names of a file's folders."""
    parts = (part.partition("=") for part in path.split("/")[:-1])
    return {name: value for name, _, value in parts}


def location(place: StoragePath) -> tuple[str, dict[str, str] | None]:
    """Return the place in the form that deltalake needs, and its options. Raises UsageError if deltalake can't use the
    place.
    """
    if not place.remote:
        if refused := UNFIT.search(place.path):
            text = f"Delta tables can't lie below a name with {refused[0]!r} in it (--table-format parquet)"
            raise UsageError(f"{place.uri}: {text}")
        return place.path, None
    uri, _, query = place.uri.partition("?")
    if not uri.startswith(STORES):
        raise UsageError(f"{uri}: Delta tables lie in folders, s3:// and gs:// (--table-format parquet)")
    parameters = {name: values[-1] for name, values in parse_qs(query).items()}
    made = {"AWS_REGION": parameters["region"]} if "region" in parameters else {}
    if "endpoint_override" in parameters:
        scheme = parameters.get("scheme", "https")
        made |= {
            "AWS_ENDPOINT_URL": f"{scheme}://{parameters['endpoint_override']}",
            "AWS_ALLOW_HTTP": str(scheme == "http"),
        }
    return uri, made


@contextlib.contextmanager
def clear_errors(uri: str) -> Iterator[None]:
    """Turn deltalake's errors into HeldError if a commit was refused, otherwise into InputError (also OSError of a
    store).
    """
    from deltalake.exceptions import CommitFailedError, DeltaError

    try:
        yield
    except CommitFailedError:
        raise HeldError(f"{uri}: another run has written to it meanwhile (try again)") from None
    except (DeltaError, OSError) as error:
        raise InputError(cause_of(str(error)), file=uri) from None


def cause_of(text: str) -> str:
    """Return the causes of a deltalake error in one line; only the system's own error if it names one. deltalake
    colours the causes below the first line for terminals.
    """
    if found := OF_SYSTEM.search(text):
        return os.strerror(int(found[1]))
    causes = [COLOURED.sub("", line).strip() for line in text.splitlines()[:MOST_CAUSES]]
    return ": ".join(cause for cause in causes if cause)


def stats_of(metadata: Any, names: Collection[str]) -> str:
    """Return the statistics of a Parquet file's columns in the form that Delta stores, as JSON: readers skip files by
    the least and the greatest values. metadata: pyarrow's FileMetaData.
    """
    made: dict[str, Any] = {"numRecords": metadata.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    for number in range(metadata.num_columns):
        column = metadata.schema.column(number)
        name, is_time = column.path, column.logical_type.type == "TIMESTAMP"
        parts = [group.column(number).statistics for group in groups if group.num_rows]
        if name in names and parts:
            made["minValues"][name] = value(min(each.min_raw for each in parts), is_time)
            made["maxValues"][name] = value(max(each.max_raw for each in parts), is_time)
            made["nullCount"][name] = 0
    return dumps(made)


def value(raw: Any, is_time: bool) -> Any:
    """Return a value of Parquet's statistics in the form it has in JSON. pyarrow's own conversion would import pandas
    for times. is_time: the value is microseconds since 1970.
    """
    if is_time:
        return f"{moment_text(EPOCH + timedelta(microseconds=raw))}Z"
    return raw.decode() if isinstance(raw, bytes) else raw
