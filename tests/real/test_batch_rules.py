"""Batches offered to a real broker: it takes and refuses what `kcli check batch` says, with the same error codes."""

import asyncio
import os
import time
from typing import Any

from kcli.broker.acceptance import batch_verdict
from kcli.client.address import parse_address
from kcli.client.calls import call
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.records.acceptance import is_transactional
from kcli.schemas.apikeys import CREATE_TOPICS, PRODUCE
from kcli.schemas.errors import error_name
from tests.real.batch_cases import BatchCase, by_hand, mutated, of_vectors
from tests.real.lab import Cluster

NOT_YET = ("UNKNOWN_TOPIC_OR_PARTITION", "LEADER_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER")
SEED = int(os.environ.get("SEED", "1"))
AT_ONCE = 200  # partitions of a topic: each field of records has one of its own


def test_a_real_broker_agrees() -> None:
    cases = [*by_hand(), *of_vectors(), *mutated(SEED, 500)]
    with Cluster("4.4.0", config={"log.index.size.max.bytes": 4096}) as cluster:
        codes = asyncio.run(answers(cluster.bootstrap, cases))
    wrong = [
        (case.name, error_name(code), error)
        for case, code in zip(cases, codes, strict=True)
        if (error := verdict(case)) != error_name(code)
    ]
    assert wrong == []


def verdict(case: BatchCase) -> str:
    if is_transactional(case.records):
        return "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    return batch_verdict(case.records, case.version, "4.4", time.time_ns() // 1_000_000).error


async def answers(bootstrap: str, cases: list[BatchCase]) -> list[int]:
    """The error code for each."""
    connection = await BrokerConnection.open(parse_address(bootstrap), ClientConfig({}))
    try:
        names = [f"t{number}" for number in range(-(-len(cases) // AT_ONCE))]
        topics = [{"name": name, "numPartitions": AT_ONCE, "replicationFactor": 1} for name in names]
        await call(connection, CREATE_TOPICS, 5, {"topics": topics, "timeoutMs": 60_000})
        return [await answer(connection, number, case) for number, case in enumerate(cases)]
    finally:
        await connection.close()


async def answer(connection: BrokerConnection, number: int, case: BatchCase) -> int:
    part = {"index": number % AT_ONCE, "records": case.records}
    topic: dict[str, Any] = {"name": f"t{number // AT_ONCE}", "partitionData": [part]}
    while True:
        asked = {"acks": 1, "timeoutMs": 5000, "topicData": [topic]}
        response = await call(connection, PRODUCE, case.version, asked)
        code = int(response["responses"][0]["partitionResponses"][0]["errorCode"])
        if error_name(code) not in NOT_YET:
            return code
        await asyncio.sleep(0.1)
