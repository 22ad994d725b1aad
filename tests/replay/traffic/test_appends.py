"""Requests in the order in which the captured logs took them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from kcli.capture.kafka.exchange import Exchange
from kcli.records import build_batch
from kcli.replay.traffic import appends
from kcli.replay.traffic.appends import Appends
from kcli.replay.traffic.captured_exchanges import in_order
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.steps import Step, StepSequence
from kcli.schemas.apikeys import END_TXN, PRODUCE
from kcli.schemas.catalog import catalog
from tests.replay.traffic.made import exchange

A, B, C = "10.0.0.1:1", "10.0.0.1:2", "10.0.0.1:3"


def produce(
    at: int, took: int, client: str, offset: int, partition: int = 0, transaction: str | None = None
) -> Exchange:
    """Two records at that offset."""
    data = build_batch([(0, None, b"a", ()), (0, None, b"b", ())])
    part = {"index": partition, "records": data}
    request = {"transactionalId": transaction, "topicData": [{"name": "t", "partitionData": [part]}]}
    answer = {"index": partition, "errorCode": 0, "baseOffset": offset, "logAppendTimeMs": -1, "logStartOffset": 0}
    response = {"responses": [{"name": "t", "partitionResponses": [answer]}]}
    return exchange(PRODUCE, 7, request, response, at=at, took=took, client=client)


def end(at: int, took: int, client: str, transaction: str) -> Exchange:
    request = {"transactionalId": transaction, "producerId": 1, "producerEpoch": 0, "committed": True}
    return exchange(END_TXN, 1, request, {"errorCode": 0}, at=at, took=took, client=client)


def response_ns(item: Exchange) -> int:
    return item.response_ns or 0


def waits(items: Sequence[Exchange]) -> dict[int, set[int]]:
    """For each exchange, by its place in `items`, the places of those whose answers on other connections it waits for.

    Every exchange is still on its way when the next one comes.
    """

    async def work() -> dict[int, set[int]]:
        made, choice = dict[int, Step](), Choice(catalog(None))
        known = Appends()
        order = StepSequence(choice, min(each.request_ns for each in items), known)
        answered = sorted(items, key=response_ns)
        for each in in_order(known.watch(answered), 1 << 20):
            made[items.index(each)] = order.step(each)
        return {
            number: {other for other, one in made.items() if one.done in step.after} for number, step in made.items()
        }

    return asyncio.run(work())


def test_what_has_a_lower_offset_goes_first_although_it_was_asked_later() -> None:
    first, second, third = produce(0, 50, A, 4), produce(5, 20, B, 2), produce(9, 1, C, 0)
    assert waits([first, second, third]) == {0: {1}, 1: {2}, 2: set()}


def test_partitions_and_pipelined_requests_do_not_wait_for_each_other() -> None:
    assert waits([produce(0, 9, A, 0), produce(1, 9, B, 2, partition=1), produce(2, 9, A, 2)]) == {
        0: set(),
        1: set(),
        2: set(),
    }


def test_the_mark_of_a_transaction_stands_where_no_batch_does() -> None:
    """x's batch at 0, its mark at 4 behind B's batch, which was asked for when the transaction had been ended."""
    batch, commit, other, behind = (
        produce(0, 1, A, 0, 0, "x"),
        end(2, 1, A, "x"),
        produce(5, 2, B, 2),
        produce(8, 1, C, 5),
    )
    assert waits([batch, commit, other, behind]) == {0: set(), 1: {0, 2}, 2: {0}, 3: {0, 1, 2}}


def test_an_end_behind_all_batches_waits_for_the_last() -> None:
    batch, other, commit = produce(0, 1, A, 0, 0, "x"), produce(2, 9, B, 2), end(3, 1, A, "x")
    assert 1 in waits([batch, other, commit])[2]


def test_two_transactions_end_in_the_order_of_their_answers() -> None:
    items = [
        produce(0, 1, A, 0, 0, "x"),
        produce(0, 2, B, 2, 0, "y"),
        end(4, 3, A, "x"),
        end(5, 1, B, "y"),
        produce(9, 1, C, 6),
    ]
    found = waits(items)
    assert 3 in found[2]  # y's mark at 4, x's at 5
    assert 2 in found[4]


def test_old_appends_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appends, "MOST", 2)

    async def work() -> list[int]:
        known = Appends()
        for _ in known.watch([produce(n, 1, A, 2 * n) for n in range(5)]):
            pass
        return [each.start for each in known.logs["t", 0].appends]

    assert asyncio.run(work()) == [6, 8]
