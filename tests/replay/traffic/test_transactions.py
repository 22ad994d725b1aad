"""What is added to a transaction in so many words, where the broker's version does not do it by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.errors import BrokerError
from kcli.records import build_batch
from kcli.replay.traffic import transactions
from kcli.replay.traffic.destinations import RETRIES
from kcli.replay.traffic.transactions import Transactions, request
from kcli.schemas.apikeys import DESCRIBE_TRANSACTIONS, PRODUCE

END, COMMIT = 26, 28


def produce(*partitions: int) -> dict[str, Any]:
    data = build_batch([(0, b"k", b"v", ())], producer_id=5, producer_epoch=1, base_sequence=0, transactional=True)
    parts = [{"index": index, "records": data} for index in partitions]
    return {"transactionalId": "x", "topicData": [{"name": "t", "partitionData": parts}]}


COMMITTED = {"transactionalId": "x", "groupId": "g", "producerId": 5, "producerEpoch": 1}


def run(monkeypatch: pytest.MonkeyPatch, *requests: tuple[int, int, int, Mapping[str, Any]]) -> list[Any]:
    asked: list[Any] = []

    async def note(_session: Any, api_key: int, body: Mapping[str, Any], high: int = 0) -> None:
        asked.append((api_key, body))

    monkeypatch.setattr(transactions, "request", note)
    made = Transactions()

    async def work() -> None:
        for key, captured, version, body in requests:
            await made.prepare(key, captured, version, body, None)  # type: ignore[arg-type]

    asyncio.run(work())
    return asked


def test_partitions_are_added_once_in_each_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = run(
        monkeypatch,
        (PRODUCE, 13, 11, produce(0)),
        (PRODUCE, 13, 11, produce(0, 1)),
        (END, 5, 4, {"transactionalId": "x"}),
        (PRODUCE, 13, 11, produce(0)),
    )
    assert [(key, [topic["partitions"] for topic in body["v3AndBelowTopics"]]) for key, body in asked] == [
        (24, [[0]]), (24, [[1]]), (24, [[0]]),
    ]  # fmt: skip
    assert asked[0][1]["v3AndBelowProducerId"] == 5
    assert asked[0][1]["v3AndBelowTransactionalId"] == "x"


def test_a_group_is_added_before_its_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = run(monkeypatch, (COMMIT, 6, 4, COMMITTED), (COMMIT, 6, 4, COMMITTED))
    assert asked == [(25, COMMITTED)]


@pytest.mark.parametrize(("captured", "version", "name"), [(11, 11, "x"), (13, 12, "x"), (13, 11, None)])
def test_nothing_is_added_where_client_or_broker_did_it(
    monkeypatch: pytest.MonkeyPatch, captured: int, version: int, name: str | None
) -> None:
    assert not run(monkeypatch, (PRODUCE, captured, version, produce(0) | {"transactionalId": name}))


def test_it_waits_for_the_transaction_before(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = [51, 51, 0]

    class Session:
        connection = dialect = None

        class versions:  # noqa: N801
            @staticmethod
            def best(_key: int, high: int) -> int:
                return high

    async def answer(*_: Any, **__: Any) -> dict[str, Any]:
        rows = [{"partitionErrorCode": codes.pop(0)}]
        return {"resultsByTopicV3AndBelow": [{"resultsByPartition": rows}]}

    monkeypatch.setattr(transactions, "call", answer)
    monkeypatch.setattr(transactions, "PAUSE", 0)
    asyncio.run(request(Session(), 24, {}))  # type: ignore[arg-type]
    assert not codes
    codes[:] = [51] * RETRIES
    with pytest.raises(BrokerError, match="does not end"):
        asyncio.run(request(Session(), 24, {}))  # type: ignore[arg-type]


def test_an_end_is_waited_for_until_its_marks_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    states = ["PrepareCommit", "PrepareCommit", "CompleteCommit", "PrepareAbort"]

    async def asked(*_: Any, **__: Any) -> Any:
        return {"transactionStates": [{"transactionState": states.pop(0)}]}

    monkeypatch.setattr(transactions, "call", asked)
    for ranges, left in (({}, 4), ({DESCRIBE_TRANSACTIONS: None}, 1)):
        session: Any = SimpleNamespace(connection=None, dialect=None, versions=SimpleNamespace(ranges=ranges))
        asyncio.run(transactions.marked("x", session))
        assert len(states) == left
