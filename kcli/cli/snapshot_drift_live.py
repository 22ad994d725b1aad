"""kcli snapshot drift HOST:PORT: the nodes of a live quorum by what they answer, beside the quorum's log.

Only the leader gives its log and snapshots. What the other nodes hold shows in their answers to DescribeConfigs: the
configs of topics, as each node has them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcli.cli.client_options import configure
from kcli.cli.snapshot_live import copy_log
from kcli.cli.snapshot_watch import quorum_of
from kcli.client.address import Address
from kcli.client.calls import call
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from kcli.schemas.apikeys import DESCRIBE_CONFIGS
from kcli.snapshots.follow import LogFollower
from kcli.snapshots.texts import SECURITY_PROTOCOLS

if TYPE_CHECKING:
    from kcli.snapshots.image import Image

__all__ = ["LiveNode", "LiveView", "compare_live", "nodes_of"]

TOPIC, DYNAMIC_TOPIC_CONFIG = 2, 1
AT_ONCE = 200  # topics of one request
PAUSE = 1.0  # seconds until what differs is looked at again


@dataclass(slots=True)
class LiveNode:
    """name: "broker 3"; differing: {(topic, config): (by the log, by the node)}, None where it could not be asked,
    for the `reason`."""

    name: str
    number: int
    address: Address
    differing: dict[tuple[str, str], tuple[str | None, str | None]] | None = None
    reason: str = ""


@dataclass(slots=True)
class LiveView:
    """What the nodes answer, as lines of text and as rows of JSON. offset: the end of the log beside them."""

    nodes: list[LiveNode]
    offset: int
    behind: dict[int, int] = field(default_factory=dict)

    @property
    def is_drift(self) -> bool:
        """Whether a node answers otherwise than the log."""
        return any(node.differing for node in self.nodes)

    @property
    def verdict(self) -> str:
        """One line."""
        found = len({key for node in self.nodes for key in node.differing or ()})
        asked = sum(node.differing is not None for node in self.nodes)
        state = f"{found} configs of topics differ" if found else "the configs of topics are the same"
        return f"{asked} of {len(self.nodes)} nodes asked, the log up to offset {self.offset}: {state}"

    def table(self) -> list[list[str]]:
        """The nodes in rows of columns."""
        rows = [["node", "address", "behind", "configs of topics"]]
        for node in self.nodes:
            state = (
                node.reason if node.differing is None else f"{len(node.differing)} differ" if node.differing else "same"
            )
            behind = self.behind.get(node.number)
            rows.append([node.name, str(node.address), "?" if behind is None else f"{behind}", state])
        return rows

    def lines(self) -> Iterator[str]:
        """What differs."""
        for node in self.nodes:
            for (topic, name), (logged, held) in sorted((node.differing or {}).items()):
                values = f"{value_text(logged)} by the log, {value_text(held)} on {node.name}"
                yield f"config TOPIC {topic} {name}: {values}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """The same as JSON objects."""
        for node in self.nodes:
            state = None if node.differing is None else len(node.differing)
            row = {"event": "node", "node": node.name, "address": str(node.address), "endOffset": self.offset}
            yield row | {"behind": self.behind.get(node.number), "differing": state, "reason": node.reason or None}
        for node in self.nodes:
            for (topic, name), (logged, held) in sorted((node.differing or {}).items()):
                values = {"log": logged, node.name: held}
                yield {"event": "drift", "table": "configs", "key": ["TOPIC", topic, name], "values": values}


def value_text(value: str | None) -> str:
    return "none" if value is None else f"value {value}"


def compare_live(addresses: str, settings: Sequence[str], quiet: bool, folder: Path, dialect: str | None) -> LiveView:
    """Ask every node of a quorum, and hold the answers to its log; what differs is asked again, beside a newer log."""
    config = configure(addresses, settings, quiet=quiet)
    view = one_look(config, folder / "1", dialect)
    if view.is_drift:
        time.sleep(PAUSE)
        again = one_look(config, folder / "2", dialect)
        known = {node.name: node.differing or {} for node in view.nodes}
        for node in again.nodes:
            if node.differing:
                same = known.get(node.name, {})
                node.differing = {key: values for key, values in node.differing.items() if same.get(key) == values}
        return again
    return view


def one_look(config: ClientConfig, folder: Path, dialect: str | None) -> LiveView:
    """The log, and what each node answers."""
    from kcli.snapshots.reading import Wanted, load_image

    folder.mkdir()
    follower = asyncio.run(copy_log(config, folder))
    image = load_image(Wanted(str(folder)), dialect=dialect).loader.image
    view = LiveView(nodes_of(image, config["security.protocol"]), image.provenance.end_offset)
    asyncio.run(ask_nodes(config, follower, view, image))
    return view


def nodes_of(image: Image, protocol: str) -> list[LiveNode]:
    """The registered brokers and controllers, at their listeners for a security protocol."""
    found = []
    for kind, nodes in (("controller", image.controllers), ("broker", image.brokers)):
        for number, node in sorted(nodes.items()):
            points = [
                each for each in node["endPoints"] if SECURITY_PROTOCOLS.get(each["securityProtocol"]) == protocol
            ]
            found += [LiveNode(f"{kind} {number}", number, Address(each["host"], each["port"])) for each in points[:1]]
    return found


async def ask_nodes(config: ClientConfig, follower: LogFollower, view: LiveView, image: Image) -> None:
    """Ask each node for the configs of all topics, and the leader who is behind."""
    client = Client(config)
    try:
        if quorum := await quorum_of(client, follower):
            view.behind = quorum.voters | quorum.observers
        for node in view.nodes:
            try:
                node.differing = await differing(client, node.address, image)
                node.reason = "" if node.differing is not None else "has no DescribeConfigs"
            except NetworkError as error:
                node.reason = f"not asked: {error}"
    finally:
        await client.close()


async def differing(
    client: Client, address: Address, image: Image
) -> dict[tuple[str, str], tuple[str | None, str | None]] | None:
    """The configs of topics that a node has otherwise than an image; None: it does not answer that."""
    session = await client.session_at(address)
    if DESCRIBE_CONFIGS not in session.versions.ranges:
        return None
    version = session.versions.best(DESCRIBE_CONFIGS)
    topics = [topic.name for topic in image.sorted_topics()]
    found: dict[tuple[str, str], tuple[str | None, str | None]] = {}
    for first in range(0, len(topics), AT_ONCE):
        resources = [
            {"resourceType": TOPIC, "resourceName": name, "configurationKeys": None}
            for name in topics[first : first + AT_ONCE]
        ]
        body = {"resources": resources, "includeSynonyms": False, "includeDocumentation": False}
        answer = await call(session.connection, DESCRIBE_CONFIGS, version, body)
        for result in answer["results"]:
            if not result["errorCode"]:
                found |= differences(result, image.configs.get((TOPIC, result["resourceName"]), {}))
    return found


def differences(result: dict[str, Any], logged: dict[str, str]) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    """One topic's: what the node has set for it, and what the log has; sensitive values are not shown, nor compared."""
    hidden = {each["name"] for each in result["configs"] if each["isSensitive"]}
    held = {each["name"]: each["value"] for each in result["configs"] if each["configSource"] == DYNAMIC_TOPIC_CONFIG}
    names = sorted((held.keys() | logged.keys()) - hidden)
    topic = result["resourceName"]
    return {(topic, name): (logged.get(name), held.get(name)) for name in names if logged.get(name) != held.get(name)}
