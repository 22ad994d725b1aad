"""kcli snapshot fetch: the latest snapshot of a live quorum."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

import click

from kcli.cli.options.client import client_options, configure
from kcli.cli.options.inputs import quiet_option
from kcli.cli.snapshot.files import private_part, publish, settle
from kcli.cli.snapshot.quorum_calls import answers, find_controllers
from kcli.cli.terminal.console import progress, warn
from kcli.cli.terminal.lines import print_line
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.errors import InputError, UsageError
from kcli.snapshots.live.quorum_reader import Restart, Write
from kcli.snapshots.live.snapshot_fetch import SnapshotFetch
from kcli.snapshots.reading.files import open_file
from kcli.snapshots.reading.names import SnapshotId, parse_snapshot_name


@click.command()
@client_options
@click.option("-o", "--output", required=True, metavar="DIR", help="The directory to write to.")
@click.option("--snapshot", metavar="OFFSET-EPOCH", help="The snapshot to fetch; by default the latest one.")
@click.option("--cluster-id", metavar="ID", help="Refuse a cluster with another id.")
@click.option(
    "--max-bytes", type=click.IntRange(min=1), default=1 << 20, help="Maximum bytes of one response; 1 MiB by default."
)
@click.option("--no-resume", is_flag=True, help="Start over instead of continuing a partial download.")
@quiet_option("Print nothing but errors.")
def fetch(  # noqa: PLR0913  the command's options
    bootstrap: str | None,
    settings: tuple[str, ...],
    output: str,
    snapshot: str | None,
    cluster_id: str | None,
    max_bytes: int,
    no_resume: bool,
    quiet: bool,
) -> int:
    """Fetch the latest snapshot of a KRaft quorum into a directory: `<offset>-<epoch>.checkpoint`.

    --bootstrap takes controllers, or a broker, which kcli asks for the controllers. During the download the file is
    named `.part`; a later run continues it if the same leader has the same snapshot. The file gets its name when it is
    complete and has passed `verify`.

    \b
    kcli snapshot fetch --bootstrap localhost:9093 -o snapshots/
    """
    wanted = parse_id(snapshot) if snapshot else None
    config = configure(bootstrap, settings, quiet=quiet)
    sink = PartFile(Path(output), resume=not no_resume, notify=lambda text: warn(text, quiet))
    asyncio.run(run(config, sink, wanted, cluster_id, max_bytes, quiet))
    if not quiet:
        print_line(str(sink.final))
    return 0


def parse_id(text: str) -> SnapshotId:
    offset, _, epoch = text.removesuffix(".checkpoint").partition("-")
    if not (offset.isdecimal() and epoch.isdecimal()):
        raise UsageError(f"--snapshot {text}: OFFSET-EPOCH expected")
    return SnapshotId(int(offset), int(epoch))


async def run(
    config: ClientConfig,
    sink: PartFile,
    wanted: SnapshotId | None,
    cluster_id: str | None,
    max_bytes: int,
    quiet: bool,
) -> None:
    client = Client(config)
    try:
        controllers = await find_controllers(client)
        machine = SnapshotFetch(controllers, wanted=wanted, cluster_id=cluster_id, max_bytes=max_bytes)
        with progress(None, "snapshot", quiet) as advance:
            await drive(client, machine, sink, advance)
            if not sink.finish():  # the resumed part is of another file: start again, from nothing
                machine.start_over()
                await drive(client, machine, sink, advance)
                if not sink.finish():
                    raise InputError(f"{sink.part}: fetched completely, but it is damaged: see `kcli snapshot verify`")
    finally:
        sink.close()
        await client.close()


async def drive(client: Client, machine: SnapshotFetch, sink: PartFile, advance: Callable[[int], None]) -> None:
    """Send requests and handle responses until the file is complete."""
    async for result in answers(client, machine):
        if isinstance(result, Write):
            sink.write(result, machine)
            advance(machine.position)
        elif isinstance(result, Restart):
            sink.restart(result)
        elif machine.state == "download" and machine.position == 0:
            begin = sink.begin(machine)
            if begin is None:
                return
            machine.resume(begin)


class PartFile:
    """The incomplete file, `<id>.checkpoint.part`, and beside it a file that names the node it comes from."""

    def __init__(self, folder: Path, *, resume: bool, notify: Callable[[str], None]) -> None:
        self.folder, self.resume, self.notify = folder, resume, notify
        self.id: SnapshotId | None = None
        self.stream: IO[bytes] | None = None
        self.resumed = False

    @property
    def final(self) -> Path:
        assert self.id is not None
        return self.folder / self.id.file_name

    @property
    def part(self) -> Path:
        return self.final.with_name(self.final.name + ".part")

    @property
    def note(self) -> Path:
        return self.final.with_name(self.final.name + ".part.json")

    def begin(self, machine: SnapshotFetch) -> int | None:
        """Open the file of the machine's snapshot. Returns the number of bytes that are there. None: the file is there
        whole.
        """
        self.close()
        self.id = machine.id
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.final.exists():
            self.notify(f"{self.final} exists already")
            return None
        source = {"leader": machine.leader, "address": list(machine.target)}
        self.resumed = self.resume and self.part.exists() and read_note(self.note) == source
        self.resume = True  # an option for what an earlier run left, not for this one
        self.note.write_text(json.dumps(source))
        self.stream = private_part(self.part, keep=self.resumed)
        size = self.stream.seek(0, os.SEEK_END)
        if self.resumed and size:
            self.notify(f"continues at byte {size:,} of {self.part}")
        return size

    def write(self, piece: Write, machine: SnapshotFetch) -> None:
        if self.stream is None or self.id != machine.id:
            self.begin(machine)
        if self.stream is not None:
            self.stream.seek(piece.position)
            self.stream.write(piece.data)
            self.stream.flush()

    def restart(self, restart: Restart) -> None:
        self.notify(f"{restart.reason}; begins again")
        self.resumed = False
        if self.stream is not None:
            self.stream.truncate(0)

    def finish(self) -> bool:
        """Verify the file, and rename it. Returns False if a resumed file is not sound; it is dropped."""
        if self.stream is None:
            return True
        settle(self.stream)
        self.stream.close()
        self.stream = None
        errors = sound_errors(self.part, self.final.name)
        if errors and self.resumed:
            self.notify(f"{errors[0]}; begins again")
            self.part.unlink()
            self.note.unlink(missing_ok=True)
            return False
        if errors:
            return False
        publish(self.part, self.final)
        self.note.unlink(missing_ok=True)
        return True

    def close(self) -> None:
        """Close the file. An empty part is deleted together with its note."""
        if self.stream is None:
            return
        empty = self.stream.seek(0, os.SEEK_END) == 0
        self.stream.close()
        self.stream = None
        if empty:
            self.part.unlink(missing_ok=True)
            self.note.unlink(missing_ok=True)


def read_note(path: Path) -> object:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def sound_errors(path: Path, name: str) -> list[str]:
    """Return the errors that `verify` finds in the file under its final name."""
    from kcli.snapshots.rules.verification import verify

    assert parse_snapshot_name(name) is not None
    with open_file(str(path)) as file:
        return [finding.message for finding in verify(file.data, name, mapped=file.mapped) if finding.is_error]
