"""Throw-away clusters of real Apache Kafka on loopback.

    with Cluster("4.4.0", nodes=3, config={"num.partitions": 6}) as cluster:
        talk_to(cluster.bootstrap)
        cluster.kill(2)
        cluster.start(2)

KRaft from 3.3 on, each node broker and controller at once; before that one ZooKeeper and its brokers. Releases that
were run: 4.4.0, 4.1.0, 3.9.1, 2.8.2, 0.10.2.2. A start takes two to six seconds. Nothing listens outside 127.0.0.1,
and every process ends with the one that started it (see Tethered.java).

Each node has a plain listener; `tls=True` adds TLS ones (`tls_bootstrap`, checked against `ca_file`), `sasl=True`
SASL_PLAINTEXT ones (`sasl_bootstrap`; PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512), both together SASL_SSL ones besides
(`sasl_tls_bootstrap`). Users are in `USERS`.
"""

import base64
import json
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from tests.real import keys, logs
from tests.real.commands import Ended, commands
from tests.real.jvm import PortTakenError, check_alive, end, java, run_java
from tests.real.maven import broker_jars, command, compiled_jar, release
from tests.real.ports import connects, free_ports, known_brokers
from tests.real.settings import SCRAM, USERS, jaas, listeners, scram_credentials, server_properties
from tests.real.shared_classes import shared_classes

__all__ = ["SCRAM", "USERS", "Cluster", "java", "known_brokers", "run_java"]

START_SECONDS = 90
STOP_SECONDS = 15
PORT_TRIES = 3
COMMANDS_SINCE = (2, 8)  # the oldest release whose commands were seen to run one after the other in one process


class Cluster:
    """A cluster in a folder of its own; a context manager, or `start()` and `close()`.

    config: broker properties for every node, over those that the lab sets
    request_log: have each broker write its own account of every exchange (`requests()`)
    dynamic: the voters stand in the metadata (KIP-853); metadata_dir: which has a directory of its own, `home/meta`
    features: for the format step of KRaft, as {"share.version": 1}
    """

    def __init__(
        self,
        version: str,
        nodes: int = 1,
        *,
        sasl: bool = False,
        tls: bool = False,
        acl: bool = False,
        config: Mapping[str, object] | None = None,
        node_config: Mapping[int, Mapping[str, object]] | None = None,
        features: Mapping[str, int] | None = None,
        request_log: bool = False,
        dynamic: bool = False,
        metadata_dir: bool = False,
        heap: str = "512m",
    ) -> None:
        self.version, self.nodes, self.heap, self.request_log = version, nodes, heap, request_log
        self.dynamic, self.metadata_dir = dynamic, metadata_dir
        self.release = release(version)
        self.kraft = self.release >= (3, 3)
        self.sasl, self.tls, self.acl = sasl, tls, acl
        self.config, self.node_config, self.features = dict(config or {}), dict(node_config or {}), dict(features or {})
        self.classpath = [compiled_jar("Tethered.java"), *broker_jars(version)]
        self.options: Sequence[str] | None = None  # of the nodes' JVMs; None: what lets them start sooner
        self.cluster_id = kafka_uuid()
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.zookeeper: subprocess.Popen[bytes] | None = None
        self.ports: dict[str, list[int]] = {}

    # -- life --------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self.launch()

    def __exit__(self, *_: object) -> None:
        self.close()

    def launch(self) -> Self:
        """Start every node and wait until each knows all the others."""
        if self.options is None:
            self.options = shared_classes(self.version, self.classpath, partial(start_and_stop, self.version))
        self.folder = Path(tempfile.mkdtemp(prefix="kcli-lab-"))
        try:
            self.bring_up()
            if self.sasl and not self.kraft:
                self.add_scram_users()
        except BaseException:
            self.close()
            raise
        return self

    def bring_up(self) -> None:
        for attempt in reversed(range(PORT_TRIES)):
            self.choose_ports()
            self.directory_ids = [kafka_uuid() for _ in self.node_ids]
            try:
                self.prepare()
                for node in self.node_ids:
                    self.spawn(node)
                self.wait(self.node_ids, self.nodes)
                break
            except PortTakenError:
                if not attempt:
                    raise
                self.end_all()
                shutil.rmtree(self.folder)
                self.folder.mkdir()

    def close(self) -> None:
        """Stop everything at once and remove the data."""
        self.end_all()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self, node: int | None = None) -> None:
        """Stop a node, or all, in good order: logs flushed, leadership handed over where another node can take it."""
        for one in [node] if node else self.node_ids:
            if process := self.processes.pop(one, None):
                # The last of KRaft's voters waits for a quorum that will not come back.
                alone = self.kraft and len(self.processes) <= self.nodes // 2
                end(process, signal.SIGTERM, 5 if alone else STOP_SECONDS)

    def kill(self, node: int) -> None:
        """End a node as a power cut would."""
        end(self.processes.pop(node), signal.SIGKILL, STOP_SECONDS)

    def pause(self, node: int) -> None:
        """Freeze a node: its connections stay open and nothing answers (`resume`)."""
        process = self.processes[node]
        process.send_signal(signal.SIGSTOP)
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)  # a busy machine takes a while to stop all threads

    def resume(self, node: int) -> None:
        self.processes[node].send_signal(signal.SIGCONT)

    def start(self, node: int) -> None:
        """Start a stopped or killed node again, on the same data."""
        assert node not in self.processes, f"node {node} is running"
        self.spawn(node)
        self.wait([node], 1)

    def end_all(self) -> None:
        for process in self.processes.values():
            end(process, signal.SIGKILL, STOP_SECONDS)
        self.processes.clear()
        if self.zookeeper:
            end(self.zookeeper, signal.SIGKILL, STOP_SECONDS)
            self.zookeeper = None

    # -- what tests ask for ------------------------------------------------------------------------------------------

    @property
    def node_ids(self) -> list[int]:
        return list(range(1, self.nodes + 1))

    def address(self, node: int, listener: str = "PLAINTEXT") -> str:
        return f"127.0.0.1:{self.ports[listener][node - 1]}"

    def addresses(self, listener: str) -> str:
        return ",".join(self.address(node, listener) for node in self.node_ids)

    @property
    def voters(self) -> str:
        """The controllers, as ID@HOST:PORT or, of a dynamic quorum, ID@HOST:PORT:DIRECTORY_ID."""
        known = [f"{node}@{self.address(node, 'CONTROLLER')}" for node in self.node_ids]
        if self.dynamic:
            known = [f"{each}:{directory}" for each, directory in zip(known, self.directory_ids, strict=True)]
        return ",".join(known)

    @property
    def bootstrap(self) -> str:
        return self.addresses("PLAINTEXT")

    @property
    def tls_bootstrap(self) -> str:
        return self.addresses("TLS")

    @property
    def sasl_bootstrap(self) -> str:
        return self.addresses("SASL")

    @property
    def sasl_tls_bootstrap(self) -> str:
        return self.addresses("SASLTLS")

    @property
    def ca_file(self) -> Path:
        """The certificate (PEM) that the TLS listeners present."""
        return self.folder / "broker.pem"

    @property
    def log_dirs(self) -> list[Path]:
        """Each node's log directory: topic partitions and, in KRaft, `__cluster_metadata-0`."""
        return [self.home(node) / "data" for node in self.node_ids]

    def log_dir(self, topic: str, partition: int = 0, node: int = 1) -> Path:
        return self.home(node) / "data" / f"{topic}-{partition}"

    def output(self, node: int = 1) -> str:
        """What the broker has logged so far."""
        return (self.home(node) / "out.log").read_text(errors="replace")

    def requests(self, node: int = 1) -> list[dict[str, Any]]:
        """The broker's own account of each finished exchange (JSON; releases from 2.8 on)."""
        with (self.home(node) / "request.log").open(errors="replace") as lines:
            marked = (line.partition("Completed request:")[2] for line in lines if line.endswith("\n"))
            return [json.loads(text) for text in marked if text]

    def run(self, name: str, *arguments: str) -> str:
        """Run one of Kafka's command-line classes ("TopicCommand") to its end; its standard output. It must succeed."""
        done = self.attempt(name, *arguments)
        assert done.code == 0, f"{name} {arguments}: exit {done.code}\n{done.stdout!r}\n{done.stderr!r}"
        return done.stdout.decode()

    def attempt(self, name: str, *arguments: str) -> Ended:
        """Run one of Kafka's command-line classes, which may fail."""
        jars, main = command(self.version, name)
        classpath = [logs.quiet(self.release), *jars]
        if self.release >= COMMANDS_SINCE:
            return commands(classpath).run(main, *arguments)
        alone = run_java(classpath, main, *arguments)
        return Ended(alone.returncode, alone.stdout, alone.stderr)

    def dump_log(self, *files: Path, options: Sequence[str] = ("--deep-iteration", "--print-data-log")) -> str:
        """What Kafka's own DumpLogSegments prints for segment files."""
        return self.run("DumpLogSegments", *options, "--files", ",".join(map(str, files)))

    def topics(self, *arguments: str) -> str:
        """Kafka's own topic command, as `topics("--create", "--topic", "t", "--partitions", "3")`; a topic that it
        makes has its folders then."""
        answer = self.run("TopicCommand", *self.where, *arguments)
        if "--create" in arguments:
            given = dict(pairwise(arguments))
            last = int(given.get("--partitions", 1)) - 1
            self.wait_for(lambda: any((each / f"{given['--topic']}-{last}").is_dir() for each in self.log_dirs))
        return answer

    def wait_for(self, done: Callable[[], bool]) -> None:
        """Until this is so, which a broker does by itself after it has answered."""
        until = time.monotonic() + START_SECONDS
        while not done():
            assert time.monotonic() < until, self.output()[-2000:]
            time.sleep(0.02)

    def configs(self, *arguments: str) -> str:
        """Kafka's own config command, as `configs("--alter", "--entity-type", "users", ...)`."""
        return self.run("ConfigCommand", *self.where, *arguments)

    @property
    def where(self) -> tuple[str, str]:
        """What the command-line classes of this release want to be told of the cluster."""
        if self.release < (2, 8):
            return "--zookeeper", self.address(1, "ZOOKEEPER")
        return "--bootstrap-server", self.bootstrap

    # -- making it ---------------------------------------------------------------------------------------------------

    def home(self, node: int) -> Path:
        return self.folder / f"node{node}"

    def choose_ports(self) -> None:
        names = [*listeners(self.sasl, self.tls), "CONTROLLER" if self.kraft else "ZOOKEEPER"]
        free = free_ports(len(names) * self.nodes)
        self.ports = {name: [next(free) for _ in self.node_ids] for name in names}

    def prepare(self) -> None:
        """Write every file the nodes need; start ZooKeeper."""
        if self.tls:
            keys.make(self.folder)
        if not self.kraft:
            self.start_zookeeper()
        for node in self.node_ids:
            logs.write(self.home(node), self.release, self.home(node) / "request.log" if self.request_log else None)
            self.configure(node)
            if self.kraft:
                self.format(node)

    def configure(self, node: int) -> None:
        """Write a node's server.properties."""
        lines = [f"{name}={value}\n" for name, value in sorted(server_properties(self, node).items())]
        (self.home(node) / "server.properties").write_text("".join(lines))

    def start_zookeeper(self) -> None:
        home = self.folder / "zookeeper"
        logs.write(home, (0,))
        port = str(self.ports["ZOOKEEPER"][0])
        lines = {"dataDir": home / "data", "clientPort": port, "clientPortAddress": "127.0.0.1", "maxClientCnxns": 0}
        (home / "zoo.cfg").write_text("".join(f"{k}={v}\n" for k, v in lines.items()) + "admin.enableServer=false\n")
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self.zookeeper = self.process(home, main, str(home / "zoo.cfg"), heap="256m")
        until = time.monotonic() + START_SECONDS
        while not connects(int(port)):
            check_alive(self.zookeeper, home / "out.log", until)

    def format(self, node: int) -> None:
        """Make a KRaft node's log directory; the first metadata records give the users their SCRAM credentials."""
        features = [f"--feature={name}={level}" for name, level in self.features.items()]
        for mechanism, user, secret in scram_credentials() if self.sasl else ():
            features += ["--add-scram", f"{mechanism}=[name={user},password={secret}]"]
        if self.dynamic:
            features += ["--initial-controllers", self.voters]
        file = str(self.home(node) / "server.properties")
        self.run("StorageTool", "format", "-t", self.cluster_id, "-c", file, *features)

    def add_scram_users(self) -> None:
        """The same for a ZooKeeper cluster, which has to be up for it."""
        for mechanism, user, secret in scram_credentials():
            added = ("--add-config", f"{mechanism}=[iterations=4096,password={secret}]")
            self.configs("--alter", "--entity-type", "users", "--entity-name", user, *added)

    def spawn(self, node: int) -> None:
        home = self.home(node)
        options = [*(self.options or ())]
        if self.sasl:
            options.append(f"-Djava.security.auth.login.config={home / 'jaas.conf'}")
            (home / "jaas.conf").write_text(jaas())
        main, file = "kafka.Kafka", str(home / "server.properties")
        self.processes[node] = self.process(home, main, file, heap=self.heap, options=options)

    def process(
        self, home: Path, main: str, *arguments: str, heap: str, options: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        """A Java class that runs until it is stopped, or until this process ends; output in `home/out.log`."""
        words = java([*self.classpath, home], "Tethered", main, *arguments, heap=heap, options=options)
        with (home / "out.log").open("ab") as output:
            # A session of its own keeps a Ctrl-C at the terminal from it: the tests decide when it ends.
            return subprocess.Popen(
                [*self.launcher(home), *words],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=home,
            )

    def launcher(self, home: Path) -> list[str]:
        """The words before the command line of a node, by its home."""
        return []

    def wait(self, nodes: Sequence[int], wanted: int) -> None:
        """Wait until each of these nodes answers that it knows `wanted` brokers or more."""
        until = time.monotonic() + START_SECONDS
        for node in nodes:
            while known_brokers(self.ports["PLAINTEXT"][node - 1]) < wanted:
                check_alive(self.processes[node], self.home(node) / "out.log", until)


def start_and_stop(version: str, options: Sequence[str]) -> None:
    """A broker by itself, ended in good order, so that its JVM does all that it does at its end."""
    cluster = Cluster(version)
    cluster.options = options
    cluster.launch()
    try:
        end(cluster.processes.pop(1), signal.SIGTERM, START_SECONDS)
    finally:
        cluster.close()


def kafka_uuid() -> str:
    """A random uuid in Kafka's text form that no command line takes for an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        continue
    return text
