"""ShareFetch v1-v2 (KIP-932, KIP-1206 strict record limits, KIP-1222 renewed locks): it acquires records for a member.

* The partitions are those of the share session (`share.sessions`). The request also acknowledges earlier records.
* With share.isolation.level=read_committed records of aborted transactions are archived.
* Records are acquired in whole batches, which may exceed maxRecords, unless shareAcquireMode is 1.
* The response waits for records, as with Fetch; partitions without records are left out, but in a session's
  first response.
"""

from collections.abc import Awaitable, Iterator
from typing import Any, NamedTuple

from kcli.broker.fetch.fetching import by_topic
from kcli.broker.fetch.purgatory import DelayedFetch
from kcli.broker.fetch.records_slot import RecordsSlots
from kcli.broker.partition import Key
from kcli.broker.request import Request
from kcli.broker.response import Answer
from kcli.broker.share.acknowledging import acknowledge, checked_group, error_row, find, limits_of, shared
from kcli.broker.share.group import ShareGroup
from kcli.broker.share.partition import Acquired, BatchRange, ShareLimits
from kcli.broker.share.sessions import FIRST, LAST, ShareSession
from kcli.broker.storage.log import Log
from kcli.broker.storage.segment import Slice
from kcli.records.acceptance import RefusedError
from kcli.records.batches import Batch, scan
from kcli.schemas.errors import error_code

STRICT = 1
BY_DEFAULT = 500  # records, if the request has no maxRecords


class Found(NamedTuple):
    """The result for a partition. records: of whole batches; acquired: the ranges of them for the member; error, said:
    the code and message.
    """

    records: Slice | None = None
    acquired: tuple[Acquired, ...] = ()
    error: int = 0
    message: str | None = None


class ShareWork:
    """A share fetch between request and answer."""

    def __init__(self, request: Request, group: ShareGroup, session: ShareSession) -> None:
        self.request, self.group, self.session = request, group, session
        self.limits: ShareLimits = limits_of(request, group.id)
        self.acknowledged: dict[Key, tuple[int, str | None]] = {}
        self.found: dict[Key, Found] = {}

    def look(self) -> None:
        """Acquire the available records of the session's partitions, up to the request's limits."""
        body = self.request.body
        left, size = body.get("maxRecords", 0) or BY_DEFAULT, body["maxBytes"]
        for key in [*self.session.partitions]:
            if left <= 0 or size <= 0:
                break
            try:
                each = self.read(key, left, size)
            except RefusedError as refused:
                each = Found(error=error_code(refused.error), message=str(refused))
            if each.records is not None or each.error:
                self.found[key] = each
            left -= sum(some.last - some.first + 1 for some in each.acquired)
            size -= each.records.size if each.records is not None else 0

    def read(self, key: Key, most: int, size: int) -> Found:
        """Acquire records of one partition. Raises RefusedError."""
        partition = find(self.request, key)
        if code := self.request.fault(partition.topic.name, partition.index):
            return Found(error=code)
        share, log = shared(self.request, self.group, key, partition), partition.log
        if log is None:
            return Found()
        committed = self.request.controller.group_config(self.group.id, "share.isolation.level") == "read_committed"
        limit = partition.last_stable_offset if committed else partition.end_offset
        strict = self.request.body.get("shareAcquireMode") == STRICT
        while (offset := share.next_offset) < limit:
            records = log.read(offset, size, True, limit if limit < log.end_offset else None)
            if records is None:
                break
            batches = [*scan(records.read(), check=False, damages=[])]
            if committed:
                share.archive(aborted_of(log, batches), self.limits)
            spans = [BatchRange(each.base_offset, each.last_offset) for each in batches]
            acquired = share.acquire(self.request.body["memberId"], spans, most, self.limits, strict=strict)
            if acquired:
                return Found(records, tuple(acquired))
            if share.next_offset == offset:
                break  # All records of these batches are acquired already.
        return Found()

    def answer(self) -> Answer:
        """Encode the response."""
        slots = RecordsSlots()
        # Slots are filled in the order in which their fields stand in the answer.
        every = self.session.partitions if self.request.body["shareSessionEpoch"] == FIRST else ()
        shown = sorted({*self.acknowledged, *self.found, *every})
        rows = [(key, self.row(key, slots)) for key in shown]
        self.session.rotate()
        body: dict[str, Any] = {"errorCode": 0, "errorMessage": None, "responses": by_topic("topicId", rows)}
        body["acquisitionLockTimeoutMs"] = round(self.limits.lock * 1000)
        return self.request.api.encode_with(body, slots.filled)

    def row(self, key: Key, slots: RecordsSlots) -> dict[str, Any]:
        found, (code, message) = self.found.get(key, Found()), self.acknowledged.get(key, (0, None))
        made = error_row(self.request, key, found.error, found.message)
        made |= {
            "acknowledgeErrorCode": code,
            "acknowledgeErrorMessage": message,
            "records": slots.field(found.records),
        }
        rows = [
            {"firstOffset": one.first, "lastOffset": one.last, "deliveryCount": one.deliveries}
            for one in found.acquired
        ]
        return made | {"acquiredRecords": rows}

    async def wait(self) -> Answer:
        """Look again whenever records are written or released, until some are acquired or maxWaitMs are over.

        Returns the response.
        """
        clock, purgatory = self.request.services.clock, self.request.node.purgatory
        until = clock.time() + self.request.body["maxWaitMs"] / 1000
        while not self.found and clock.time() < until and not self.request.client.half_closed.is_set():
            seen = purgatory.events
            watch = DelayedFetch(tuple(self.session.partitions), 1)
            purgatory.add(watch)
            self.request.client.on_half_closed(watch.woken)
            timer = clock.call_later(until - clock.time(), watch.woken.set)
            try:
                self.look()
                if not self.found and purgatory.events == seen:
                    await watch.woken.wait()
            finally:
                timer.cancel()
                purgatory.remove(watch)
        return self.answer()


def handle(request: Request) -> Answer | Awaitable[Answer]:
    body = request.body
    if code := request.fault() or request.denial_of_group(body["groupId"]):
        return {"errorCode": code, "errorMessage": None, "responses": []}
    epoch = body["shareSessionEpoch"]
    try:
        group = checked_group(request)
        session = request.node.share_sessions.fetch(group, body["memberId"], epoch, request.client)
    except RefusedError as refused:
        return refused.row() | {"responses": []}
    work = ShareWork(request, group, session)
    work.acknowledged = acknowledge(request, group, body["topics"])
    added = ((topic["topicId"], each["partitionIndex"]) for topic in body["topics"] for each in topic["partitions"])
    session.follow(added, keys_of(body["forgottenTopicsData"]))
    if epoch == LAST:
        session.release()
        return work.answer()
    work.look()
    idle = not session.partitions or body.get("isRenewAck")
    return work.answer() if work.found or work.acknowledged or idle or body["maxWaitMs"] <= 0 else work.wait()


def aborted_of(log: Log, batches: list[Batch]) -> list[BatchRange]:
    """Return the ranges of those of the batches that belong to aborted transactions."""
    if not batches:
        return []
    aborted = [*log.aborted(batches[0].base_offset, batches[-1].last_offset + 1)]
    return [BatchRange(each.base_offset, each.last_offset) for each in batches if any(one.has(each) for one in aborted)]


def keys_of(topics: list[dict[str, Any]]) -> Iterator[Key]:
    return ((topic["topicId"], index) for topic in topics for index in topic["partitions"])
