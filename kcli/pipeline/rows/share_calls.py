"""Rows of `share_calls`: records that a share group gives to a member, and what the member makes of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import partitions_in
from kcli.pipeline.rows.group_calls import LeadingValues
from kcli.pipeline.rows.single_rows import SingleRows
from kcli.schemas.apikeys import SHARE_FETCH
from kcli.schemas.errors import error_name

TYPES = (1, 2, 3)  # of acknowledgements: accept, release, reject
MOST = 1 << 31  # records of a partition, and so also the most that a damaged batch counts for
LAST = (1 << 63) - 1  # the greatest offset


def put_share_call(rows: SingleRows, item: Exchange, _leading: LeadingValues) -> None:
    """Put the partitions of a ShareFetch or ShareAcknowledge that give or acknowledge records."""
    request, fetches = item.request or {}, item.api_key == SHARE_FETCH
    member = (item.connection, item.correlation_id, request.get("groupId"), request.get("memberId"))
    made: dict[tuple[str | None, int], Counter[int]] = {
        (topic_id, each["partitionIndex"]): acknowledged(each.get("acknowledgementBatches") or ())
        for _topic, topic_id, each in partitions_in(item, request, "topics", "partitions")
    }
    for topic, topic_id, each in partitions_in(item, item.response, "responses", "partitions"):
        acquired = each.get("acquiredRecords") or ()
        counts = made.get((topic_id, each["partitionIndex"]), Counter())
        if not (acquired or counts):
            continue
        code = each["acknowledgeErrorCode" if fetches else "errorCode"]
        rows.put("share_calls", (
            *member, topic or topic_id, each["partitionIndex"], length(acquired),
            length(batch for batch in acquired if batch["deliveryCount"] > 1),
            max((batch["deliveryCount"] for batch in acquired), default=None),
            max((min(batch["lastOffset"] + 1, LAST) for batch in acquired if batch["deliveryCount"] < 2), default=None),
            *(counts[kind] for kind in TYPES), counts.total(), error_name(code) if code else None,
            (item.response or {}).get("acquisitionLockTimeoutMs"),
        ))  # fmt: skip


def length(batches: Iterable[Mapping[str, Any]]) -> int:
    """Return the number of offsets of batches; each counts for 0 to MOST."""
    return sum(min(max(batch["lastOffset"] - batch["firstOffset"] + 1, 0), MOST) for batch in batches)


def acknowledged(batches: Iterable[Mapping[str, Any]]) -> Counter[int]:
    """Return the number of offsets by type of acknowledgement. A batch has one type for all its offsets, or a type for
    each.
    """
    found: Counter[int] = Counter()
    for batch in batches:
        types = batch["acknowledgeTypes"]
        if len(types) == 1:
            found[types[0]] += length((batch,))
        else:
            found.update(types)
    return found
