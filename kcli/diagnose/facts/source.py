"""Captures into the tables that rules read, in one pass: those of the pipeline, those of `definitions`, and TCP's."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from kcli.core.capture.tcp_facts import TcpFacts
from kcli.diagnose.facts.definitions import DIAGNOSIS_FACTS
from kcli.diagnose.facts.groups import put_commit, put_leave, put_member_call
from kcli.diagnose.facts.metadata import MetadataRows
from kcli.diagnose.facts.tcp import tcp_batch
from kcli.diagnose.facts.transactions import put_sasl_call, put_topic_changes, put_transaction_call
from kcli.pipeline.row_source import RowSource
from kcli.pipeline.rows import MAKERS, Maker
from kcli.schemas import apikeys

PIPELINED = frozenset({
    "exchange_facts", "fetch_partitions", "produce_partitions", "record_batches", "undecodable", "topic_names",
    "logins",
})  # fmt: skip
WANTED = PIPELINED | frozenset(DIAGNOSIS_FACTS)
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


class FactSource(RowSource):
    """Captures whose rows go to a store. options: of DecodeOptions."""

    def __init__(self, paths: Sequence[str], store: Store, **options: Any) -> None:
        self.store = store
        self.servers: set[str] = set()
        self.makers = makers()
        super().__init__(self.put_row, WANTED, self.put_columns, paths, **options)
        self.tcp, self.ports = TcpFacts(), frozenset(options.get("ports", ()))
        self.engine.count_tcp(self.tcp)

    def put_row(self, table: str, row: tuple[Any, ...]) -> None:
        """Give the store a row that is wanted."""
        if table in WANTED:
            self.store.put(table, row)

    def put_columns(self, table: str, _day: int, batch: Any, _nameless: bool) -> None:
        """Give the store rows that are columns already."""
        if table == "exchange_facts":
            self.servers.update(batch.column("server").dictionary.to_pylist())
        if table in WANTED:
            self.store.put_batch(table, batch)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files piece by piece. InputError at the end for damaged files."""
        try:
            for _ in super().read(moved):
                if len(self.tcp) > TCP_ROWS:
                    self.put_tcp()
                yield
        finally:
            self.flush(last=True)
            self.put_tcp(last=True)
            self.put_software()

    def put_tcp(self, last: bool = False) -> None:
        """Give the store what TCP says of connections."""
        ends, numbers = self.tcp.take(last)
        batch = tcp_batch(ends, numbers, self.servers, self.ports)
        if batch.num_rows:
            self.store.put_batch("tcp", batch)

    def put_software(self) -> None:
        """Give the store what clients and brokers said in ApiVersions."""
        offers: dict[tuple[str, int, int], None] = {}
        for connection, talk in self.rows.uses.talks.items():
            self.store.put("software", (connection, talk.software, talk.version))
            server = connection.partition("-")[0]
            offers |= dict.fromkeys((server, key, newest) for key, newest in talk.offered.items())
        for server, key, newest in offers:
            self.store.put("offers", (server, self.bodies.name(key) or str(key), newest))


def makers() -> dict[int, Maker]:
    """What puts the rows of each API."""
    of_metadata = MetadataRows().put
    return {
        **MAKERS,
        **dict.fromkeys(OF_MEMBERS, put_member_call),
        **dict.fromkeys(OF_TRANSACTIONS, put_transaction_call),
        **dict.fromkeys((apikeys.METADATA, apikeys.FIND_COORDINATOR), of_metadata),
        **dict.fromkeys((apikeys.SASL_HANDSHAKE, apikeys.SASL_AUTHENTICATE), put_sasl_call),
        **dict.fromkeys((apikeys.CREATE_TOPICS, apikeys.DELETE_TOPICS), put_topic_changes),
        apikeys.LEAVE_GROUP: put_leave,
        apikeys.OFFSET_COMMIT: put_commit,
    }
