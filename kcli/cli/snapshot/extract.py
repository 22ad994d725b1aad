"""kcli snapshot extract: the snapshots that crossed the wire in a capture."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import click

from kcli.capture.api import Capture
from kcli.capture.decoder import DecodeOptions
from kcli.capture.filters import Filter
from kcli.capture.io.capture_files import captures_in
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.options.filter import filter_of_times, note_no_match, time_options
from kcli.cli.options.inputs import files_argument, port_option, quiet_option, read_of, reading_options
from kcli.cli.options.refusal import refused
from kcli.cli.snapshot.files import private_part, publish, settle
from kcli.cli.terminal.lines import print_line
from kcli.cli.terminal.output import refuse_inputs
from kcli.errors import InputError, all_of
from kcli.filelike import name_of
from kcli.schemas.apikeys import FETCH_SNAPSHOT
from kcli.snapshots.live.extract import Assembly, FileRange, Key, pieces_of

OF_SNAPSHOTS = Filter(frozenset({FETCH_SNAPSHOT}))


@click.command()
@files_argument("FILE|DIR...", "captures", captures_in)
@click.option(
    "-o", "--output", default=".", metavar="DIR", help="The directory to write to; by default the current one."
)
@port_option
@time_options
@refused("a snapshot is put together of all its chunks; --since and --until choose", "--where")
@quiet_option("Print nothing but errors.")
@reading_options
def extract(captures: tuple[str, ...], output: str, **options: Any) -> int:
    """Reassemble the snapshots in FetchSnapshot responses of captures.

    FILE is a capture, as `kcli decode pcap` reads them; DIR a directory with captures in it. A snapshot is written as
    `<offset>-<epoch>.checkpoint`; if two servers sent different files with the same id, in a directory for each server.
    An incomplete snapshot is written as `.part`, and the exit code is 3. Complete snapshots are also written from a
    truncated capture.

    \b
    kcli snapshot extract night.pcap -o snapshots/
    """
    quiet, chosen = options["quiet"], filter_of_times(options, captures)
    folder = Path(output)
    with ExitStack() as stack:
        files, problems = Files(folder, stack, captures), list[InputError]()
        try:
            for piece in pieces_of(only_exchanges(captures, chosen, options)):
                files.write(piece)
        except InputError as error:
            problems.append(error)
        files.settle()
    if problems and not files.parts:
        raise problems[0]
    if not files.parts and not chosen.takes_all:
        note_no_match(captures, chosen, options, OF_SNAPSHOTS)
        return 1
    if not files.parts:
        raise InputError(
            "no snapshot in this capture (no FetchSnapshot response with bytes)", file=name_of(captures[0])
        )
    for path, reason in files.finish():
        if reason:
            problems.append(InputError(reason, file=str(path)))
        elif not quiet:
            print_line(str(path))
    if problems:
        raise all_of(problems)
    return 0


def only_exchanges(captures: tuple[str, ...], chosen: Filter, options: dict[str, Any]) -> Iterator[Exchange]:
    """Yield the chosen FetchSnapshots of captures."""
    read = read_of(options)
    return iter(Capture(captures, DecodeOptions(chosen=replace(chosen, apis=OF_SNAPSHOTS.apis), **read)))


class Files:
    """The files while they come: one for each server and snapshot."""

    def __init__(self, folder: Path, stack: ExitStack, captures: tuple[str, ...]) -> None:
        self.folder, self.stack, self.captures = folder, stack, captures
        self.parts: dict[Key, tuple[Path, IO[bytes], Assembly]] = {}

    def write(self, piece: FileRange) -> None:
        if piece.key not in self.parts:
            path = self.folder / f"{piece.key.server.replace(':', '_')}-{piece.key.id.file_name}.part"
            refuse_inputs(path, self.captures)
            self.folder.mkdir(parents=True, exist_ok=True)
            self.parts[piece.key] = path, self.stack.enter_context(private_part(path)), Assembly(piece.size)
        _, stream, assembly = self.parts[piece.key]
        stream.seek(piece.position)
        stream.write(piece.data)
        assembly.add(piece.position, len(piece.data))

    def settle(self) -> None:
        for _, stream, _ in self.parts.values():
            settle(stream)

    def finish(self) -> Iterator[tuple[Path, str]]:
        """Yield the path of each complete file under its final name, with its fault or ""."""
        for key, (part, _, assembly) in self.parts.items():
            if not assembly.whole:
                missing = sum(end - start for start, end in assembly.missing())
                yield part, f"{missing:,} of {assembly.size:,} bytes did not cross the wire here"
                continue
            final = self.folder / key.id.file_name
            if final.exists() and final.read_bytes() != part.read_bytes():
                final = self.folder / key.server.replace(":", "_") / key.id.file_name
                final.parent.mkdir(exist_ok=True)
            refuse_inputs(final, self.captures)
            final.unlink(missing_ok=True)
            publish(part, final)
            yield final, ""
