"""Deletion of segments: retention.ms, retention.bytes and cleanup.policy (Kafka's UnifiedLog.deleteOldSegments)."""

from __future__ import annotations

from kcli.broker.configs import TopicConfigs
from kcli.broker.storage.log import Log


def retain(log: Log, configs: TopicConfigs, now: int) -> bool:
    """Delete segments, from the oldest on, that are too old or too many. Returns whether any went.

    The active one goes, too, with all its records; a new one begins at the log's end then.
    """
    if not configs.deletes:
        return False
    start = log.start_offset
    surplus = log.size - configs.retention_bytes if configs.retention_bytes >= 0 else 0
    for each in [one for one in log.segments if one.size]:
        old = configs.retention_ms >= 0 and 0 <= each.max_timestamp < now - configs.retention_ms
        if not old and surplus < each.size:
            break
        surplus -= each.size
        log.delete_before(each.next_offset)
    return log.start_offset != start
