"""Reads exchanges of captures for programs and notebooks: one after another, or as Arrow and pandas tables."""

from __future__ import annotations

import weakref
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from os import PathLike, fsdecode
from typing import TYPE_CHECKING, Any, Self

from kcli.arguments import need
from kcli.capture.counters import Tally
from kcli.capture.decoder import MEMORY, CaptureDecoder, DecodeOptions, with_failures
from kcli.capture.filters import Choice, Name, Time, chosen
from kcli.capture.io.capture_files import captures_in
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.capture.sinks import Values
from kcli.counting import counted, few_of
from kcli.errors import UsageError
from kcli.extras import require
from kcli.filelike import Files, Stream, files_of
from kcli.notebook import card
from kcli.records.forms import FIELD_FORMS

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Capture:
    """One or more captures, which can be read once, like a generator: by `for`, `items`, `to_arrow` or `to_pandas`.

    Iterating gives the exchanges in the order in which they complete, in memory that does not grow with the captures.
    `counts` counts everything else (gaps, bytes that can't be decoded), and `items` yields it as events. Files that are
    damaged, or no captures, raise InputError at the end, after all readable bytes.
    """

    def __init__(self, files: Sequence[str | Stream], options: DecodeOptions) -> None:
        self.files, self.options, self.values = files, options, Values()
        self.source: CaptureDecoder[Any] = CaptureDecoder(files, self.values, options)
        self._taken = False
        if options.chosen.where is not None:  # the condition runs DuckDB in a thread
            weakref.finalize(self, options.chosen.where.close)
        self._exchanges = self._read()

    def __repr__(self) -> str:
        return f"<Capture of {self.files_text()}: {counted(self.counts.exchanges, 'exchange')} so far>"

    def _repr_html_(self) -> str:
        """Show the counts so far in notebooks, and how to read on."""
        counts = self.counts
        facts = {
            "files": self.files_text(),
            "exchanges so far": f"{counts.exchanges:,}",
            "read": "once, by for, items(), to_arrow() or to_pandas()" if not self._taken else "already, or being read",
        }
        return card("Capture", facts)

    def files_text(self) -> str:
        """List the first files' names."""
        return few_of(self.source.file_names, 3)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Exchange:
        return next(self._exchanges)

    @property
    def counts(self) -> Tally:
        """The counts so far: exchanges, events by kind, and bytes, whether they pass the filter or not."""
        return self.source.tally

    def items(self) -> Iterator[Item]:
        """Yield exchanges and events in order; every byte is in one of them. Bodies are decoded at once."""
        self._take()
        for _ in self.source.read():
            for item in self.values.taken():
                yield from with_failures(item)

    def to_arrow(self) -> pyarrow.RecordBatchReader:
        """Return a pyarrow.RecordBatchReader that reads the captures on demand: one row for each exchange and event.

        The columns are those of `kcli decode pcap --format parquet`; request and response are JSON text. Raises
        UsageError if pyarrow or numpy is missing.
        """
        require("to_arrow", "parquet")
        import pyarrow

        from kcli.capture.tables.arrow import ArrowSink

        self._take()
        sink = ArrowSink()
        self.source = CaptureDecoder(self.files, sink, self.options)
        return pyarrow.RecordBatchReader.from_batches(sink.schema, sink.batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the stream of `to_arrow` as a PyCapsule, by which polars, pyarrow and others read a capture."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas.DataFrame with the rows of `to_arrow`, all in memory. Integer columns have types such as
        Int64, so that they stay integers with nulls. Raises UsageError if pandas, pyarrow or numpy is missing.
        """
        require("to_pandas", "pandas")
        import pandas

        # numpy's integers would become floats in columns with nulls.
        kinds = {f"int{size}": getattr(pandas, f"Int{size}Dtype")() for size in (8, 16, 32, 64)}
        kinds["bool"] = pandas.BooleanDtype()
        return self.to_arrow().read_all().to_pandas(types_mapper=lambda kind: kinds.get(str(kind)))

    def close(self) -> None:
        """Close the files before their end."""
        self._exchanges.close()

    def _read(self) -> Generator[Exchange, None, None]:
        self._take()
        for _ in self.source.read():
            yield from (item for item in self.values.taken() if isinstance(item, Exchange))

    def _take(self) -> None:
        if self._taken:
            raise UsageError("this capture has been read: read_capture(...) reads it again")
        self._taken = True


def read_capture(  # noqa: PLR0913
    files: Files,
    *,
    api: Name | Iterable[Name] | None = None,
    client_id: str | None = None,
    topic: str | None = None,
    errors: bool | str = False,
    since: Time | None = None,
    until: Time | None = None,
    connection: str | None = None,
    slower_than: float | None = None,
    where: str | None = None,
    ports: int | Iterable[int] = (),
    dialect: str | None = None,
    records: str = "none",
    secrets: bool = False,
    memory: int = MEMORY,
    key_logs: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
) -> Capture:
    """Read captures (pcap, pcapng, either in gzip or zstd), several as one, in order of time.

    files: a path, a file opened in binary mode, or several of these; "-" is standard input. A directory stands for the
    captures in it and below.
    api: only these APIs, by name ("Fetch") or key (1). client_id: only this client.
    topic: only exchanges that name this topic.
    errors: only exchanges answered with an error, or with the error of this name or code ("NOT_LEADER_OR_FOLLOWER").
    since, until: by the request's time: a datetime, ISO 8601 text (UTC where there is no zone), or seconds since 1970.
    connection: only this "server-client", or a part of it. slower_than: only exchanges with a latency above this (ms).
    where: a condition in SQL over the columns of the table `exchanges`; needs DuckDB.
    ports: server ports; connections without one of these are left out.
    dialect: the name or directory of message definitions laid over Kafka's own.
    records: how much JSON text and tables show of records: "none" (their size), "batches", "full" or "raw".
    secrets: JSON text shows passwords, keys and tokens, too; values always have them.
    key_logs: files with the secrets of TLS connections, as SSLKEYLOGFILE has them.
    memory: most bytes held of connections: packets out of order, partial frames, unanswered requests.

    Raises UsageError if an argument makes no sense, and InputError if a directory has no capture. Other faults of files
    show when they are read (see `Capture`).
    """
    if records not in FIELD_FORMS:
        raise UsageError(f"records {records!r}: one of {', '.join(FIELD_FORMS)} expected")
    need("memory", memory, int, "a number of bytes")
    if memory < 0:
        raise UsageError(f"memory {memory}: 0 or more bytes expected")
    if not isinstance(errors, bool | str):
        raise UsageError(f"errors {errors!r}: True, or the name of an error expected")
    named = errors if isinstance(errors, str) else None
    choice = Choice(
        api=api, client_id=client_id, topic=topic, errors=errors is True, error=named, since=since, until=until,
        slower_than=slower_than, connection=connection,
    )  # fmt: skip
    made = chosen(choice, dialect)
    if where is not None:
        made = replace(made, where=condition_of(where, dialect))
    return Capture(
        captures_in(files_of(files, "read_capture")),
        DecodeOptions(
            ports=ports_of(ports),
            dialect=dialect,
            records=records,
            memory=memory,
            chosen=made,
            secrets=secrets,
            key_logs=paths_of(key_logs),
        ),
    )


def condition_of(where: Any, dialect: str | None) -> Any:
    """Return the condition of an SQL expression.

    Raises UsageError if the expression is invalid, or DuckDB is missing.
    """
    import kcli

    need("where", where, str, "a condition in SQL")
    return kcli._condition(where, dialect)


def paths_of(key_logs: Any) -> list[str]:
    one = isinstance(key_logs, str | PathLike)
    need("key_logs", key_logs, (str, PathLike, Iterable), "paths")
    found = [key_logs] if one else list(key_logs)
    for each in found:
        need("key_logs", each, (str, PathLike), "paths")
    return [fsdecode(each) for each in found]


def ports_of(ports: Any) -> list[int]:
    given = [ports] if isinstance(ports, int) else list(ports) if isinstance(ports, Iterable) else [ports]
    for port in given:
        if not isinstance(port, int) or not 0 < port < 65536:
            raise UsageError(f"ports: {port!r} is no port (1 to 65535)")
    return given
