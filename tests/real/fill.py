"""Topics made and filled through kcli's own client, so that a replay finds records where the capture had them."""

import asyncio
import time
from collections.abc import Mapping
from functools import partial

from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.client.topics import find_topics
from kcli.errors import BrokerError
from kcli.records import build_batch
from kcli.replay.sessions.plan import ReplayPlan
from kcli.replay.topic_mapping import TopicNames
from kcli.schemas.errors import error_name

__all__ = ["fill", "needed"]

PRODUCE = 0
VALUE = b"x" * 20


def needed(plan: ReplayPlan, names: TopicNames) -> dict[tuple[str, int], int]:
    """How many records each partition must hold for every captured offset to be there, and one more."""
    counts: dict[tuple[str, int], int] = {}
    for fetcher in plan.fetchers:
        for topic, index in fetcher.carried:
            counts.setdefault((names.live_name(topic, {}), index), 1)
        for step in fetcher.steps:
            for (topic, index), asked in step.captured.asked:
                key = names.live_name(topic, {}), index
                counts[key] = max(counts.get(key, 0), asked[0] + 1)
    return counts


def fill(bootstrap: str, counts: Mapping[tuple[str, int], int]) -> None:
    """Make the topics, and write that many small records to each partition."""
    asyncio.run(write(bootstrap, counts))


async def write(bootstrap: str, counts: Mapping[tuple[str, int], int]) -> None:
    sizes: dict[str, int] = {}
    for topic, index in counts:
        sizes[topic] = max(sizes.get(topic, 0), index + 1)
    async with Client(ClientConfig({"bootstrap.servers": bootstrap})) as client:
        await find_topics(client, sizes, True, lambda _: None)
        for topic in sizes:
            if topic.startswith("__"):
                continue  # its own: nobody may write to it
            parts = {index: count for (name, index), count in counts.items() if name == topic}
            await client.retrying(partial(write_topic, client, topic, parts))


async def write_topic(client: Client, topic: str, parts: Mapping[int, int]) -> None:
    by_node: dict[int, list[int]] = {}
    for index in parts:
        leader = client.leader(topic, index)
        assert leader is not None
        by_node.setdefault(leader.node, []).append(index)
    # Records of long ago would be deleted at once, by retention.
    now = round(time.time() * 1000)
    for node, indexes in by_node.items():
        data = [
            {"index": index, "records": build_batch((now, None, VALUE, ()) for _ in range(parts[index]))}
            for index in indexes
        ]
        body = {"acks": -1, "timeoutMs": 10_000, "topicData": [{"name": topic, "partitionData": data}]}
        answer = await client.call(PRODUCE, body, node=node, high=12)
        errors = [part["errorCode"] for each in answer["responses"] for part in each["partitionResponses"]]
        for code in filter(None, errors):
            raise BrokerError(code, error_name(code), topic)
