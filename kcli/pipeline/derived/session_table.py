"""The table `fetch_sessions`: the fetch sessions of each server (KIP-227), followed over all runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kcli.calendar import NS_IN_US
from kcli.capture.kafka.events import Event, Link
from kcli.capture.kafka.exchange import Exchange
from kcli.core.sessions.fetches import FetchFrames, filled
from kcli.jsontext import dumps, loads
from kcli.pipeline.derived.incremental_tables import Row, RunFiles, fold
from kcli.pipeline.writing import WrittenFile
from kcli.schemas.apikeys import FETCH
from kcli.sessions.offsets import OFFSET_APIS

if TYPE_CHECKING:
    from kcli.sessions.registry import SessionlessFetches
    from kcli.sessions.session import FetchStatistics, ObservedSession

# When a connection is found to be Kafka, several exchanges come at once, in the order of their responses; those of one
# packet in the order of their requests. asked: the bytes of the correlation id in the request.
ORDER = ("completed_ns", "response_ns", "request_ns", "connection", "asked")
NEEDED = {"event": "string", "request_ns": "bigint", "response_ns": "bigint", "asked": "binary"}
LINES = ("timestamp", "latency_ms", "request_bytes", "response_bytes", "request_header")


def make_sessions(gathered: RunFiles, table: str) -> list[WrittenFile]:
    """Write `fetch_sessions`. The sessions of all servers for which this run has rows are followed again."""
    make = partial(sessions, names=gathered.names, dialect=gathered.read.dialect)
    return fold(gathered, fetches, ["server"], list(ORDER), make, table)


def fetches(gathered: RunFiles) -> Any:
    """Return the rows by which sessions are followed: `fetch_frames` and the events of connections; None if there are
    none.
    """
    from pyspark.sql import functions

    frames, lost, lines = (
        gathered.frame("fetch_frames"),
        gathered.frame("undecodable"),
        gathered.unsummed("fetch_frames"),
    )
    asked = functions.expr("substring(request, 5, 4)").alias("asked")
    parts = [] if frames is None else [frames.select("*", asked)]
    if lost is not None:
        server = functions.expr("regexp_extract(connection, '^(.+?:[0-9]+)-', 1)").alias("server")
        when = (functions.unix_micros("timestamp") * NS_IN_US).alias("completed_ns")
        known = lost.where("event != 'unanswered-at-end' and connection is not null")
        parts.append(known.select(server, "connection", when, "event"))
    if lines is not None:
        texts = [functions.col(name).cast("binary").alias(name) for name in ("request", "response")]
        wanted = lines.where(functions.col("api_key").isin(FETCH, *OFFSET_APIS))
        parts.append(wanted.select("server", "connection", "completed_ns", *LINES, *texts))
    if not parts:
        return None
    whole = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    for name, kind in NEEDED.items():
        if name not in whole.columns:
            whole = whole.withColumn(name, functions.lit(None).cast(kind))
    return whole


def sessions(rows: Iterator[Row], names: Mapping[str, str], dialect: str | None = None) -> Iterable[tuple[Any, ...]]:
    """Yield rows of `fetch_sessions` from the rows of `fetches` for one server, sorted by ORDER. names: by topic id.
    dialect: with which the frames are decoded.
    """
    followed = Followed(names, dialect)
    for row in rows:
        followed.take(row)
        yield from followed.taken()
    yield from followed.close()


def sessions_of_batches(
    batches: Iterable[Any], names: Mapping[str, str], dialect: str | None
) -> Iterator[tuple[Any, ...]]:
    """Yield the same rows from record batches, sorted by server and ORDER."""
    followed = Followed(names, dialect)
    server: str | None = None
    for batch in batches:
        frames, columns = frames_of(batch), RowColumns(batch)
        stop = 0
        for each, rows in groupby(batch.column("server").to_pylist()):
            start, stop = stop, stop + sum(1 for _ in rows)
            if each != server:
                yield from followed.close()
                followed, server = Followed(names, dialect), each
            yield from followed.take_rows(columns, frames, start, stop)
    yield from followed.close()


def frames_of(batch: Any) -> FetchFrames:
    """Return the columns of fetches in the form that the core needs."""
    return FetchFrames(
        numbers_of(batch, "fetches", "uint8"),
        numbers_of(batch, "request_ns", "int64"),
        numbers_of(batch, "response_ns", "int64"),
        bytes_of(batch, "connection"),
        bytes_of(batch, "request"),
        bytes_of(batch, "response"),
        bytes_of(batch, "cuts"),
    )


class RowColumns:
    """The columns of a batch of fetches, for access to single rows that is faster than with Arrow's values."""

    def __init__(self, batch: Any) -> None:
        self.numbers = {
            name: numbers_of(batch, name, "int64") for name in ("completed_ns", "request_ns", "response_ns")
        }
        names = ("server", "connection", "request", "response", "cuts", "event")
        self.bytes = {name: bytes_of(batch, name) for name in names}
        self.columns = {name: batch.column(name) for name in ("response", "cuts", "event")}

    def row(self, number: int) -> Row:
        """Return a row in the form that `feed` needs."""
        made: Row = {name: int(values[number]) for name, values in self.numbers.items()}
        for name, (ends, data) in self.bytes.items():
            made[name] = bytes(data[ends[number] : ends[number + 1]])
        for name, column in self.columns.items():
            if column.null_count and not column[number].is_valid:
                made[name] = None
        for name in ("server", "connection", "event"):
            if made[name] is not None:
                made[name] = made[name].decode()
        if made["response"] is None:
            made["response_ns"] = None
        return made


def numbers_of(batch: Any, name: str, kind: str) -> Any:
    """Return a column of numbers; null values become arbitrary numbers."""
    import numpy

    column = batch.column(name)
    size = numpy.dtype(kind).itemsize
    return numpy.frombuffer(column.buffers()[1], kind, len(column), size * column.offset)


def bytes_of(batch: Any, name: str) -> tuple[Any, Any]:
    """Return where each row of a column of text or bytes begins and ends, and the bytes of all rows."""
    import numpy

    column = batch.column(name)
    _, ends, data = column.buffers()
    text = b"" if data is None else memoryview(data).cast("B")
    return numpy.frombuffer(ends, "int32", len(column) + 1, 4 * column.offset), text


class Followed:
    """The fetch sessions of one server. names: by topic id. dialect: with which the frames are decoded."""

    def __init__(self, names: Mapping[str, str], dialect: str | None) -> None:
        from kcli.capture.kafka.bodies import Bodies
        from kcli.sessions.feeder import Feeder
        from kcli.sessions.fetch_paths import new_kernel
        from kcli.sessions.tracker import Tracker

        self.ended: list[tuple[Any, ...]] = []
        self.tracker = Tracker(on_end=self.end, kernel=new_kernel(dialect))
        self.tracker.offsets.names |= names
        self.feeder, self.bodies = Feeder(self.tracker), Bodies(dialect, annotated=False)

    def end(self, session: ObservedSession) -> None:
        """Add the row of a session that has ended."""
        self.ended.append(session_row(session))

    def take(self, row: Row) -> None:
        """Take a row."""
        feed(self.feeder, row, self.bodies)

    def take_rows(self, columns: RowColumns, frames: FetchFrames, start: int, stop: int) -> Iterator[tuple[Any, ...]]:
        """Take these rows of a batch, and yield the sessions that end. The core takes the rows that it can."""
        while start < stop:
            start = self.tracker.kernel.offer_rows(frames, start, stop)
            if start < stop:
                self.take(columns.row(start))
                start += 1
            yield from self.taken()

    def taken(self) -> list[tuple[Any, ...]]:
        """Return the rows of sessions that have ended since the last call."""
        made, self.ended = self.ended, []
        return made

    def close(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that are left."""
        self.tracker.close()
        yield from self.taken()
        for each in self.tracker.sessionless.values():
            yield sessionless_row(each)


def feed(feeder: Any, row: Row, bodies: Any) -> None:
    """Feed one row to the tracker: frames, an event, or an exchange written by an older kcli."""
    server, connection = row["server"], row["connection"]
    if row["event"] is not None:
        feeder.event(Event(row["event"], connection, row["completed_ns"], 0, 0, ""))
    elif row.get("request_header") is not None:
        feeder.row(line_of(row))
    else:
        response = None if row["response"] is None else filled(row["response"], row["cuts"] or b"")
        link = Link(server, connection[len(server) + 1 :])
        feeder.exchange(Exchange(link, row["request_ns"], row["request"], row["response_ns"], response, bodies))


def line_of(row: Row) -> Row:
    """Return a row of `exchanges` as a line of `kcli decode pcap`."""
    return {
        "timestamp": row["timestamp"].isoformat(), "connection": row["connection"], "latencyMs": row["latency_ms"],
        "requestBytes": row["request_bytes"], "responseBytes": row["response_bytes"],
        "requestHeader": loads(row["request_header"]), "request": loads(row["request"] or "null"),
        "response": loads(row["response"] or "null"),
    }  # fmt: skip


def session_row(session: ObservedSession) -> tuple[Any, ...]:
    """Return the row of a session that has ended."""
    return (
        session.first_ns // NS_IN_US, session.server, session.connection, session.client_id, session.replica_id,
        session.version, session.session_id, session.opened_ns // NS_IN_US if session.since_start else None,
        session.end_ns // NS_IN_US if session.end_ns else None, session.end, bool(session.complete),
        session.first, session.most, session.last, *tallied(session), None, *latencies(session), errors_text(session),
        session.silent_count, session.findings,
    )  # fmt: skip


def sessionless_row(fetches: SessionlessFetches) -> tuple[Any, ...]:
    """Return the row of a client's fetches outside any session."""
    return (
        fetches.first_ns // NS_IN_US, fetches.server, None, fetches.client_id, fetches.replica_id,
        fetches.version, 0, None, fetches.last_ns // NS_IN_US, None, None, None, None, None, *tallied(fetches),
        fetches.not_granted, *latencies(fetches), errors_text(fetches), None, None,
    )  # fmt: skip


def tallied(fetches: FetchStatistics) -> tuple[int | None, ...]:
    """Return the columns from `fetches` to `full_response_bytes`."""
    wanted = fetches.full_request_bytes, fetches.full_response_bytes
    return (
        fetches.fetches, fetches.full, fetches.fetches - fetches.full, fetches.empty, fetches.unanswered,
        fetches.request_bytes, fetches.response_bytes, fetches.records_bytes,
        *(wanted if sum(wanted) else (None, None)),
    )  # fmt: skip


def latencies(fetches: FetchStatistics) -> Iterator[float | None]:
    """Yield p50 and p99, in ms."""
    for share in (0.5, 0.99):
        found = fetches.latencies.percentile(share)
        yield None if found is None else round(found, 3)


def errors_text(fetches: FetchStatistics) -> str | None:
    """Return the number of each error as JSON; None if there were no errors."""
    from kcli.sessions.draft_exchange import error_name

    counted = {error_name(code): count for code, count in sorted(fetches.errors.items())}
    return dumps(counted) if counted else None
