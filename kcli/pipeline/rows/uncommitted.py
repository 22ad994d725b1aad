"""Rows of `uncommitted`: partitions of which a broker says that a group has committed no offset."""

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import partitions_in
from kcli.pipeline.rows.group_calls import LeadingValues
from kcli.pipeline.rows.single_rows import SingleRows

NO_OFFSET = -1
NO_OFFSET_BYTES = NO_OFFSET.to_bytes(8, "big", signed=True)


def may_lack_offsets(response: bytes | None) -> bool:
    """Return whether a response to OffsetFetch may say of a partition that no offset is committed."""
    return response is not None and NO_OFFSET_BYTES in response


def put_uncommitted(rows: SingleRows, item: Exchange, _leading: LeadingValues) -> None:
    """Put the partitions without a committed offset in an OffsetFetch response, which has one group or several."""
    answer = item.response or {}
    for group in answer.get("groups") or (answer,):
        name = group.get("groupId", (item.request or {}).get("groupId"))
        for topic, topic_id, each in partitions_in(item, group, "topics", "partitions"):
            if each["committedOffset"] == NO_OFFSET and not each["errorCode"]:
                rows.put("uncommitted", (
                    item.connection, item.correlation_id, name, topic, topic_id, each["partitionIndex"],
                ))  # fmt: skip
