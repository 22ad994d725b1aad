"""kcli snapshot watch: changes of a live cluster's metadata, as they are committed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kcli.calendar import now_ms
from kcli.cli.options.client import configure
from kcli.cli.options.duration import Duration
from kcli.cli.options.inputs import dialect_option, quiet_option, secrets_option, text_format_option
from kcli.cli.snapshot.changes import ShownOptions, change_options, event_line, is_implied, take_filters
from kcli.cli.snapshot.live import client_config_option, committed
from kcli.cli.snapshot.quorum_calls import describe_quorum, find_controllers
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import Lines
from kcli.cli.terminal.output import open_output, output_option
from kcli.client.address import Address
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.errors import InputError, NetworkError
from kcli.jsontext import dumps
from kcli.snapshots.live.follow import LogFollower
from kcli.snapshots.quorum.described import Described, ReplicaKey, described
from kcli.snapshots.survey_json import instant
from kcli.temporary import TemporaryFolder

if TYPE_CHECKING:
    from kcli.snapshots.history.history import Event, HistoryLoader

WAIT_MS = 300  # that a leader may wait for something new
LAG = 20  # records; a replica that keeps up is a fetch or two behind


@dataclass(frozen=True, kw_only=True)
class WatchOptions(ShownOptions):
    """The options of `kcli snapshot watch`, without those that choose changes."""

    every: float
    duration: float | None


@click.command()
@click.argument("bootstrap", metavar="HOST:PORT[,...]")
@change_options
@click.option("--every", type=Duration(0.1), default="10s", show_default=True, metavar="TIME",
              help="How often to check the state of the quorum, which is shown when it has changed.")  # fmt: skip
@click.option("--duration", type=Duration(0), metavar="TIME", help="End after this time; by default on Ctrl-C.")
@text_format_option(paged=False)
@output_option
@client_config_option
@secrets_option()
@quiet_option("No warnings.")
@dialect_option
def watch(bootstrap: str, **values: Any) -> int:
    """Follow the metadata log of a live quorum: each change when it is committed, as `snapshot log` shows it.

    HOST:PORT are controllers, or a broker. kcli reads as an observer without an id: it does not count for votes or the
    high watermark, and reads only up to that. When the state of the quorum changes, kcli shows it: leader, epoch, high
    watermark, and the lag of each voter and observer in records.

    \b
    kcli snapshot watch localhost:9093 --topic orders
    """
    from kcli.snapshots.history.history import HistoryLoader

    tests = take_filters(values)
    options = WatchOptions(**values)
    config = configure(bootstrap, options.settings, quiet=options.quiet)
    with open_output(options.output, []) as out:
        show = ChangeWriter(
            out, options.form, lambda event: not is_implied(event) and all(test(event.change) for test in tests)
        )
        loader = HistoryLoader(show.event, options.dialect, strict=False, secrets=options.secrets)
        asyncio.run(follow(config, loader, show, options.every, options.duration))
    conclude([InputError(text, file=bootstrap) for _, text in loader.problems], options.quiet)
    return 0


@dataclass(slots=True)
class ChangeWriter:
    """Writes lines as they come. is_live: whether the log that was there before has been read."""

    out: BinaryIO
    form: str
    is_wanted: Callable[[Event], bool]
    is_live: bool = False
    last: str = ""

    def event(self, event: Event) -> None:
        """Write a change."""
        if self.is_live and self.is_wanted(event):
            Lines(self.out).line(event_line(event, self.form))

    def quorum(self, state: Described) -> None:
        """Write the state of the quorum, where it has changed but for the high watermark."""
        if self.last == state_key(state):
            return
        self.last = state_key(state)
        now = now_ms()
        Lines(self.out).line(
            dumps(state_json(state, now)) if self.form == "jsonl" else f"{instant(now)}  {state_text(state)}"
        )
        self.out.flush()


async def follow(
    config: ClientConfig, loader: HistoryLoader, show: ChangeWriter, every: float, duration: float | None
) -> None:
    """Read the existing log, then show new changes."""
    client = Client(config)
    ends = None if duration is None else time.monotonic() + duration
    looked = 0.0
    try:
        follower = LogFollower(await find_controllers(client))
        with TemporaryFolder("kcli-metadata-") as name:
            patience = inf if duration is None else duration
            async for piece in committed(client, follower, Path(name), patience=patience):
                take_snapshots(loader, Path(name))
                loader.segment(memoryview(piece.data))
                show.out.flush()
                if not show.is_live and follower.is_caught_up:
                    show.is_live, follower.wait_ms = True, WAIT_MS
                now = time.monotonic()
                if show.is_live and now - looked >= every and (state := await quorum_of(client, follower)):
                    show.quorum(state)
                    looked = now
                if ends is not None and now >= ends and show.is_live:
                    return
    finally:
        await client.close()


def take_snapshots(loader: HistoryLoader, folder: Path) -> None:
    """Load a received snapshot: the first one, and each one if the leader's log begins after the last offset read."""
    from kcli.snapshots.reading.api import take_snapshot

    for path in sorted(folder.iterdir()):
        loader.image = type(loader.image)(decode=loader.image.decode)
        take_snapshot(loader, str(path))
        path.unlink()


def state_key(state: Described) -> str:
    """Return the part of a state whose changes are worth a line: leader, members, and which of them lag."""
    members = [(node, behind > LAG) for node, behind in state.behind((*state.voters, *state.observers)).items()]
    return f"{state.leader} {state.epoch} {[each.key for each in state.voters]} {members}"


def state_text(state: Described) -> str:
    """Format the state as a line."""
    voters, observers = (members_text(state.behind(each)) for each in (state.voters, state.observers))
    text = f"quorum: node {state.leader} leads in epoch {state.epoch}, high watermark {state.high_watermark}"
    return f"{text}, voters {voters}" + (f", observers {observers}" if state.observers else "")


def state_json(state: Described, now: int) -> dict[str, Any]:
    """Return the state as a JSON object."""
    row: dict[str, Any] = {"event": "quorum", "time": instant(now), "leader": state.leader, "epoch": state.epoch}
    row["highWatermark"] = state.high_watermark
    for name, members in (("voters", state.voters), ("observers", state.observers)):
        row[name] = [{"node": key.id, "directory": key.directory or None, "behind": behind}
                     for key, behind in state.behind(members).items()]  # fmt: skip
    return row


def members_text(members: dict[ReplicaKey, int]) -> str:
    """Format the members, those of one id with their directories."""
    ids = [key.id for key in members]
    named = {key: f"{key}" if ids.count(key.id) > 1 else f"{key.id}" for key in members}
    return ", ".join(f"{named[key]} ({behind} behind)" if behind else named[key] for key, behind in members.items())


async def quorum_of(client: Client, follower: LogFollower) -> Described | None:
    """Ask the leader for the quorum (DescribeQuorum); None without an answer."""
    try:
        return described(await describe_quorum(await client.session_at(Address(*follower.target))))
    except NetworkError:
        return None
