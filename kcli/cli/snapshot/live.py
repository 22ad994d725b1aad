"""Follows the metadata of a live quorum: fetches its log, and the snapshot before that, into a folder."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path

import click

from kcli.cli.options import Command
from kcli.cli.options.client import configure
from kcli.cli.snapshot.quorum_calls import answers, find_controllers
from kcli.cli.terminal.console import warn
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.counting import counted
from kcli.errors import NetworkError
from kcli.snapshots.live.follow import LogFollower
from kcli.snapshots.live.quorum_reader import Committed, Write
from kcli.snapshots.reading.files import metadata_directory
from kcli.temporary import TemporaryFolder

ADDRESSES = re.compile(r"[^/,@\s]+:\d{1,5}(,[^/,@\s]+:\d{1,5})*")
LEADERLESS = 60.0  # seconds to wait for a leader


def client_config_option(command: Command) -> Command:
    """Add --client-config, as `settings`."""
    return click.option(
        "--client-config",
        "settings",
        multiple=True,
        metavar="FILE|KEY=VALUE",
        help="Client properties for HOST:PORT by Kafka's names, from a file or one by one; the last value wins.",
    )(command)


def is_live(source: str) -> bool:
    """Return whether a source is addresses of a quorum, and not a path."""
    return ADDRESSES.fullmatch(source) is not None and not Path(source).exists()


@contextmanager
def folder_of(source: str, settings: Sequence[str], quiet: bool) -> Iterator[Path]:
    """Yield the folder of a source; for addresses of a live quorum a copy of its log, which is removed at the end."""
    if not is_live(source):
        yield metadata_directory(source)
        return
    config = configure(source, settings, quiet=quiet)
    with TemporaryFolder("kcli-metadata-") as name:
        asyncio.run(copy_log(config, Path(name)))
        yield Path(name)


async def copy_log(config: ClientConfig, folder: Path) -> LogFollower:
    """Copy a quorum's log up to the high watermark, and the snapshot before it. Returns the follower, which knows the
    leader.

    Raises NetworkError if there is no leader for LEADERLESS seconds.
    """
    client = Client(config)
    try:
        follower = LogFollower(await find_controllers(client))
        async for piece in committed(client, follower, folder, patience=LEADERLESS):
            with (folder / f"{piece.base_offset:020d}.log").open("wb") as file:
                file.write(piece.data)
            if follower.is_caught_up:
                break
        return follower
    finally:
        await client.close()


class LeaderSearch:
    """Says once that a quorum has no leader, as soon as each of its nodes was asked."""

    def __init__(self, follower: LogFollower, patience: float) -> None:
        self.follower, self.patience = follower, patience
        self.since: float | None = None
        self.requests, self.was_reported = 0, False

    def look(self) -> None:
        """Check the result of the last request. Raises NetworkError if there was no leader for too long."""
        follower, now = self.follower, time.monotonic()
        if not follower.refusals:
            self.since, self.requests, self.was_reported = None, 0, False
            return
        self.since, self.requests = self.since or now, self.requests + 1
        nodes = ",".join(f"{each.host}:{each.port}" for each in follower.bootstrap)
        text = f"no leader: {counted(len(follower.bootstrap), 'node')} asked, the epoch is {follower.epoch}"
        if self.requests >= len(follower.bootstrap) and not self.was_reported:
            self.was_reported = True
            warn(f"{text}; still trying (to find the cause: kcli snapshot doctor {nodes})")
        if now - self.since > self.patience:
            raise NetworkError(f"{text}, for {self.patience:.0f} s (kcli snapshot doctor {nodes})")


async def committed(
    client: Client, follower: LogFollower, folder: Path, *, patience: float = inf
) -> AsyncIterator[Committed]:
    """Yield the committed batches of a quorum, piece by piece, without an end. A snapshot that replaces the next part
    of the log is stored in the folder first.

    If there is no leader, this prints one line and continues to search. Raises NetworkError after `patience` seconds
    without one.
    """
    search = LeaderSearch(follower, patience)
    async for result in answers(client, follower):
        search.look()
        if isinstance(result, Write) and follower.id is not None:
            with (folder / follower.id.file_name).open("r+b" if result.position else "wb") as file:
                file.seek(result.position)
                file.write(result.data)
        if isinstance(result, Committed):
            yield result
