"""The live topics of a replay of fetch sessions, found or created: ids, offsets, and captured partitions of live
ones.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kcli.client.cluster import Client
from kcli.client.topics import Bounds, find_topics, list_offsets
from kcli.replay.sessions.plan import ReplayPlan
from kcli.replay.topic_mapping import TopicNames
from kcli.sessions.fetch_exchange import TOPIC_IDS_SINCE, Captured, Key
from kcli.topic_names import name_fault, renaming


@dataclass(frozen=True)
class Target:
    """The live topics. names: {captured topic (id or name): live topic}; bounds: {captured partition: live offsets}."""

    client: Client
    names: Mapping[str, str]
    bounds: dict[Key, Bounds]

    def live_key(self, captured: Key, version: int) -> Key:
        """Return the live partition by the name or id that a Fetch of this version uses."""
        name = self.names[captured[0]]
        if version < TOPIC_IDS_SINCE:
            return name, captured[1]
        return self.client.known_id(name, version), captured[1]

    def leader(self, captured: Key) -> int:
        """Return the node that leads a partition now."""
        return self.client.known_leader(self.names[captured[0]], captured[1])


class LiveKeys:
    """Remembers the captured partition of each live one that was fetched."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.captured: dict[Key, Key] = {}

    def live(self, key: Key, version: int) -> Key:
        """Return the live partition of a captured one, by the name or id that a Fetch of this version uses."""
        live = self.target.live_key(key, version)
        self.captured[live] = key
        return live

    def parts_of(self, response: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Key]]:
        """Yield (partition of a live response, its captured key). Unknown partitions are left out."""
        for topic in response["responses"]:
            name = topic.get("topicId") or topic.get("topic")
            for part in topic["partitions"]:
                key = self.captured.get((name, part["partitionIndex"]))
                if key is not None:
                    yield part, key

    def translate(self, live: Captured) -> None:
        """Replace live partitions by captured ones."""
        keys = self.captured
        live.asked = [(keys.get(key, key), asked) for key, asked in live.asked]
        live.reported = [(keys.get(key, key), reported) for key, reported in live.reported]
        live.forgotten = [keys.get(key, key) for key in live.forgotten]


async def find_target(
    client: Client,
    plan: ReplayPlan,
    names: TopicNames,
    mapping: Mapping[str, str],
    *,
    create: bool = True,
    notify: Callable[[str], None] = lambda _: None,
) -> Target:
    """Find the plan's topics on the cluster, create missing ones, and list their offsets. Raises NetworkError for a
    topic that is missing or has too few partitions.

    notify: called with one line for each topic that is created, or has another name than in the capture
    """
    wanted = plan.partitions()
    live = {captured: names.live_name(captured, mapping) for captured in wanted}
    refused = [name for each in wanted if (name := names.names.get(each, each)) and name_fault(name)]
    if refused:
        notify(renaming(refused))
    sizes: dict[str, int] = {}
    for captured, name in live.items():
        sizes[name] = max(sizes.get(name, 0), wanted[captured])
        if captured not in names.names and name == captured and client.metadata.topic_id(name) is None:
            notify_unnamed(captured, notify)
    await find_topics(client, sizes, create, notify)
    keys = {key for fetcher in plan.fetchers for key in fetcher.partitions()}
    offsets = await list_offsets(client, {(live[topic], index) for topic, index in keys})
    return Target(client, live, {(topic, index): offsets[live[topic], index] for topic, index in keys})


def notify_unnamed(captured: str, notify: Callable[[str], None]) -> None:
    if len(captured) == 22:
        notify(
            f"nothing in the capture names topic id {captured}: taken for a name as it is (--topic-map {captured}=NAME)"
        )
