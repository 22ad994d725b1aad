"""The table `exchanges`: each column once, with the function that makes its values from the core's rows.

Each column here is in `kcli sql`, `decode pcap --format parquet`, `to_arrow()`, the pipeline and the documentation. A
new column needs only one entry.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kcli.core.codec.values import MISSING
from kcli.schemas.apikeys import FETCH, JOIN_GROUP, SHARE_FETCH, SYNC_GROUP
from kcli.schemas.errors import error_name
from kcli.schemas.field_codes import API_KEYS
from kcli.tables.arrays import Among, error_names, instants, integers, numbered, strings, texts
from kcli.tables.core_rows import CoreRows, turned
from kcli.tables.definition import Column, Table

CUT_REQUEST, CUT_RESPONSE = 1, 2  # in the core's rows: the snapshot length cuts off the request, the response
CLIENT = -1  # the replica id in a Fetch of a client
WAITS = ("max_wait_ms", "rebalance_timeout_ms")


class ExchangeArrays:
    """The source of the columns of exchanges. taken: from `ExchangeRows.take_columns`.

    name_of: returns an API's name by its key. files: makes the column `file` of rows. fields: the names of the message
    fields in `taken`.
    """

    def __init__(
        self,
        columns: dict[str, Any],
        name_of: Callable[[int], str | None],
        files: Callable[[CoreRows], Among] | None = None,
        fields: Sequence[str] = (),
    ) -> None:
        self.taken, self.name_of, self.files = columns, name_of, files
        self.rows = CoreRows.of(columns, "numbers")
        self.field_names = fields

    @cached_property
    def unanswered(self) -> Any:
        """Mask of the rows without a response; None if all have one."""
        missing = self.rows.response_bytes < 0
        return missing if missing.any() else None

    @cached_property
    def cut_off(self) -> Any:
        """Mask of the rows whose response the snapshot length cuts off before an error; None if all are whole."""
        import numpy

        cut = (self.rows.cut & CUT_RESPONSE) > 0
        return cut & (numpy.diff(numpy.frombuffer(self.taken["errors"][0], numpy.int32)) == 0) if cut.any() else None

    @cached_property
    def fields(self) -> list[Any]:
        """The values of message fields: an array of int64 for each field."""
        import numpy

        rows, _ = self.taken["fields"]
        return turned(numpy.frombuffer(rows, numpy.int64).reshape(-1, len(self.field_names)))

    def field(self, name: str) -> Any:
        """Return a message field by row; MISSING for no value."""
        return self.fields[self.field_names.index(name)]

    def number(self, name: str, kind: str) -> Any:
        """Return a message field that is a number, as an array of this type."""
        values = self.field(name)
        return integers(values, kind, values == MISSING)

    def word(self, name: str) -> Among:
        """Return a message field that is text."""
        places = self.field(name)
        return Among(strings(self.taken["fields"][1]), places, places == MISSING)

    def known_ms(self, values: Any) -> Any:
        """Return ns as a column of ms, rounded down to the microsecond; null for negative ones."""
        return integers(values // 1000 / 1000, "float64", values < 0)

    @cached_property
    def replicas(self) -> Any:
        """The replica id of each row; -1, a client, for a Fetch without one. A Fetch that is cut off may have one."""
        import numpy

        values = self.field("replica_id")
        whole = (self.rows.cut & CUT_REQUEST) == 0
        return numpy.where((self.rows.key == FETCH) & (values == MISSING) & whole, CLIENT, values)

    @cached_property
    def waits(self) -> Any:
        """The time (ms) that a request lets the broker wait, 0 for APIs that do not wait; MISSING if it is unknown.

        Throttling is no such wait: brokers answer first, and then read no request of the connection for that time
        (KIP-219).
        """
        import numpy

        keys = self.rows.key
        fetches = numpy.isin(keys, (FETCH, SHARE_FETCH))
        limits = numpy.where(fetches, self.field("max_wait_ms"), self.field("rebalance_timeout_ms"))
        waits = numpy.where(limits == MISSING, MISSING, numpy.maximum(limits, 0))
        return numpy.where(fetches | (keys == JOIN_GROUP), waits, numpy.where(keys == SYNC_GROUP, MISSING, 0))

    def broker_ms(self) -> Any:
        """Return the time (ms) at the broker, beyond the wait that the request allows."""
        import numpy

        transfer = numpy.maximum(self.rows.response_transfer, 0) // 1000
        spent = self.rows.latency - transfer - 1000 * numpy.maximum(self.waits, 0)
        unknown = (self.rows.response_bytes < 0) | (self.waits == MISSING)
        return integers(numpy.maximum(spent, 0) / 1000, "float64", unknown)

    def link(self, name: str) -> Among:
        """Return a text of each row's connection. name: "links" for its name, "ends" for the client's end."""
        return Among(strings(self.taken[name]), self.rows.link)

    def end(self, names: str, of: str) -> Among:
        """Return a text that several connections share. names: the texts; of: the index of each connection's text."""
        import numpy

        return Among(strings(self.taken[names]), numpy.frombuffer(self.taken[of], numpy.int32)[self.rows.link])

    def text(self, name: str) -> Any:
        """Return a column of JSON that the core has written; null for empty text."""
        import numpy

        ends = numpy.frombuffer(self.taken[name][0], numpy.int32)
        return strings(self.taken[name], ends[1:] == ends[:-1])

    def api(self) -> Among:
        """Return the name of each row's API; null for an unknown API."""
        keys = self.rows.key
        return numbered([*map(self.name_of, range(API_KEYS)), None], self.known(keys))

    @staticmethod
    def known(keys: Any) -> Any:
        """Return API keys, with API_KEYS in place of keys that Kafka does not have."""
        import numpy

        return numpy.where((keys < 0) | (keys >= API_KEYS), API_KEYS, keys)

    def broker_address(self) -> Among:
        """Return the broker's address, without port and brackets."""
        import numpy

        servers, places, _ = self.end("servers", "server_of")
        found: dict[str, int] = {}  # each address once
        numbers = [found.setdefault(address_of(end), len(found)) for end in servers.to_pylist()]
        return Among(texts(found), numpy.array(numbers, numpy.int32)[places])

    def errors(self) -> Any:
        """Return the names of each row's errors; null if they are unknown."""
        ends, codes = self.taken["errors"]
        return error_names(ends, codes, self.cut_off)

    def error(self) -> Among:
        """Return each row's first error; null without errors."""
        import numpy

        ends, codes = map(numpy.frombuffer, self.taken["errors"], (numpy.int32, numpy.int64))
        missing = ends[:-1] == ends[1:]
        found, of_code = numpy.unique(codes[ends[:-1][~missing]], return_inverse=True)
        places = numpy.zeros(len(missing), numpy.int32)
        places[~missing] = of_code
        return Among(texts(map(error_name, found.tolist())), places, missing)

    def file(self) -> Among:
        """Return the file of each row; null if unknown."""
        import numpy

        none = numpy.zeros(self.rows.count, bool)
        return Among(texts([]), none, ~none) if self.files is None else self.files(self.rows)


def address_of(end: str) -> str:
    """Return the address of an end, without port and brackets."""
    return end.rpartition(":")[0].strip("[]")


@dataclass(frozen=True, slots=True)
class ExchangeColumn(Column):
    """make: returns the column as an Arrow array, or as Among. fields: the message fields that it is made from."""

    make: Callable[[ExchangeArrays], Any] = lambda made: None
    fields: tuple[str, ...] = ()

    def array(self, made: ExchangeArrays, kind: Any) -> Any:
        """Return the column as an Arrow array. kind: the column's type, or a dictionary of texts."""
        found = self.make(made)
        return found.array(kind) if isinstance(found, Among) else found


def column(
    name: str, kind: str, text: str, make: Callable[[ExchangeArrays], Any], fields: tuple[str, ...] = ()
) -> ExchangeColumn:
    """Define a column. kind: as of a Column, followed by ? if nullable."""
    return ExchangeColumn(name, kind.rstrip("?"), text, kind.endswith("?"), make, fields)


def field(name: str, kind: str, text: str) -> ExchangeColumn:
    """Define a column that is the message field of the same name."""
    if kind == "string?":
        return column(name, kind, text, lambda of: of.word(name), (name,))
    return column(name, kind, text, lambda of: of.number(name, kind.rstrip("?")), (name,))


# The columns with which all tables of exchanges begin.
LEADING_COLUMNS = (
    column("timestamp", "instant", "", lambda of: instants(of.rows.ts)),
    column("connection", "string", "", lambda of: of.link("links")),
    column("server", "string", "", lambda of: of.end("servers", "server_of")),
    column("client", "string", "", lambda of: of.link("ends")),
    column(
        "client_id", "string?", "",
        lambda of: Among(strings(of.taken["clients"]), of.rows.client, of.rows.client < 0),
    ),
    column("correlation_id", "int32", "", lambda of: integers(of.rows.correlation_id, "int32")),
    column("api_version", "int16", "", lambda of: integers(of.rows.version, "int16")),
)  # fmt: skip
EXCHANGES = Table("exchanges", "Every request with its response.", (
    *LEADING_COLUMNS,
    column("api_key", "int16", "", lambda of: integers(of.rows.key, "int16")),
    column(
        "api", "string?", "the API's name, as in a broker's log: PRODUCE; null for an unknown number",
        ExchangeArrays.api,
    ),
    column("request_header", "string", "JSON: the request's header", lambda of: strings(of.taken["header"])),
    column(
        "request", "string?", "JSON: the request; null: it is cut off, or could not be decoded",
        lambda of: of.text("request"),
    ),
    column(
        "response", "string?", "JSON: the response; null: there is none, or it is cut off",
        lambda of: of.text("response"),
    ),
    column(
        "request_bytes", "int64", "with header and length", lambda of: integers(of.rows.request_bytes, "int64")
    ),
    column(
        "response_bytes", "int64?", "with header and length; null without a response",
        lambda of: integers(of.rows.response_bytes, "int64", of.unanswered),
    ),
    column("latency_ms", "float64?", "", lambda of: integers(of.rows.latency / 1000, "float64", of.unanswered)),
    column(
        "errors", "strings?",
        "names of the error codes in the response, each once; null: unknown, as it is not whole in the capture",
        ExchangeArrays.errors,
    ),
    column(
        "completed_ns", "int64",
        "ns since 1970 of the packet that completed it, or when kcli gave up; the order of `kcli decode pcap`",
        lambda of: integers(of.rows.completed, "int64"),
    ),
    column("error", "string?", "the first of `errors`, null without one, or if they are unknown", ExchangeArrays.error),
    column("broker_address", "string", "", ExchangeArrays.broker_address),
    column("client_address", "string", "", lambda of: of.end("addresses", "address_of")),
    column("file", "string", "", ExchangeArrays.file),
    column(
        "request_transfer_ms", "float64?",
        "from the request's first packet to its last; null: the first was not captured",
        lambda of: of.known_ms(of.rows.request_transfer),
    ),
    column(
        "response_transfer_ms", "float64?", "from the response's first packet to its last; null without a response",
        lambda of: of.known_ms(of.rows.response_transfer),
    ),
    column(
        "broker_ms", "float64?",
        "from the request's last packet to the response's first, minus wait_ms (not below 0); with the rest of the "
        "preceding response's throttle_ms, for which brokers read nothing (KIP-219; before 2.0 they held the throttled "
        "response itself back); null without a response, or if wait_ms is",
        ExchangeArrays.broker_ms, WAITS,
    ),
    column(
        "wait_ms", "int64?",
        "longest time that the request lets the broker wait: a Fetch's or ShareFetch's max_wait_ms, a JoinGroup's "
        "rebalance timeout, 0 for others; null: cut off, or a SyncGroup, which waits for another member",
        lambda of: integers(of.waits, "int64", of.waits == MISSING), WAITS,
    ),
    column(
        "client_pause_ms", "float64?",
        "from the preceding response on the connection to the request's first packet; null: other requests were "
        "in flight, or it is the first",
        lambda of: of.known_ms(of.rows.pause),
    ),
    column(
        "in_flight", "int32?", "other open requests of the connection when this one was complete",
        lambda of: integers(of.rows.in_flight, "int32", of.rows.in_flight < 0),
    ),
    field("acks", "int16?", "of a Produce; 0: no acknowledgement, 1: by the leader, -1: by all in-sync replicas"),
    field("min_bytes", "int32?", "of a Fetch or ShareFetch: the bytes for which the broker waits"),
    field("max_wait_ms", "int32?", "of a Fetch or ShareFetch: the longest time that it waits for them"),
    field("throttle_ms", "int32?", ""),
    field("group_id", "string?", "the request's group"),
    field(
        "transactional_id", "string?",
        "of the request; null also for a broker's AddPartitionsToTxn (v4 and later), which has several transactions",
    ),
    column(
        "replica_id", "int32?",
        "node id of the requesting broker or controller; -1: a client; null: the request has no such field, or is cut "
        "off before it",
        lambda of: integers(of.replicas, "int32", of.replicas == MISSING), ("replica_id",),
    ),
))  # fmt: skip
EXCHANGE_COLUMNS: tuple[ExchangeColumn, ...] = tuple(
    each for each in EXCHANGES.columns if isinstance(each, ExchangeColumn)
)
BY_NAME = {each.name: each for each in EXCHANGE_COLUMNS}


def arrays_of(made: ExchangeArrays, names: Iterable[str], schema: Any) -> list[Any]:
    """Return the columns of these names as Arrow arrays. schema: has their types."""
    return [BY_NAME[name].array(made, schema.field(name).type) for name in names]


def fields_of_columns(names: Iterable[str]) -> tuple[str, ...]:
    """Return the message fields from which columns of these names are made."""
    found = (BY_NAME[name].fields for name in names if name in BY_NAME)
    return tuple(dict.fromkeys(field for fields in found for field in fields))


def names_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of columns."""
    return tuple(each.name for each in columns)
