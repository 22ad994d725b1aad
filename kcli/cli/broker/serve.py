"""`kcli broker serve`: the embedded broker as a process."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcli.broker import Broker
from kcli.broker.metadata.registry import offered
from kcli.broker.security.protection import Protection
from kcli.cli.options.fault import fault_options, take_faults
from kcli.cli.options.inputs import quiet_option, reading_options
from kcli.cli.options.listen import client_tls_options
from kcli.cli.options.refusal import refused
from kcli.cli.terminal.lines import ignore, print_line, print_note_now
from kcli.cli.termination import on_stop
from kcli.counting import counted, few_of
from kcli.errors import InputError, UsageError
from kcli.schemas.catalog import catalog
from kcli.schemas.ranges import Range
from kcli.topic_names import CLUSTER_METADATA, name_fault

if TYPE_CHECKING:
    from kcli.broker.control.admin_port import AdminPort

MOST_NAMED = 6  # APIs of a draft
EXISTING = click.Path(exists=True, dir_okay=False)


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """The options of `kcli broker serve`, but for the fault rules."""

    port: int
    host: str
    data: Path | None
    settings: tuple[str, ...]
    topics: tuple[str, ...]
    nodes: int
    answers: Path | None
    release: str | None
    captures: tuple[str, ...]
    admin_port: int | None
    listeners: tuple[str, ...]
    tls_cert: str | None
    tls_key: str | None
    tls_client_ca: str | None
    users_file: str | None
    dialect: str | None
    key_logs: tuple[str, ...]
    memory: int
    quiet: bool


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=9092,
    show_default=True,
    help="Port to listen on; 0: any free port.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), help="Directory of the logs; temporary by default."
)
@click.option("--config", "settings", multiple=True, metavar="KEY=VALUE", help="Broker config, by Kafka's name.")
@click.option("--topic", "topics", multiple=True, metavar="NAME[:PARTITIONS]", help="Topic to create at start.")
@click.option(
    "--nodes", type=click.IntRange(1), default=1, show_default=True, help="Number of brokers, on consecutive ports."
)
@fault_options("Fault rule, as in api=Fetch,delay=500.")
@click.option(
    "--answers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of rules that answer requests: JSON objects with api, versions, request (fields to match), answer, "
    "count.",
)
@click.option("--release", metavar="N.N", help="Serve only the API versions that this release of Kafka had.")
@click.option(
    "--from",
    "captures",
    multiple=True,
    metavar="CAPTURE",
    help="Start with the topics and records in this capture.",
)
@click.option(
    "--admin-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Port for `kcli broker ctl` and other programs that control the broker; 0: any free port.",
)
@click.option(
    "--listener",
    "listeners",
    multiple=True,
    metavar="[NAME=]PROTOCOL[:PORT]",
    help="A listener: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL; repeatable.",
)
@click.option("--tls-cert", type=EXISTING, help="Certificate for TLS with clients, in PEM.")
@client_tls_options(type=EXISTING)
@click.option(
    "--users", "users_file", type=EXISTING, help="File of users, one NAME:PASSWORD per line; clients must log in."
)
@refused("--from needs the whole capture, with the beginning of each log", "--where", "--since", "--until")
@reading_options
@quiet_option("Print only the address.")
def serve(**values: Any) -> None:
    """Serve topics to any Kafka client, until Ctrl-C.

    Once it listens, it prints `bootstrap.servers=HOST:PORT` as its first line, and with --admin-port
    `admin.port=HOST:PORT` as its second; with several --listener a line `bootstrap.servers.NAME=HOST:PORT` for each
    follows. Segment files have Kafka's own layout
    (`kcli decode segment` and kafka-dump-log read them). Topics are created when clients ask for them, unless
    --config auto.create.topics.enable=false.

    A fault RULE consists of KEY=VALUE pairs, separated by commas. These choose requests: api, topic, partition, client,
    after, count, every, probability. The effect is error=NAME, or delay=MS, ignore, drop, close[=BYTES], split=BYTES,
    evict, move[=NODE].

    With --users clients must log in by SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or the mechanisms of --config
    sasl.enabled.mechanisms (also OAUTHBEARER). ACLs are enforced with --config
    authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer.

    With --dialect the broker also serves the dialect's APIs and versions: by --answers, else by its own handler of the
    API, else with every field at its default.

    \b
    kcli broker serve
    kcli broker serve --port 0 --nodes 3 --topic orders:12 --data /tmp/kafka
    kcli broker serve --from night.pcap
    kcli broker serve --users users.txt --config sasl.enabled.mechanisms=SCRAM-SHA-512
    kcli broker serve --dialect greet --answers greet.jsonl
    """
    rules = take_faults(values)
    options = ServeOptions(**values)
    broker = make_broker(options, rules)
    asyncio.run(run(broker, [wanted_topic(each) for each in options.topics], options))


def make_broker(options: ServeOptions, rules: dict[str, Any]) -> Broker:
    """Make the broker, empty or from captures. rules: as `take_faults` gives them. Raises UsageError."""
    made: dict[str, Any] = {
        "data": options.data,
        "config": dict(map(setting, options.settings)),
        "host": options.host,
        "port": options.port,
        **rules,
        "dialect": options.dialect,
        "answers": answers_of(options.answers),
        "release": options.release,
        "note": ignore if options.quiet else print_note_now,
        "protection": Protection(
            users_of(options.users_file), options.tls_cert, options.tls_key, options.tls_client_ca
        ),
        "listeners": options.listeners,
    }
    if not options.captures:
        return Broker(nodes=options.nodes, **made)
    if options.nodes != 1:
        raise UsageError("--nodes: a broker rebuilt from a capture has the capture's nodes")
    from kcli.broker.rebuilt.rebuild import rebuild

    return rebuild(options.captures, memory=options.memory, key_logs=options.key_logs, **made)


def answers_of(path: Path | None) -> list[Any]:
    """Read the rules that answer requests from a file."""
    if path is None:
        return []
    from kcli.broker.mock_rules import read_answers

    return read_answers(path)


def users_of(name: str | None) -> dict[str, str]:
    """Read passwords by user from a file. Raises InputError if a line is not NAME=PASSWORD."""
    made: dict[str, str] = {}
    text = "" if name is None else Path(name).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        user, colon, password = line.partition(":")
        if line.strip() and not (colon and user and password):
            raise InputError(f"line {number}: NAME:PASSWORD expected", file=name)
        if line.strip():
            made[user] = password
    return made


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--config {text}: KEY=VALUE expected")
    return name.strip(), value.strip()


def wanted_topic(text: str) -> tuple[str, int | None]:
    name, _, count = text.partition(":")
    fault = name_fault(name) or ("this is the name of the metadata log" if name == CLUSTER_METADATA else None)
    if fault:
        raise UsageError(f"--topic {text}: {fault}")
    if count and not (count.isdecimal() and int(count)):
        raise UsageError(f"--topic {text}: NAME or NAME:PARTITIONS expected")
    return name, int(count) if count else None


async def run(broker: Broker, topics: list[tuple[str, int | None]], options: ServeOptions) -> None:
    """Serve until a signal stops the process. topics: the topics to create, each with its number of partitions."""
    allow_files()
    stopped = asyncio.Event()
    on_stop(stopped.set)
    async with broker:
        for name, count in topics:
            if name not in broker.topics.by_name:
                broker.create_topic(name, count)
        controlled = None if options.admin_port is None else control(broker, options.admin_port)
        print_line(f"bootstrap.servers={broker.bootstrap}")
        if controlled is not None:
            print_line(f"admin.port={controlled.address}")
        for listener in broker.listeners if options.listeners else ():
            print_line(f"bootstrap.servers.{listener.name}={broker.bootstrap_of(listener.name)}")
        sys.stdout.flush()
        if not options.quiet:
            for line in summary(broker, options.data):
                print_note_now(line)
        with controlled or contextlib.nullcontext():
            await stopped.wait()


def control(broker: Broker, port: int) -> AdminPort:
    """Listen on the admin port of a broker that runs in this event loop."""
    from kcli.broker.embedded import EmbeddedBroker  # here, as few brokers have the port

    return EmbeddedBroker(broker).beside(asyncio.get_running_loop()).admin_port(port)


def allow_files() -> None:
    """Raise the limit of open files to the hard limit: each connection and each segment in use needs one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def summary(broker: Broker, data: Path | None) -> list[str]:
    """Return lines that describe what the broker serves."""
    nodes = counted(len(broker.node_ids), "node")
    topics = list(broker.topics)
    partitions = sum(len(each.partitions) for each in topics)
    where = f"data in {data}" if data else "data in a temporary folder (--data DIR keeps it)"
    faults = f"; {counted(len(broker.faults.rules), 'fault rule')}" if broker.faults.rules else ""
    apis = offered(broker.dialect, broker.release, broker.answers)
    spoken = f"as Kafka {broker.release}" if broker.release else f"Produce v0-{apis[0].hi}, Fetch v0-{apis[1].hi}"
    held = f"{counted(len(topics), 'topic')}, {counted(partitions, 'partition')}"
    return [
        f"serving {nodes}, {held}; {where}; {len(apis)} APIs, {spoken}{faults}",
        *draft_of(broker.dialect),
        f"try: echo hello | kcat -b {broker.bootstrap} -P -t greetings    (Ctrl-C stops)",
    ]


def draft_of(dialect: str | None) -> Iterator[str]:
    """Yield a line on the APIs that a dialect adds or replaces, and on which clients it serves them to."""
    tables = catalog(dialect)

    def named(versions: Mapping[int, Range]) -> str:
        apis = ((tables.api(key), each) for key, each in sorted(versions.items()))
        return few_of([f"{api.name} v{each}" for api, each in apis if api is not None], MOST_NAMED)

    if tables.drafted:
        line = f"draft {dialect}: {named(tables.drafted)}"
        if tables.rewritten:
            line += f"; as it changes {named(tables.rewritten)}, only with clients that ask for it"
        yield line
