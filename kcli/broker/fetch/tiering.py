"""Tiered topics (KIP-405, as far as clients can tell): closed segments are copied to a second folder.

With remote.storage.enable=true each closed segment is copied to `remote-storage/<partition>` beside the log folders.
The local copy is deleted by local.retention.ms and local.retention.bytes (-2: together with the remote one). A segment
that is only remote is read with the latency of remote.read.latency.ms, for one partition per fetch (KAFKA-14915).
"""

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
    """Copy closed segments, and delete local copies beyond local.retention.ms or local.retention.bytes. now: ms."""
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
    """Copy a segment's files. The .log comes last, as a copy is valid only with it."""
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
