"""An embedded broker for code that is not asynchronous: it runs in a thread of its own.

with embedded_broker(nodes=3) as kafka:
    kafka.create_topic("orders", 6)
    with kafka.fault(api="Produce", topic="orders", error="NOT_LEADER_OR_FOLLOWER", count=2) as fault:
        ...  # a producer at kafka.bootstrap_servers
        fault.wait(hits=2)
    assert kafka.records("orders")
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kcli.arguments import need, texts
from kcli.broker.broker import Broker
from kcli.broker.control import records as stored
from kcli.broker.control.awaited import check_state, group_lacks, topic_lacks
from kcli.broker.control.broker_thread import BrokerThread
from kcli.broker.control.client_request import ClientRequest
from kcli.broker.control.handles import (
    WAIT_SECONDS,
    BrokerClock,
    FaultHandle,
    Handle,
    WatchHandle,
    fault_text,
    wait_until,
)
from kcli.broker.control.records import RecordLike, StoredRecord
from kcli.broker.control.watches import Callback, Filter, Interception, Watch
from kcli.broker.partition import Partition, Topic
from kcli.broker.security.protection import Protection
from kcli.errors import UsageError
from kcli.java_properties import java_text
from kcli.schemas.field_codes import NO_LEADER

if TYPE_CHECKING:
    from kcli.broker.control.admin_port import AdminPort

H = TypeVar("H", bound=Handle)


class EmbeddedBroker(BrokerThread):
    """A broker that runs within a `with` block.

    bootstrap_servers: each node's "127.0.0.1:port", separated by commas; "" while the broker does not run.
    clock: the broker's clock, which `advance` sets forward. notes: the lines of the broker's log.
    """

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.clock = BrokerClock(self)
        self.notes: list[str] = []
        self.prefix = ""
        self._mine: list[Handle] = []

    def __repr__(self) -> str:
        return f"<EmbeddedBroker {self.bootstrap_servers or 'not running'}>"

    def admin_port(self, port: int = 0) -> AdminPort:
        """Return an admin port, by which programs in other languages control the broker within the port's `with` block.

        Its `address` is "HOST:PORT"; `kcli broker ctl ADDRESS` shows the commands. Raises NetworkError if it can't
        listen.
        """
        from kcli.broker.control.admin_port import AdminPort
        from kcli.broker.control.commands import COMMANDS, Commands

        return AdminPort(Commands(self).run, list(COMMANDS), port)

    @property
    def listeners(self) -> dict[str, str]:
        """Return the bootstrap servers by the name of the listener."""
        return self.call(lambda broker: {each.name: broker.bootstrap_of(each.name) for each in broker.listeners})

    @property
    def ca_certificate(self) -> str:
        """Return the certificate (PEM) of the CA that was made for the listeners (tls=True), "" if none was."""
        return self.call(lambda broker: broker.security.tls.ca_certificate)

    # --- topics and records

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        *,
        replication: int | None = None,
        configs: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a topic; defaults come from the broker's configs. Raises UsageError if Kafka would refuse the
        topic.
        """
        need("name", name, str, "text")
        for argument, count in (("partitions", partitions), ("replication", replication)):
            need(argument, 1 if count is None else count, int, "a number")
        need("configs", {} if configs is None else configs, Mapping, "names with values")
        own = {key: java_text(value) for key, value in (configs or {}).items()}
        full = self.topic(name)
        self.call(lambda broker: broker.create_topic(full, partitions, replication=replication, configs=own))

    def append(self, topic: str, records: RecordLike | Iterable[RecordLike], partition: int | None = None) -> list[int]:
        """Append records to a topic, which is created if needed; return their offsets.

        records: one record or several, each a value, a (key, value) pair, or a mapping with any of key, value, headers,
        timestamp (ms), partition. Text becomes UTF-8. partition: for records without one; by default the key chooses.
        Raises UsageError for anything that is no record.
        """
        is_single = isinstance(records, str | bytes | Mapping | tuple) or records is None
        rows: list[RecordLike] = [records] if is_single else list(records)  # type: ignore[list-item,arg-type]

        def work(broker: Broker) -> list[int]:
            name = self.topic(topic)
            found = broker.topics.by_name.get(name) or broker.create_topic(name)
            return [offset for _, offset in stored.append(broker, found, rows, partition)]

        return self.call(work)

    def records(self, topic: str, partition: int | None = None, *, committed: bool = False) -> list[StoredRecord]:
        """Return the records of a topic or of one of its partitions, ordered by partition and offset.

        committed: without records of open and aborted transactions. Raises UsageError if there is no such topic or
        partition.
        """
        return self.call(lambda broker: stored.read(self._topic(broker, topic), partition, committed=committed))

    def compact(self, topic: str | None = None) -> None:
        """Compact now the logs of a topic, or of all topics with the cleanup policy compact.

        Raises UsageError if the topic does not have that policy, or does not exist.
        """
        self.call(lambda broker: broker.replicas.compact(None if topic is None else self._topic(broker, topic)))

    def apply_retention(self) -> None:
        """Delete now the segments beyond retention.ms and retention.bytes."""
        self.call(lambda broker: broker.replicas.retain())

    def _topic(self, broker: Broker, name: str) -> Topic:
        topic = broker.topics.by_name.get(self.topic(name))
        if topic is None:
            raise UsageError(f"no topic {name}; there are {', '.join(sorted(broker.topics.by_name)[:20]) or 'none'}")
        return topic

    # --- several tests with one broker

    def with_prefix(self, prefix: str) -> Self:
        """Return a view of the broker for one test among others: its topics and groups begin with this prefix.

        The view has only requests from now on, and only the errors of its own callbacks.
        """
        view = copy.copy(self)
        view.prefix, view._mine, view.failures = prefix, [], []
        view.before = self.control.journal.seen
        return view

    def topic(self, name: str) -> str:
        """Return a topic's name with the view's prefix, for the application to use."""
        return name if name.startswith(self.prefix) else self.prefix + name

    group = topic

    def forget_prefix(self) -> None:
        """Remove the faults and watches of this view, delete topics and groups with its prefix, start stopped nodes.

        Raises UsageError if a callback of `intercept` failed and that was not raised before.
        """
        for each in self._mine:
            each.remove()

        def work(broker: Broker) -> None:
            for group in [each for each in broker.groups if each.id.startswith(self.prefix)]:
                broker.groups.drop(group)
            for topic in [each for each in broker.topics if each.name.startswith(self.prefix)]:
                broker.controller.delete_topic(topic)

        self.call(work)
        self._wait_for(self.broker.start_nodes)
        self.raise_failure()

    def _keep(self, handle: H) -> H:
        self._mine.append(handle)
        return handle

    # --- nodes

    def stop_node(self, node: int) -> None:
        """Stop a node: its connections close, and other nodes become leaders and coordinators. Raises UsageError if it
        does not run.
        """
        self._wait_for(lambda: self.broker.stop_node(node))

    def start_node(self, node: int) -> None:
        """Start a stopped node again, at its former address. Raises UsageError if no such node is stopped."""
        self._wait_for(lambda: self.broker.start_node(node))

    def leader(self, topic: str, partition: int = 0) -> int | None:
        """Return the id of the node that leads a partition; None if it has no leader."""

        def work(broker: Broker) -> int | None:
            found = self._partition(broker, topic, partition).leader
            return None if found == NO_LEADER else found

        return self.call(work)

    def move_leader(self, topic: str, partition: int, node: int) -> None:
        """Make another node the leader of a partition, with a new leader epoch; it becomes a replica if it is none."""
        self.call(lambda broker: broker.move_leader(self._partition(broker, topic, partition), node))

    def _partition(self, broker: Broker, topic: str, partition: int) -> Partition:
        found = self._topic(broker, topic).partition(partition)
        if found is None:
            raise UsageError(f"topic {topic}: no partition {partition}")
        return found

    # --- groups

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets that a group has committed, by (topic, partition).

        Raises UsageError if there is no such group.
        """

        def work(broker: Broker) -> dict[tuple[str, int], int]:
            found = broker.groups.get(self.group(group))
            if found is None:
                raise UsageError(
                    f"no group {group}; there are {', '.join(each.id for each in broker.groups) or 'none'}"
                )
            return {place: each.offset for place, each in sorted(found.offsets.items())}

        return self.call(work)

    # --- requests

    def requests(self, api: str | Iterable[str] = (), client: str = "", *, topic: str = "") -> list[ClientRequest]:
        """Return the requests of clients, the oldest first, optionally only of some APIs, a client.id, a topic.

        At most the latest 20,000 requests and 64 MiB are kept. Raises UsageError if there is no such API.
        """
        wanted = self._filter(api, client, topic)
        self.raise_failure()
        return self.call(lambda _broker: [each for each in self.seen() if wanted.keeps(each)])

    def observe(self, api: str | Iterable[str] = (), client: str = "", *, topic: str = "") -> WatchHandle:
        """Count requests from now on, without an effect on them: `.hits`, `.requests`, `.wait(hits=3)`."""
        return self._watch(Watch(self._filter(api, client, topic)))

    def intercept(
        self,
        api: str | Iterable[str],
        callback: Callback,
        *,
        client: str = "",
        topic: str = "",
        count: int = 0,
    ) -> WatchHandle:
        """Call a function in the broker's thread with each matching request, before the broker handles it.

        The function gets a ClientRequest. It returns the body of the response (a dict; missing fields have their
        defaults), or None to let the broker respond, or raises ConnectionError to close the connection. It may be a
        coroutine function that waits. count: how many requests it gets, 0 for all. Any other error of it is raised by
        the test's next call of this broker.
        """
        if not callable(callback):
            raise UsageError(f"callback: a function expected, not {type(callback).__name__}")
        wanted = self._filter(api, client, topic)
        return self._watch(Interception(wanted, callback=callback, count=count, failures=self.failures))

    def _watch(self, watch: Watch) -> WatchHandle:
        self.call(lambda _broker: self.control.watches.append(watch))
        return self._keep(WatchHandle(self, watch))

    def _filter(self, api: str | Iterable[str], client: str, topic: str) -> Filter:
        return Filter.of(api, client, self.topic(topic) if topic else "", self.broker.dialect)

    def fault(self, rule: str = "", **parts: Any) -> FaultHandle:
        """Make requests fail by a rule as in `kcli broker serve --fault`, given as one text or by its parts.

        kafka.fault("api=Fetch,delay=500"); kafka.fault(api="Produce", topic="orders", error="NOT_LEADER_OR_FOLLOWER").
        The rule holds until its `with` block ends or `remove` is called; it has `.hits` and `.wait(hits=3)`. If a
        partition of a Produce gets an error, it is not written; the other partitions of the request are. Raises
        UsageError for an invalid rule.
        """
        text = fault_text(rule, parts, self.topic)
        return self._keep(FaultHandle(self, self.call(lambda broker: broker.faults.add(text))))

    def wait(
        self,
        *,
        group: str = "",
        state: str = "",
        members: int | None = None,
        topic: str = "",
        records: int | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> None:
        """Wait until a group has this state ("Stable") and number of members, and a topic this number of records.

        Raises TimeoutError with the present state and the latest requests after `timeout` seconds, and UsageError.
        """
        if not group and not topic:
            raise UsageError("wait: a group or a topic expected")
        if (not group and (state or members is not None)) or (not topic and records is not None):
            raise UsageError("wait: state and members are of a group, records of a topic")
        check_state(state)

        def check(broker: Broker) -> str:
            problem = group_lacks(broker, self.group(group), state, members) if group else ""
            return problem or (topic_lacks(broker, self.topic(topic), records) if topic else "")

        wait_until(self, check, timeout)

    def reset(self) -> None:
        """Delete all topics, groups, transactions, faults, watches and kept requests; start stopped nodes."""

        async def work() -> None:
            await self.broker.reset()
            self.control.reset()
            self.failures.clear()

        self._wait_for(work)


def embedded_broker(  # noqa: PLR0913
    data: str | os.PathLike[str] | None = None,
    *,
    nodes: int = 1,
    host: str = "127.0.0.1",
    port: int = 0,
    config: Mapping[str, Any] | None = None,
    faults: str | Iterable[str] = (),
    seed: int | None = None,
    dialect: str | None = None,
    answers: Mapping[str, Any] | Iterable[Mapping[str, Any]] = (),
    release: str | None = None,
    users: Mapping[str, str] | None = None,
    tls: bool = False,
    tls_cert: str | os.PathLike[str] | None = None,
    tls_key: str | os.PathLike[str] | None = None,
    tls_client_ca: str | os.PathLike[str] | None = None,
    listeners: str | Iterable[str] = (),
) -> EmbeddedBroker:
    """Return a broker that runs within its `with` block, by default on loopback and a free port.

    data: the directory of its logs, None for a temporary one. nodes: the number of nodes. port: of the first node; the
    others have the ports after it. config: broker configs by Kafka's names ({"num.partitions": 3}). faults: rules as
    for `kcli broker serve --fault`; seed: for their random choices. dialect: message definitions for clients that use
    it. answers: rules that answer requests, as in `kcli broker serve --answers` ({"api": "Greet", "answer": {...}}).
    release: serve only the API versions of that Kafka release's brokers ("2.8"). users: passwords by user name; clients
    have to log in by PLAIN or SCRAM, or by the mechanisms of the config sasl.enabled.mechanisms. tls: the listeners
    have a certificate of a CA that is made for them (`ca_certificate`); tls_cert, tls_key: or a certificate from PEM
    files; tls_client_ca: the CA of certificates that clients have to present. listeners: of each node, "PLAINTEXT",
    "SSL:9093" or "INTERNAL=SASL_SSL:9094", the first on `port`; clients get the addresses of the listener that they
    connected to.

    Raises UsageError for an invalid option, and NetworkError when the block begins if the broker can't listen.
    """
    need("data", "" if data is None else data, (str, os.PathLike), "a directory")
    if data is not None and Path(data).exists() and not Path(data).is_dir():
        raise UsageError(f"data {os.fsdecode(data)}: a directory expected")
    need("nodes", nodes, int, "a number")
    need("port", port, int, "a number")
    if not 0 <= port < 65536:
        raise UsageError(f"port {port}: 0 to 65535 expected")
    need("config", {} if config is None else config, Mapping, "names with values")
    need("answers", answers, Iterable, "rules")
    need("users", {} if users is None else users, Mapping, "names with passwords")
    rules = [answers] if isinstance(answers, Mapping) else list(answers)
    for rule in rules:
        need("answers", rule, Mapping, "rules")
    broker = Broker(
        None if data is None else Path(data),
        config={name: java_text(value) for name, value in (config or {}).items()},
        host=host,
        port=port,
        nodes=nodes,
        faults=texts("faults", faults, "rules"),
        seed=seed,
        dialect=dialect,
        answers=rules,
        release=release,
        protection=Protection(dict(users or {}), path(tls_cert), path(tls_key), path(tls_client_ca), tls),
        listeners=texts("listeners", listeners, "listeners"),
    )
    made = EmbeddedBroker(broker)
    broker.on_note = made.notes.append
    return made


def path(value: str | os.PathLike[str] | None) -> str | None:
    return None if value is None else os.fspath(value)
