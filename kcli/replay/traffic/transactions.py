"""Sends to an older broker the requests that newer versions of transactions make unnecessary (KIP-890).

From Produce v12 and TxnOffsetCommit v5 on, the broker itself adds partitions and groups to a transaction. In older
versions a client has to send AddPartitionsToTxn and AddOffsetsToTxn before.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from kcli.client.calls import call
from kcli.client.handshake import Session
from kcli.errors import BrokerError
from kcli.replay.traffic.destinations import PAUSE, RETRIES
from kcli.schemas.apikeys import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    DESCRIBE_TRANSACTIONS,
    END_TXN,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)
from kcli.schemas.errors import error_code, error_name

IMPLICIT_SINCE = {PRODUCE: 12, TXN_OFFSET_COMMIT: 5}
OF_CLIENTS = 3  # the newest version of AddPartitionsToTxn for clients
CONCURRENT = error_code("CONCURRENT_TRANSACTIONS")  # the previous transaction still ends
ENDING = frozenset(["PrepareCommit", "PrepareAbort"])  # states in which markers are not all written
SHORT_PAUSE = 0.005

Body = Mapping[str, Any]


class Transactions:
    """The open transactions of one client. added: {transactional id: partitions and groups that were added}."""

    def __init__(self) -> None:
        self.added: dict[str, set[Any]] = {}

    async def prepare(self, api_key: int, captured: int, version: int, body: Body, session: Session) -> None:
        """Add the partitions and groups that a request of this version does not add itself. body: with live ids. Raises
        NetworkError.
        """
        name = body.get("transactionalId")
        if api_key == END_TXN and name:
            self.added.pop(name, None)
        since = IMPLICIT_SINCE.get(api_key)
        if since is None or not name or captured < since or version >= since:
            return
        known = self.added.setdefault(name, set())
        producer = {"transactionalId": name, **producer_of(api_key, body)}
        if api_key == TXN_OFFSET_COMMIT:
            if body["groupId"] not in known:
                await request(session, ADD_OFFSETS_TO_TXN, producer | {"groupId": body["groupId"]})
                known.add(body["groupId"])
            return
        new = {(topic["name"], part["index"]) for topic in body["topicData"] for part in topic["partitionData"]} - known
        if new:
            topics = [{"name": topic, "partitions": [index]} for topic, index in sorted(new)]
            below = {f"v3AndBelow{key[0].upper()}{key[1:]}": value for key, value in producer.items()}
            await request(session, ADD_PARTITIONS_TO_TXN, below | {"v3AndBelowTopics": topics}, high=OF_CLIENTS)
            known |= new


def producer_of(api_key: int, body: Body) -> dict[str, int]:
    """Return the producer's id and epoch of a request; a Produce has them in its batches."""
    if api_key != PRODUCE:
        return {name: body[name] for name in ("producerId", "producerEpoch")}
    from kcli.replay.produced_batches import batches_of

    for topic in body["topicData"]:
        for part in topic["partitionData"]:
            for batch in batches_of(part["records"] or b""):
                return {"producerId": batch.producer_id, "producerEpoch": batch.producer_epoch}
    return {"producerId": -1, "producerEpoch": -1}


async def request(session: Session, api_key: int, body: Body, high: int = 32_767) -> None:
    """Send a request until the previous transaction has ended. Other errors are ignored; the caller's own request will
    show them. Raises BrokerError if that transaction does not end.
    """
    version = session.versions.best(api_key, high=high)
    for _ in range(RETRIES):
        answer = await call(session.connection, api_key, version, body, dialect=session.dialect)
        codes = {answer.get("errorCode", 0)} | {
            part["partitionErrorCode"]
            for topic in answer.get("resultsByTopicV3AndBelow") or ()
            for part in topic["resultsByPartition"]
        }
        if CONCURRENT not in codes:
            return
        await asyncio.sleep(PAUSE)
    raise BrokerError(CONCURRENT, error_name(CONCURRENT), "the transaction before does not end")


async def marked(transaction: str, session: Session) -> None:
    """Wait until the markers of a transaction that has ended are written, if the coordinator can report it
    (KIP-664).
    """
    if DESCRIBE_TRANSACTIONS not in session.versions.ranges:
        return
    for _ in range(RETRIES):
        body = {"transactionalIds": [transaction]}
        answer = await call(session.connection, DESCRIBE_TRANSACTIONS, 0, body, dialect=session.dialect)
        if not any(each["transactionState"] in ENDING for each in answer["transactionStates"]):
            return
        await asyncio.sleep(SHORT_PAUSE)
