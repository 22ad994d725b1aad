"""kcli snapshot drift HOST:PORT: the answers of a live quorum's nodes, compared with the quorum's log.

Every node is asked for its log, which Apache Kafka gives as the leader alone. The other nodes show their state in
answers to Metadata, DescribeConfigs, DescribeAcls, DescribeClientQuotas, DescribeUserScramCredentials and ApiVersions:
topics, partitions, the configs of topics, ACLs, quotas, SCRAM credentials and features, as each node has them.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kcli.cli.options.client import configure
from kcli.cli.snapshot.access_answers import QUESTIONS, ask_access
from kcli.cli.snapshot.answers import ask_configs, ask_log, ask_topics
from kcli.cli.snapshot.live import copy_log
from kcli.cli.snapshot.watch import quorum_of
from kcli.client.address import Address
from kcli.client.cluster import Client
from kcli.client.handshake import Session
from kcli.client.properties import ClientConfig
from kcli.counting import counted
from kcli.errors import NetworkError
from kcli.finding import Finding
from kcli.schemas.apikeys import (
    API_VERSIONS,
    DESCRIBE_ACLS,
    DESCRIBE_CLIENT_QUOTAS,
    DESCRIBE_CONFIGS,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    METADATA,
)
from kcli.schemas.field_codes import ConfigResource
from kcli.snapshots.image.diff import Change
from kcli.snapshots.image.image import Image
from kcli.snapshots.image.texts import SECURITY_PROTOCOLS
from kcli.snapshots.live.follow import LogFollower
from kcli.snapshots.quorum.described import Described, stale_members

PAUSE = 1.0  # seconds until differing objects are asked for again
KINDS = {  # the kinds of objects in their answers
    METADATA: "topics",
    DESCRIBE_CONFIGS: "configs",
    DESCRIBE_ACLS: "acls",
    DESCRIBE_CLIENT_QUOTAS: "quotas",
    DESCRIBE_USER_SCRAM_CREDENTIALS: "scram",
    API_VERSIONS: "features",
}

UNANSWERED = (DESCRIBE_CLIENT_QUOTAS, DESCRIBE_USER_SCRAM_CREDENTIALS)  # by controllers, whatever ApiVersions says

Key = tuple[str, tuple[Hashable, ...]]


@dataclass(slots=True)
class LiveNode:
    """name: "broker 3"; log: its answer to a request for its log; shown: which of KINDS it has shown; differing: the
    objects in which it differs from the log, None if it could not be asked, for the `reason`.
    """

    name: str
    number: int
    address: Address
    log: str = "?"
    shown: tuple[str, ...] = ()
    differing: dict[Key, Change] | None = None
    reason: str = ""


@dataclass(slots=True)
class LiveView:
    """The nodes' answers, as lines of text and as rows of JSON. offset: the end of the log beside them; quorum: as its
    leader describes it; unseen: values of configs in the log that no question is about.
    """

    nodes: list[LiveNode]
    offset: int
    quorum: Described | None = None
    unseen: int = 0

    @property
    def is_drift(self) -> bool:
        """Return whether a node differs from the log, or votes with another directory than it fetches with."""
        return any(node.differing for node in self.nodes) or any(each.severity != "info" for each in self.stale)

    @property
    def stale(self) -> list[Finding]:
        """The members of the quorum that are not what their nodes are now."""
        return list(stale_members(self.quorum)) if self.quorum else []

    def behind(self, node: LiveNode) -> int | None:
        """Return how many records a node lacks, as the replica that it is now; None if the leader does not know it."""
        found = self.quorum.living(node.number) if self.quorum else None
        return self.quorum.behind([found])[found.key] if self.quorum and found else None

    @property
    def verdict(self) -> str:
        """One line."""
        found = len({key for node in self.nodes for key in node.differing or ()})
        compared = sum(node.differing is not None for node in self.nodes)
        state = counted(found, "object differs", "objects differ") if found else "the same"
        text = f"{compared} of {len(self.nodes)} nodes asked, the log up to offset {self.offset}: {state}"
        if self.unseen:
            text += f"; no node shows {counted(self.unseen, 'config')} of other things than its topics"
        return text

    def table(self) -> list[list[str]]:
        """Return the nodes in rows of columns."""
        rows = [["node", "address", "behind", "its log", "what it shows"]]
        for node in self.nodes:
            state = node.reason
            if node.differing is not None:
                state = f"{', '.join(node.shown)}: {f'{len(node.differing)} differ' if node.differing else 'same'}"
            behind = self.behind(node)
            rows.append([node.name, str(node.address), "?" if behind is None else f"{behind}", node.log, state])
        return rows

    def lines(self) -> Iterator[str]:
        """Yield the differences."""
        from kcli.snapshots.image.change_text import contrast

        for node in self.nodes:
            for change in (node.differing or {}).values():
                yield contrast(change, f"on {node.name}", "by the log")
        for each in self.stale:
            yield f"{each.text} (do: {each.advice})"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the nodes and differences as JSON objects."""
        for node in self.nodes:
            state = None if node.differing is None else len(node.differing)
            row = {"event": "node", "node": node.name, "address": str(node.address), "endOffset": self.offset}
            row |= {"behind": self.behind(node), "log": node.log, "shows": list(node.shown)}
            yield row | {"differing": state, "reason": node.reason or None}
        for node in self.nodes:
            for (table, key), change in (node.differing or {}).items():
                values = {"log": change.after, node.name: change.before}
                yield {"event": "drift", "table": table, "key": list(key), "values": values}
        for each in self.stale:
            yield {"event": "finding", **each.row()}


def compare_live(addresses: str, settings: Sequence[str], quiet: bool, folder: Path, dialect: str | None) -> LiveView:
    """Ask every node of a quorum, and compare the answers with its log; for differing objects it is asked again, and
    compared with a newer log.
    """
    config = configure(addresses, settings, quiet=quiet)
    view = one_look(config, folder / "1", dialect)
    if view.is_drift:
        time.sleep(PAUSE)
        again = one_look(config, folder / "2", dialect)
        known = {node.name: node.differing or {} for node in view.nodes}
        for node in again.nodes:
            if node.differing:
                same = known.get(node.name, {})
                node.differing = {key: each for key, each in node.differing.items() if same.get(key) == each}
        return again
    return view


def one_look(config: ClientConfig, folder: Path, dialect: str | None) -> LiveView:
    """Read the log, and ask each node once."""
    from kcli.snapshots.reading.api import Wanted, load_image

    folder.mkdir()
    follower = asyncio.run(copy_log(config, folder))
    image = load_image(Wanted(str(folder)), dialect=dialect).loader.image
    view = LiveView(nodes_of(image, config["security.protocol"]), image.provenance.end_offset)
    view.unseen = unseen_configs(image)
    asyncio.run(ask_nodes(config, follower, view, image))
    return view


def unseen_configs(image: Image) -> int:
    """Count the values of configs that no answer can be compared with: of missing topics, and of all but topics."""
    topics = {topic.name for topic in image.topics.values()}
    others = (values for key, values in image.configs.items() if key[0] != ConfigResource.TOPIC or key[1] not in topics)
    return sum(map(len, others))


def nodes_of(image: Image, protocol: str) -> list[LiveNode]:
    """Return the registered brokers and controllers, at their listeners for a security protocol."""
    found = []
    for kind, nodes in (("controller", image.controllers), ("broker", image.brokers)):
        for number, node in sorted(nodes.items()):
            points = [
                each for each in node["endPoints"] if SECURITY_PROTOCOLS.get(each["securityProtocol"]) == protocol
            ]
            found += [LiveNode(f"{kind} {number}", number, Address(each["host"], each["port"])) for each in points[:1]]
    return found


async def ask_nodes(config: ClientConfig, follower: LogFollower, view: LiveView, image: Image) -> None:
    """Ask each node for its log and its objects, and the leader for the lag of the others."""
    client = Client(config)
    try:
        view.quorum = await quorum_of(client, follower)
        for node in view.nodes:
            try:
                await ask_node(await client.session_at(node.address), node, follower, image)
            except NetworkError as error:
                node.reason = f"not asked: {error}"
    finally:
        await client.close()


async def ask_node(session: Session, node: LiveNode, follower: LogFollower, image: Image) -> None:
    """Ask a node. Raises NetworkError."""
    node.log = await ask_log(session, follower.epoch) or "no Fetch"
    questions: dict[int, Callable[[Session, Image], Awaitable[list[Change] | None]]]
    questions = {METADATA: ask_topics, DESCRIBE_CONFIGS: ask_configs}
    questions |= {api: partial(ask_access, api) for api in QUESTIONS}
    for api in UNANSWERED if node.name.startswith("controller") else ():
        del questions[api]
    found: list[Change] = []
    for api, question in questions.items():
        if api in session.versions.ranges and (differing := await question(session, image)) is not None:
            found += differing
            node.shown += (KINDS[api],)
    if node.shown:
        node.differing = {(each.table, each.key): each for each in found}
    else:
        node.reason = "answers none of the questions"
