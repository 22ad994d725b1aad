"""Requests to an embedded broker that runs in a thread."""

from __future__ import annotations

import asyncio
from typing import Any

from kcli.broker.embedded import EmbeddedBroker
from kcli.schemas.apikeys import PRODUCE
from tests.broker.talk import Talk, batch, connected, produced


def ask(
    kafka: EmbeddedBroker, api: int, version: int, body: dict[str, Any], *, node: int = 0, client: str = "talk"
) -> dict[str, Any]:
    """One answer of a node, by its place."""

    async def work() -> dict[str, Any]:
        async with connected(kafka.broker, node, client_id=client) as talk:
            return await Talk.__call__(talk, api, version, body)

    return asyncio.run(asyncio.wait_for(work(), 60))


def produce(kafka: EmbeddedBroker, topic: str, *partitions: int, **more: Any) -> list[dict[str, Any]]:
    """The answers for a record in each of these partitions, sent in one request."""
    data = [produced(topic, each, batch("x"))["partitionData"][0] for each in partitions or (0,)]
    body = {"acks": -1, "timeoutMs": 1000, "topicData": [{"name": topic, "partitionData": data}]}
    rows: list[dict[str, Any]] = ask(kafka, PRODUCE, 9, body, **more)["responses"][0]["partitionResponses"]
    return rows
