"""Captures into the tables that rules read, in one pass: those of the pipeline, those of `definitions`, and TCP's."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from kcli.core.capture.tcp_facts import TcpFacts
from kcli.diagnose.facts.definitions import CALLS, DIAGNOSIS_FACTS
from kcli.diagnose.facts.groups import put_commit, put_leave, put_member_call
from kcli.diagnose.facts.metadata import MetadataRows
from kcli.diagnose.facts.sayings import Sayings
from kcli.diagnose.facts.tcp import tcp_batch
from kcli.diagnose.facts.transactions import put_sasl_call, put_topic_changes, put_transaction_call
from kcli.pipeline.rows.row_source import RowSource
from kcli.pipeline.rows.single_rows import Maker
from kcli.schemas import apikeys

PIPELINED = frozenset({
    "exchange_facts", "fetch_partitions", "produce_partitions", "record_batches", "undecodable", "topic_names",
    "logins",
})  # fmt: skip
STORED = PIPELINED | frozenset(DIAGNOSIS_FACTS)
WANTED = STORED | frozenset(CALLS)
OF_MEMBERS = (
    apikeys.JOIN_GROUP, apikeys.SYNC_GROUP, apikeys.HEARTBEAT, apikeys.CONSUMER_GROUP_HEARTBEAT,
)  # fmt: skip
OF_TRANSACTIONS = (
    apikeys.INIT_PRODUCER_ID, apikeys.ADD_PARTITIONS_TO_TXN, apikeys.ADD_OFFSETS_TO_TXN, apikeys.END_TXN,
    apikeys.TXN_OFFSET_COMMIT,
)  # fmt: skip
TCP_ROWS = 5000


class Store(Protocol):
    """Takes rows."""

    def put(self, table: str, row: tuple[Any, ...]) -> None: ...
    def put_batch(self, table: str, batch: Any) -> None: ...
    def flush(self) -> None: ...


class FactSource(RowSource):
    """Captures whose rows go to a store. options: of DecodeOptions."""

    def __init__(self, paths: Sequence[str], store: Store, **options: Any) -> None:
        self.store = store
        self.servers: set[str] = set()
        self.makers = makers()
        self.sayings = Sayings(store.put, store.put_batch)
        super().__init__(self.put_row, WANTED, self.put_columns, paths, **options)
        self.tcp, self.ports = TcpFacts(), frozenset(options.get("ports", ()))
        self.engine.count_tcp(self.tcp)

    def put_row(self, table: str, row: tuple[Any, ...]) -> None:
        """Give the store a row that is wanted."""
        if table in CALLS:
            self.sayings.put_said(table, row)
        elif table in STORED:
            self.store.put(table, row)

    def more(self, link: bytes, *exchange: Any) -> None:
        """See RowSource. What was said before is not read again."""
        key, _version, ns, request, answered, response, *_ = exchange
        if self.sayings.is_new(key, link, request, response):
            super().more(link, *exchange)
        self.sayings.note(link, request, ns, answered)

    def put_columns(self, table: str, _day: int, batch: Any, _nameless: bool) -> None:
        """Give the store rows that are columns already."""
        if table == "exchange_facts":
            self.servers.update(batch.column("server").dictionary.to_pylist())
        if table in STORED:
            self.store.put_batch(table, batch)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files piece by piece. InputError at the end for damaged files."""
        try:
            for _ in super().read(moved):
                if len(self.tcp) > TCP_ROWS:
                    self.put_tcp()
                yield
        finally:
            self.put_all(last=True)
            self.put_software()

    def put_all(self, last: bool = False) -> None:
        """Give the store what was read so far. last: also what more packets might add to."""
        self.flush(last)
        self.put_tcp(last)
        self.sayings.flush()
        self.store.flush()

    def put_tcp(self, last: bool = False) -> None:
        """Give the store what TCP says of connections."""
        ends, numbers = self.tcp.take(last)
        batch = tcp_batch(ends, numbers, self.servers, self.ports)
        if batch.num_rows:
            self.store.put_batch("tcp", batch)

    def put_software(self) -> None:
        """Give the store what clients and brokers said of themselves in ApiVersions."""
        voices = {(link.partition("-")[0], id(talk)): talk for link, talk in self.rows.uses.talks.items()}
        for row in {(talk.software, talk.version) for talk in voices.values() if talk.software}:
            self.store.put("software", row)
        offered = {(server, *each) for (server, _), talk in voices.items() for each in talk.offered.items()}
        for server, key, newest in sorted(offered):
            self.store.put("offers", (server, self.bodies.name(key) or str(key), newest))


def makers() -> dict[int, Maker]:
    """What puts the rows of each API."""
    of_metadata = MetadataRows().put
    return {
        **dict.fromkeys(OF_MEMBERS, put_member_call),
        **dict.fromkeys(OF_TRANSACTIONS, put_transaction_call),
        **dict.fromkeys((apikeys.METADATA, apikeys.FIND_COORDINATOR), of_metadata),
        **dict.fromkeys((apikeys.SASL_HANDSHAKE, apikeys.SASL_AUTHENTICATE), put_sasl_call),
        **dict.fromkeys((apikeys.CREATE_TOPICS, apikeys.DELETE_TOPICS), put_topic_changes),
        apikeys.LEAVE_GROUP: put_leave,
        apikeys.OFFSET_COMMIT: put_commit,
    }
