"""Quorums brought into trouble, and what doctor and Kafka's own tool say of each state: `make quorums` (needs root).

    python -m tests.real.quorums [RELEASE[,RELEASE] [NODES[,NODES]]]      4.4.0,3.9.1 and 3,5 by default

Controllers in network namespaces lose nodes one by one, a disk, their directory ids, the network between them, and the
time of a certificate. For each state a row is printed: what `kcli snapshot doctor` finds by the controllers' answers,
what by the folders, and the first words of `kafka-metadata-quorum describe --status`. Exit code 1: a finding that the
state does not have, or lacks. The commands that doctor prints for a replaced disk are run as they are.
"""

import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.real.apart import ApartCluster

__all__ = ["main"]

PATIENCE = 40.0  # seconds for a state to come
TOOL_MS = 8000
Found = set[tuple[str, int | None]]


@dataclass(slots=True)
class State:
    """name: of the state; live, folders: what doctor has to find there, of warnings and worse; None: it depends

    electable: of the folders given, None: it depends; here: the nodes whose folders are given, else those that run
    """

    name: str
    live: Found
    folders: Found | None = field(default_factory=set)
    electable: set[int] | None = None
    here: list[int] | None = None


class Trial:
    """A quorum, and what is said of it."""

    def __init__(self, cluster: ApartCluster) -> None:
        self.cluster, self.wrong = cluster, 0
        self.config = cluster.folder / "tool.properties"
        lines = [f"default.api.timeout.ms={TOOL_MS}", f"request.timeout.ms={TOOL_MS // 2}"]
        self.settings = list[str]()
        if cluster.secured:
            self.settings = ["security.protocol=SSL", "ssl.truststore.type=PEM"]
            self.settings.append(f"ssl.truststore.location={cluster.ca_file}")
        self.config.write_text("\n".join([*lines, *self.settings]) + "\n")

    @property
    def everybody(self) -> str:
        """The controllers' addresses."""
        return self.cluster.addresses("CONTROLLER")

    def doctor(self, *sources: str) -> list[dict[str, Any]]:
        """Return doctor's findings."""
        words = [word for each in self.settings for word in ("--client-config", each)]
        command = [sys.executable, "-m", "kcli.cli", "snapshot", "doctor", *sources, *words, "--format", "jsonl"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode in (0, 1), (done.stdout, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == any(each["severity"] != "info" for each in rows), rows
        return rows

    def tool(self, *words: str, where: str = "") -> str:
        """Return what kafka-metadata-quorum says, in short."""
        given = ("--bootstrap-controller", where or self.everybody, "--command-config", str(self.config))
        began = time.monotonic()
        done = self.cluster.attempt("MetadataQuorumCommand", *given, *words)
        text = " ".join((done.stdout + b" " + done.stderr).decode().split())
        return f"{text[:150]} (exit {done.code}, {time.monotonic() - began:.0f} s)"

    def leader(self) -> int | None:
        """Return who leads, by doctor."""
        said = self.doctor(self.everybody)
        return next((each["evidence"]["leader"] for each in said if "highWatermark" in each["evidence"]), None)

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it is so."""
        end = time.monotonic() + PATIENCE
        while not holds() and time.monotonic() < end:
            time.sleep(0.5)

    def settle(self) -> int:
        """Wait until all is well; who leads then."""
        self.until(lambda: self.doctor(self.everybody)[-1]["finding"] == "healthy")
        said = self.doctor(self.everybody)
        assert said[-1]["finding"] == "healthy", said
        leader: int = said[-1]["evidence"]["leader"]
        return leader

    def look(self, state: State) -> None:
        """Ask everybody about a state, and print it."""
        self.until(lambda: ids(self.doctor(self.everybody)) == state.live)
        live = self.doctor(self.everybody)
        here = state.here or [node for node in self.cluster.node_ids if node in self.cluster.processes]
        folders = self.doctor(*(str(self.cluster.log_dirs[node - 1]) for node in here))
        electable = next(set(each["evidence"]["electable"]) for each in folders if "electable" in each["evidence"])
        answer = {"state": state.name, "live": said(live), "folders": said(folders), "electable": sorted(electable)}
        print(json.dumps(answer | {"tool": self.tool("describe", "--status")}), flush=True)
        for what, is_so, wanted in (
            ("live", ids(live), state.live),
            ("folders", ids(folders), state.folders),
            ("electable", electable, state.electable),
        ):
            if wanted is not None and is_so != wanted:
                self.wrong += 1
                print(f"    WRONG {what}: {is_so}, expected {wanted}", flush=True)
                for each in live if what == "live" else folders:
                    print(f"        {each}", flush=True)


def ids(rows: Iterable[dict[str, Any]]) -> Found:
    """The findings that are more than information."""
    return {(row["finding"], row["subject"].get("node")) for row in rows if row["severity"] != "info"}


def said(rows: Iterable[dict[str, Any]]) -> list[str]:
    return [f"{row['finding']} {row['subject'].get('node', '')} {row['severity']}" for row in rows]


def lost(trial: Trial) -> None:
    """Lose one node after the other, the leader first, until one of three or two of five are left."""
    cluster = trial.cluster
    gone: list[int] = []
    for _ in range(cluster.nodes // 2 + 1):
        node = trial.leader()
        assert node is not None
        cluster.kill(node)
        gone.append(node)
        left = [each for each in cluster.node_ids if each not in gone]
        alive = len(left) > cluster.nodes // 2
        live: Found = {("controller-unreachable", each) for each in gone}
        live |= {("stale-voter", each) for each in gone} if alive else {("no-leader", None)}
        folders: Found = {("voter-missing", each) for each in gone}
        folders |= set() if alive else {("election", None)}
        trial.look(State(f"{len(gone)} of {cluster.nodes} lost", live, folders, None if alive else set()))
    for node in gone:
        cluster.start(node)
    trial.settle()


def cut(trial: Trial) -> None:
    """Cut the leader, and of five one more, off from the others."""
    cluster, leader = trial.cluster, trial.settle()
    minority = [leader, *[each for each in cluster.node_ids if each != leader][: cluster.nodes // 2 - 1]]
    others = [each for each in cluster.node_ids if each not in minority]
    cluster.cut(minority, others)
    live: Found = {(name, each) for each in minority for name in ("leader-unknown", "stale-voter")}
    # By the folders the old leader is behind, or has diverged by what it wrote alone.
    trial.look(State(f"the leader and {len(minority) - 1} more cut off", live, None))
    cluster.join(minority, others)
    trial.settle()


def replaced(trial: Trial) -> None:
    """Put a new disk into a node; then type what doctor says."""
    cluster = trial.cluster
    leader = trial.settle()
    node = next(each for each in cluster.node_ids if each != leader)
    cluster.stop(node)
    shutil.rmtree(cluster.home(node) / "data")
    file = cluster.home(node) / "server.properties"
    bare = () if not cluster.dynamic else ("--no-initial-controllers",)
    cluster.run("StorageTool", "format", "-t", cluster.cluster_id, "-c", str(file), *bare)
    cluster.start(node)
    if not cluster.dynamic:
        trial.settle()
        trial.look(State("a disk replaced", set()))
        return
    mismatch: Found = {("directory-id-mismatch", node)}
    trial.look(State("a disk replaced", mismatch, mismatch))
    found = trial.doctor(trial.everybody)
    advice = next(each["advice"] for each in found if each["finding"] == "directory-id-mismatch")
    for line in typed(advice):
        words = [str(file) if word == "server.properties" else word for word in line]
        done = cluster.attempt("MetadataQuorumCommand", *words)
        print(f"    {shlex.join(words)}: exit {done.code} {(done.stdout + done.stderr).decode()[-300:]!r}", flush=True)
        trial.wrong += done.code != 0
    leader = trial.settle()
    trial.look(State("and the advice followed", set()))


def typed(advice: str) -> Iterator[list[str]]:
    """The words of the lines for kafka-metadata-quorum in an advice."""
    for part in advice.split("kafka-metadata-quorum ")[1:]:
        yield shlex.split(part.partition(", then")[0].partition(";")[0])


def mixed(trial: Trial) -> None:
    """Start two nodes with each other's directory ids."""
    cluster, leader = trial.cluster, trial.settle()
    one, other = [each for each in cluster.node_ids if each != leader][:2]
    files = [cluster.log_dirs[node - 1] / "meta.properties" for node in (one, other)]
    texts = [file.read_text() for file in files]
    lines = [next(line for line in text.splitlines() if line.startswith("directory.id=")) for text in texts]
    for node in (one, other):
        cluster.stop(node)
    for file, text, mine, its in zip(files, texts, lines, reversed(lines), strict=True):
        file.write_text(text.replace(mine, its))
    for node in (one, other):
        cluster.spawn(node)
    cluster.wait((one, other), 1)
    rest = set(cluster.node_ids) - {one, other}
    alive = len(rest) > cluster.nodes // 2
    both: Found = {("directory-id-mismatch", node) for node in (one, other)}
    live: Found = both if alive else {("no-leader", None)}
    folders = both if alive else both | {("election", None)}
    trial.look(State("directory ids of two nodes mixed up", live, folders, None if alive else set()))
    for node in (one, other):
        cluster.stop(node)
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    for node in (one, other):
        cluster.spawn(node)
    cluster.wait((one, other), 1)
    trial.settle()


def expired(trial: Trial) -> None:
    """Let the certificate of a follower expire, then those of a majority."""
    cluster, leader = trial.cluster, trial.settle()
    followers = [each for each in cluster.node_ids if each != leader]
    for count in (1, cluster.nodes // 2 + 1):
        for node in followers[:count]:
            if node in cluster.processes:
                cluster.stop(node)
            cluster.certify(node, days=-1)
        for node in followers[:count]:
            cluster.spawn(node)
        cluster.wait(followers[:count], 1)
        live: Found = {("certificate", node) for node in followers[:count]}
        live |= {("no-leader", None)} if count > 1 else set()
        trial.look(State(f"the certificates of {count} expired", live, None))
    for node in followers:
        if node in cluster.processes:
            cluster.stop(node)


def main(arguments: list[str]) -> int:
    releases = arguments[0].split(",") if arguments else ["4.4.0", "3.9.1"]
    sizes = [int(each) for each in arguments[1].split(",")] if len(arguments) > 1 else [3, 5]
    chosen = arguments[2].split(",") if len(arguments) > 2 else ["lost", "cut", "replaced", "mixed", "expired"]
    wrong = 0
    for release in releases:
        for size in sizes:
            for secured in (False, True):
                steps = [each for each in (lost, cut, replaced, mixed, expired) if each.__name__ in chosen]
                steps = [each for each in steps if (each is expired) == secured]
                if not steps:
                    continue
                with ApartCluster(release, size, secured=secured) as cluster:
                    trial = Trial(cluster)
                    print(f"{release}, {size} nodes{', TLS' * secured}", flush=True)
                    trial.settle()
                    trial.look(State("healthy", set()))
                    for step in steps:
                        step(trial)
                    wrong += trial.wrong
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
