"""Snapshots that commands write. They have a temporary name until they are complete, so that no reader opens a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kcli.cli.terminal.output import SEALED, open_output, open_private, sync_folder
from kcli.errors import UsageError

if TYPE_CHECKING:
    from kcli.snapshots.reading.names import SnapshotId


@contextmanager
def place_snapshot(folder: Path, identity: SnapshotId) -> Iterator[tuple[IO[bytes], Path]]:
    """Write a snapshot as Kafka does: under another name, to the disk, read-only, renamed. A failure leaves nothing.

    UsageError when there is one of this id already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / identity.file_name
    if final.exists():
        raise UsageError(f"{final} exists already (another directory expected)")
    with open_output(final, (), sealed=True) as stream:
        yield stream, final


def private_part(path: Path, keep: bool = False) -> IO[bytes]:
    """Open a partial snapshot, readable by its owner only, as it can hold the keys of SCRAM. keep: keep its present
    bytes.
    """
    return os.fdopen(open_private(path, os.O_RDWR | (0 if keep else os.O_TRUNC)), "r+b")


def settle(stream: IO[bytes]) -> None:
    """Sync everything written to the disk."""
    stream.flush()
    os.fsync(stream.fileno())


def publish(part: Path, final: Path) -> None:
    """Give a finished file its name, readable by its owner only, as Kafka does, and sync the directory."""
    part.chmod(SEALED)
    part.rename(final)
    sync_folder(final.parent)
