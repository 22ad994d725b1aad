"""`kcli redact`: anonymizes captures for sharing."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcli.capture.decoder import DecodeOptions
from kcli.capture.io.capture_files import captures_in
from kcli.capture.nothing import nothing_in
from kcli.cli.decode.pcap.command import reading
from kcli.cli.options.inputs import files_argument, port_option, quiet_option, read_of, reading_options
from kcli.cli.options.refusal import refused
from kcli.cli.terminal.console import is_terminal
from kcli.cli.terminal.lines import print_note
from kcli.cli.terminal.output import open_output
from kcli.cli.terminal.streams import standard_input
from kcli.counting import counted
from kcli.endless import refuse_endless
from kcli.errors import InputError, UsageError
from kcli.input_names import STDIN
from kcli.redact.rules import KINDS

if TYPE_CHECKING:
    from kcli.redact.redacting import Redaction

SHORTEST_KEY, LONGEST_KEY = 16, 1 << 20  # bytes


@click.command
@files_argument("FILE|DIR...")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="The pcapng file to write; an existing one is replaced only when it is complete.",
)
@click.option(
    "--key",
    metavar="FILE",
    help="File with a secret of at least 16 bytes (- is standard input): the same key gives the same names. By default "
    "each run has a random key.",
)
@click.option("--keep", multiple=True, metavar="KIND,...", help=f"Do not replace these names: {', '.join(KINDS)}.")
@refused("the capture stays whole", "--where", "--since", "--until")
@port_option
@quiet_option("No progress, no closing summary.")
@reading_options
def redact(files: tuple[str, ...], **options: Any) -> None:
    """Anonymize captures for sharing: write them without names, addresses, data and secrets.

    FILE is a capture, as `kcli decode pcap` reads them; DIR a directory with captures in it. Names are replaced by
    names of the same shape, keys and values of records by letters; sizes, counts, times, offsets, errors, versions and
    compression stay. Bytes that can't be decoded, and connections that are not Kafka's, are left out.

    \b
    kcli redact night.pcap -o given.pcapng
    kcli redact captures/ -o given.pcapng --key house.key --keep topics,groups
    kcli redact tls.pcap --key-log keys.log -o given.pcapng
    """
    from kcli.redact.redacting import Redaction

    if options["output"] == "-" and is_terminal(sys.stdout):
        raise UsageError("-o -: a capture is not for a terminal (a file, or a pipe expected)")
    paths = captures_in(files)
    if options["key"] == STDIN and STDIN in files:
        raise UsageError("--key -: standard input is the capture already (a file expected)")
    key, keep = key_of(options["key"]), kinds_of(options["keep"])
    inputs = [*files, *paths, *options["key_logs"], *([options["key"]] if options["key"] else [])]
    with open_output(options["output"], inputs) as out:
        source = Redaction(
            paths,
            key,
            DecodeOptions(**read_of(options)),
            keep=keep,
            folder=folder_of(options["output"]),
        )
        with contextlib.closing(source):
            damage = read(source, paths, options["quiet"]) or nothing_in(source.capture)
            if damage is not None and not source.engine.packets:
                raise damage  # nothing at all could be read
            source.write(out)
        if not options["quiet"]:
            for line in closing(source):
                print_note(line)
        if damage is not None:
            raise damage


def read(source: Redaction, paths: tuple[str, ...], quiet: bool) -> InputError | None:
    """Read the captures as far as they can be read. Returns what was wrong with them."""
    try:
        with reading(paths, quiet) as moved:
            for _ in source.read(moved):
                pass
    except InputError as error:
        return error
    return None


def closing(source: Redaction) -> list[str]:
    """Return lines on what was replaced, and what was left out."""
    engine, frames, clear = source.engine, source.frames, len(source.made_clear)
    lines = [f"{source.written:,} packets written, with {counted(source.tally.exchanges, 'exchange')}"]
    if clear:
        lines[0] += f"; {counted(clear, 'TLS connection')} decrypted, in the clear now"
    left_out = (
        (source.tls_left_out, "TLS connection without keys", "TLS connections without keys"),
        (source.others_left_out, "connection that is not Kafka's", "connections that are not Kafka's"),
        (frames.blanked, "message that can't be decoded", "messages that can't be decoded"),
        (frames.batches.emptied, "batch's records, which do not fit", "batches' records, which do not fit"),
        (engine.others + engine.unknown_links, "packet that is not TCP", "packets that are not TCP"),
        (engine.cuts + engine.unjoined, "packet that is cut or a fragment", "packets that are cut or fragments"),
    )
    parts = [counted(number, singular, many) for number, singular, many in left_out if number]
    return [*lines, f"left out: {', '.join(parts)}"] if parts else lines


def key_of(file: str | None) -> bytes:
    """Read the key in a file; make a random one without. Raises UsageError for one that is too short, or no key."""
    if file is None:
        return os.urandom(32)
    refuse_endless(file)
    with contextlib.nullcontext(standard_input()) if file == STDIN else Path(file).open("rb") as source:
        key = source.read(LONGEST_KEY + 1)
    if len(key) < SHORTEST_KEY:
        raise UsageError(f"--key {file}: {len(key)} bytes ({SHORTEST_KEY} or more expected)")
    if len(key) > LONGEST_KEY:
        raise UsageError(f"--key {file}: more than {LONGEST_KEY:,} bytes (a key expected)")
    return key


def kinds_of(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the kinds that --keep names. Raises UsageError for an unknown one."""
    kinds = frozenset(kind for each in texts for kind in each.split(","))
    if unknown := sorted(kinds - {*KINDS}):
        raise UsageError(f"--keep {unknown[0]}: no such kind ({', '.join(KINDS)} expected)")
    return kinds


def folder_of(output: str) -> str | None:
    """Return the draft's folder: beside an output that is a file; None: the system's for temporary files."""
    path = Path(output)
    is_file = output != "-" and (path.is_file() or not path.exists())
    return str(path.parent) if is_file else None
