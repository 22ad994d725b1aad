"""The embedded broker: a small Kafka in this process, one node or several, with real logs on disk.

    async with Broker(data=Path("data"), config={"num.partitions": "3"}) as broker:
        ... broker.bootstrap ...

All nodes share one set of logs. Only a partition's leader serves it; followers have no copies.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kcli.broker.clock import Clock
from kcli.broker.configs import Configs, racks_of
from kcli.broker.datadir import DataDir
from kcli.broker.faults import FaultRule, Faults
from kcli.broker.fetch.purgatory import CapturedMoment
from kcli.broker.metadata.controller import Controller
from kcli.broker.metadata.coordinators import Coordinators
from kcli.broker.metadata.log import MetadataLog
from kcli.broker.metadata.replicas import Replicas
from kcli.broker.metadata.topics import Topics
from kcli.broker.net.connection import Connection
from kcli.broker.net.listening import Gate, most_connections
from kcli.broker.net.memory_quota import Intake
from kcli.broker.net.protocols import advertised, read_listeners
from kcli.broker.node import Node
from kcli.broker.partition import Partition, Topic
from kcli.broker.security.protection import Protection, default_listener
from kcli.broker.security.security import Security
from kcli.client.address import WILDCARDS
from kcli.errors import KcliError, UsageError
from kcli.legible import host_port
from kcli.records.acceptance import RefusedError
from kcli.schemas.catalog import catalog
from kcli.sessions.epochs import SHARDS
from kcli.topic_names import CONSUMER_OFFSETS, SHARE_STATE, TRANSACTION_STATE

if TYPE_CHECKING:
    from kcli.broker.control.control import Control
    from kcli.broker.groups.coordinator import Groups
    from kcli.broker.mock_rules import Answers
    from kcli.broker.transactions.coordinator import Transactions

SWEEP_SECONDS = 30.0
# The most complaints that are logged within SWEEP_SECONDS.
MOST_COMPLAINTS = 20


class Broker:
    """A cluster of one or more nodes, which runs between `start` and `stop` (`async with`).

    data: the folder of its logs, None for a temporary one. config: broker configs by Kafka's names.
    host, port: the address of the first node; the others have the ports after it. port 0: any free ports.
    listeners: of each node ("SSL:9093"); by default the one that the protection requires. `port` is for the first one.
    nodes: the number of nodes; node_ids: their ids, by default node.id and the numbers after it.
    faults: rules (`faults`); seed: for their random choices.
    dialect: message definitions for clients that use it. answers: rules that answer requests (`mock_rules`).
    release: serve only the API versions of that Kafka release's brokers ("2.8").
    note: called with each line of the broker's log. protection: TLS and users, by default neither.

    Raises UsageError for an invalid option, and SchemaError for an invalid dialect.
    """

    def __init__(  # noqa: PLR0913
        self,
        data: Path | None = None,
        *,
        config: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        nodes: int = 1,
        node_ids: Sequence[int] | None = None,
        faults: Iterable[str | FaultRule] = (),
        seed: int | None = None,
        dialect: str | None = None,
        release: str | None = None,
        answers: Iterable[Mapping[str, Any]] = (),
        note: Callable[[str], None] | None = None,
        protection: Protection | None = None,
        listeners: Iterable[str] = (),
    ) -> None:
        if nodes < 1:
            raise UsageError(f"a cluster of {nodes} nodes: 1 or more expected")
        self.configs = Configs(config)
        self.host = host
        first = self.configs.int("node.id")
        self.node_ids = list(node_ids or range(first, first + nodes))
        self.racks = racks_of(self.configs, len(self.node_ids))
        self.faults = Faults(faults, seed, dialect)
        catalog(dialect)  # raises an error for an invalid dialect now, not at the first request
        self.dialect, self.release = dialect, None if release is None else catalog().release(release)
        self.answers = answers_of(list(answers), dialect)
        self.hints = True
        self.shares_coordinators = False
        self.session_shards = SHARDS
        self.on_note = note
        self.protection = protection or Protection()
        first_one, *others = read_listeners(listeners) or [default_listener(self.configs, self.protection)]
        self.listeners = [first_one._replace(port=first_one.port or port), *others]
        self.advertised = advertised(self.configs.text("advertised.listeners"), self.listeners)
        self.intake: Intake[Connection] = Intake()
        self._complaints = 0
        self._cleaner: Iterator[None] | None = None
        self._mentioned: set[str] = set()
        self.control: Control | None = None
        self._data = data
        self.nodes: list[Node] = []
        self._groups: Groups | None = None
        self._transactions: Transactions | None = None

    # --- life

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Recover the logs and start to listen.

        Raises OSError if the folder can't be used, and NetworkError if a port is taken.
        """
        self.clock = Clock()
        self._groups = self._transactions = None
        for name in self.configs.without_effect():
            self.mention(f"config {name} has no effect here")
        self.directory = DataDir(self._data, self.configs, self.complain)
        try:
            self.cluster_id = self.directory.cluster_id
            folder, clean, lasting = self.directory.path, self.directory.clean, self.directory.lasting
            self.topics = Topics(folder, self.configs, clean=clean, lasting=lasting, note=self.complain)
            self.gate = Gate(most_connections(self.topics.pool.limit), self.complain)
            self.replicas = Replicas(self.topics, self.clock, self.now)
            first, configs = self.node_ids[0], self.configs
            self.metadata = MetadataLog(first, self.directory, configs, self.replicas, self.complain)
            self.metadata.replay()
            self.security = Security(
                configs, self.protection, self.listeners, self.metadata.security, self.clock, self.host
            )
            self.topics.tell_strays()
            self.controller = Controller(
                self.node_ids, configs, self.topics, self.metadata, self.replicas, self.mention
            )
            self.coordinators = Coordinators(self.controller, shared=self.shares_coordinators)
            self._load_kept()
            self.topics.on_delete = self._forget_topic
            for number, node_id in enumerate(self.node_ids):
                await self._start_node(node_id, number)
            self.metadata.register(self.nodes)
            self.controller.keep_min_in_sync()
            self.metadata.secure(self.security.first_credentials())
            if not self.shares_coordinators:
                self.controller.settle_all()
        except BaseException:
            await self.stop()
            raise
        self.clock.every(lambda: SWEEP_SECONDS, self._sweep)
        self.clock.every(lambda: max(self.configs.int("log.cleaner.backoff.ms"), 1) / 1000, self._clean)
        self.clock.every(lambda: self.configs.int("log.retention.check.interval.ms") / 1000, self.replicas.retain)

    async def _start_node(self, node_id: int, number: int) -> None:
        wanted = (each._replace(port=each.port and each.port + number) for each in self.listeners)
        node = Node(self, node_id, self.host, wanted, self.racks[number])
        await node.start()
        self.nodes.append(node)
        self.replicas.listeners.append(node.changed)

    async def stop(self) -> None:
        """Close all connections, write indexes and checkpoints, and unlock the folder."""
        if hasattr(self, "clock"):
            self.clock.close()
        self._cleaner = None
        nodes, self.nodes = self.nodes, []
        for each in nodes:
            await each.stop()
        if self._transactions is not None:
            self._transactions.close()
        if self._groups is not None:
            self._groups.close()
        if hasattr(self, "topics"):
            self.topics.close()
        self.directory.close()

    def _clean(self) -> None:
        """Start to clean compacted logs, unless that is in progress. It is done in small steps between requests."""
        if not self.configs.bool("log.cleaner.enable") or self._cleaner is not None:
            return
        self._cleaner = self.replicas.clean()
        self.clock.loop.call_soon(self._clean_on)

    def _clean_on(self) -> None:
        try:
            if self._cleaner is not None:
                next(self._cleaner)
                self.clock.loop.call_soon(self._clean_on)
        except StopIteration:
            self._cleaner = None
        except (OSError, KcliError) as error:
            self._cleaner = None
            self.complain(f"compaction: {error}")

    def _sweep(self) -> None:
        """Close idle connections."""
        self._forget_complaints()
        idle = self.configs.int("connections.max.idle.ms")
        for node in self.nodes if idle >= 0 else ():
            node.close_idle(idle / 1000)

    # --- for nodes and handlers

    @property
    def groups(self) -> Groups:
        """The consumer groups. They are loaded at the first use, so that a broker without any starts faster."""
        if self._groups is None:
            from kcli.broker.groups.coordinator import Groups

            self._groups = Groups(self.controller, self.complain)
        return self._groups

    @property
    def transactions(self) -> Transactions:
        """The transactions. They are loaded at the first use, like the groups."""
        if self._transactions is None:
            from kcli.broker.transactions.coordinator import Transactions

            self._transactions = Transactions(self.controller, self.groups, self.complain)
        return self._transactions

    def _load_kept(self) -> None:
        """Load the groups and transactions that an earlier run stored, which starts their timers."""
        if CONSUMER_OFFSETS in self.topics.by_name or SHARE_STATE in self.topics.by_name:
            _ = self.groups
        if TRANSACTION_STATE in self.topics.by_name:
            _ = self.transactions

    def complain(self, text: str) -> None:
        """Log a line about a client or a damaged file. After MOST_COMPLAINTS lines within SWEEP_SECONDS they are only
        counted.
        """
        self._complaints += 1
        if self._complaints <= MOST_COMPLAINTS:
            self.note(text)
        if self._complaints == MOST_COMPLAINTS:
            self.note(f"more of this within {SWEEP_SECONDS:.0f} s is counted only")

    def note(self, text: str) -> None:
        """Write a line to the broker's log."""
        if self.on_note is not None:
            self.on_note(text)

    def mention(self, text: str) -> None:
        """Write a line to the broker's log, the first time only."""
        if text not in self._mentioned:
            self._mentioned.add(text)
            self.note(text)

    def _forget_complaints(self) -> None:
        if self._complaints > MOST_COMPLAINTS:
            self.note(f"{self._complaints - MOST_COMPLAINTS} more such lines in {SWEEP_SECONDS:.0f} s")
        self._complaints = 0

    def fetch_gate(self) -> Awaitable[CapturedMoment] | None:
        """Return an event that a fetch waits for before it reads, None for no wait. A rebuilt capture has one."""
        return None

    def now(self) -> int:
        """Return ms since 1970, by the broker's clock."""
        return self.clock.now()

    @property
    def bootstrap(self) -> str:
        """The bootstrap.servers for clients: the nodes' first listeners as "host:port", separated by commas."""
        return self.bootstrap_of(self.listeners[0].name)

    def bootstrap_of(self, listener: str) -> str:
        """Return the bootstrap.servers of a listener."""
        hosts = ("127.0.0.1" if each.host in WILDCARDS else each.host for each in self.nodes)
        ports = (each.listeners[listener].port for each in self.nodes)
        return ",".join(map(host_port, hosts, ports))

    def node(self, node_id: int) -> Node | None:
        """Return the node with this id; None if there is none."""
        return next((each for each in self.nodes if each.id == node_id), None)

    def endpoints(self, reached: str, listener: str) -> list[dict[str, Any]]:
        """Return the nodes' addresses for a client that reached the broker by this host and listener.

        Nodes that do not run are left out. advertised.listeners has the first node's host and port; the others have the
        ports after it. Else a node that listens on all addresses has the host that the client reached.
        """
        named = self.advertised.get(listener)
        rows = []
        for number, each in enumerate(self.nodes):
            if each.id not in self.controller.running:
                continue
            host, port = reached if each.host in WILDCARDS else each.host, each.listeners[listener].port
            if named is not None:
                host, port = named[0], named[1] + number
            rows.append({"nodeId": each.id, "host": host, "port": port, "rack": each.rack})
        return rows

    def _forget_topic(self, topic: Topic) -> None:
        if self._groups is not None:
            self._groups.forget_topic(topic.name, topic.id)

    # --- changes, as users make them

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        *,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
        assignment: list[tuple[int, ...]] | None = None,
    ) -> Topic:
        """Create a topic; defaults come from the broker's configs. Raises UsageError if Kafka would refuse the topic.

        assignment: the node ids of each partition's replicas, the leader first.
        """
        from kcli.broker.metadata.new_topics import BY_DEFAULT, NewTopic, NewTopics

        assignments = dict(enumerate(assignment or ()))
        new = NewTopic(
            name,
            BY_DEFAULT if partitions is None else partitions,
            BY_DEFAULT if replication is None else replication,
            configs or {},
            assignments,
        )
        try:
            if BY_DEFAULT in (partitions, replication):
                raise RefusedError("INVALID_PARTITIONS", "-1 partitions or copies: 1 or more expected")
            replicas = NewTopics(self.controller).check(new)
        except RefusedError as refused:
            raise UsageError(f"topic {name}: {refused}") from None
        return self.controller.create_topic(name, replicas, new.configs)

    def move_leader(self, partition: Partition, node_id: int) -> None:
        """Make another node the leader of this partition, with a new leader epoch. Raises UsageError if that node does
        not run.
        """
        if node_id not in self.controller.running:
            raise UsageError(f"node {node_id} does not run; there are {sorted(self.controller.running)}")
        if node_id not in partition.replicas:
            self.controller.reassign({partition: (node_id, *partition.replicas[1:])})
        if partition.leader != node_id:
            self.controller.move_leaders({partition: node_id})

    async def stop_node(self, node_id: int) -> None:
        """Stop a node: its connections close, and other nodes become leaders. Raises UsageError if it does not run."""
        node = self.node(node_id)
        if node is None or node_id not in self.controller.running:
            raise UsageError(f"node {node_id} does not run; there are {sorted(self.controller.running)}")
        await node.stop()
        self.controller.node_stopped(node_id)

    async def start_node(self, node_id: int) -> None:
        """Start a stopped node again, at its former address.

        Raises UsageError if no such node is stopped, and NetworkError if its port is taken.
        """
        node = self.node(node_id)
        if node is None or node_id in self.controller.running:
            raise UsageError(f"node {node_id} is not a stopped node; there are {self.node_ids}")
        await node.start()
        self.controller.node_started(node_id)

    async def start_nodes(self) -> None:
        """Start all stopped nodes again. Raises NetworkError if a port is taken."""
        for each in [one for one in self.node_ids if one not in self.controller.running]:
            await self.start_node(each)

    async def reset(self) -> None:
        """Delete all topics, groups, transactions and fault rules; start all stopped nodes."""
        await self.start_nodes()
        self.faults.clear()
        if self._transactions is not None:
            self._transactions.forget()
        if self._groups is not None:
            self._groups.forget()
        for topic in list(self.topics):
            self.controller.delete_topic(topic)


def answers_of(rules: list[Mapping[str, Any]], dialect: str | None) -> Answers | None:
    """Return the rules that answer requests, None if there are none. Their module is imported only if needed."""
    if not rules:
        return None
    from kcli.broker.mock_rules import Answers

    return Answers(rules, dialect)
