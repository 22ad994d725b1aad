"""Tiered topics (KIP-405, as fetches see it): closed segments are copied to a second folder, then leave the first.

A topic with remote.storage.enable=true has each segment copied to `remote-storage/<partition>` beside its other folders
when it is closed; the local copy goes by local.retention.ms and local.retention.bytes (-2: with retention itself). What
is remote alone is read with the latency of remote.read.latency.ms, and one such partition a fetch (KAFKA-14915).
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from kcli.broker.configs import TopicConfigs
from kcli.broker.storage.log import Log
from kcli.broker.storage.segment import SUFFIXES, Segment

REMOTE = "remote-storage"


def remote_folder(folder: Path) -> Path:
    """Return the folder with the copies of a partition's segments."""
    return folder.parent / REMOTE / folder.name


def tier(log: Log, configs: TopicConfigs, now: int) -> None:
    """Copy closed segments, and delete local copies beyond the retention time or size."""
    for each in log.segments[:-1]:
        if each.copy is None:
            copy(each, remote_folder(log.folder))
    surplus = local_size(log) - configs.local_retention_bytes if configs.local_retention_bytes >= 0 else 0
    for each in (one for one in log.segments[:-1] if not one.remote):
        age = configs.local_retention_ms
        old = age >= 0 and 0 <= each.max_timestamp < now - age
        if not old and surplus < each.size:
            break
        surplus -= each.size
        drop_local(each, remote_folder(log.folder))


def local_size(log: Log) -> int:
    return sum(each.size for each in log.segments if not each.remote)


def copy(segment: Segment, folder: Path) -> None:
    """Copy a segment's files; the .log last, as a copy without it does not count."""
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in reversed(SUFFIXES):
        source = segment.path_of(suffix)
        if source.exists():
            beside = folder / (source.name + ".part")
            shutil.copyfile(source, beside)
            beside.replace(folder / source.name)
    segment.copy = folder


def drop_local(segment: Segment, folder: Path) -> None:
    local = [segment.path_of(suffix) for suffix in SUFFIXES]
    segment.move(folder)
    segment.remote = True
    for path in local:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
