"""`kcli audit`: which clients a release of Kafka would refuse."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from kcli.capture.audit import AuditedClient, AuditSink, Judge, Overheard, Usage, audit, audited
from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.io.capture_files import captures_in
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.nothing import require_exchanges
from kcli.cli.decode.pcap.command import reading
from kcli.cli.options.filter import FilterCommand, filter_of, filter_options, note_no_match
from kcli.cli.options.inputs import files_argument, format_option, port_option, quiet_option, read_of, reading_options
from kcli.cli.terminal.cells import cut, wrap
from kcli.cli.terminal.console import shows_colour, terminal_room
from kcli.cli.terminal.lines import Lines, paint
from kcli.cli.terminal.output import open_output, output_option
from kcli.counting import counted
from kcli.errors import InputError
from kcli.jsontext import dumps
from kcli.schemas.catalog import catalog

NARROWEST = 20  # cells of text in a line that is broken

Judged = list[tuple[AuditedClient, tuple[Usage, ...]]]


@click.command(name="audit", cls=FilterCommand)
@files_argument("FILE|DIR...", expand=captures_in)
@click.option(
    "--against", metavar="RELEASE", help="The release of Kafka to check against; by default the newest in the tables."
)
@port_option
@format_option(("table", "jsonl"), "The output format.", default="table")
@filter_options
@output_option
@quiet_option("No progress.")
@reading_options
def audit_captures(files: tuple[str, ...], **options: Any) -> int:
    """List the clients in captures that a Kafka release would refuse, with the refused requests.

    FILE is a capture, as `kcli decode pcap` reads them; DIR a directory with captures in it. A client is a client id at
    an address, with the software that its ApiVersions requests name. Exit code 1: at least one would be refused, or the
    options that choose exchanges leave none; 3: nothing could be judged. Names and versions of software always come
    from all exchanges.

    \b
    kcli audit night.pcap --against 4.0
    kcli audit captures/ --format jsonl
    """
    tables = catalog(options["dialect"])
    release = tables.release(options["against"] or tables.releases[-1])
    failures: list[InputError] = []
    source = new_decoder(files, options)
    with open_output(options["output"], (*files, *options["key_logs"])) as out:
        with reading(files, options["quiet"]) as moved:
            clients = audit(readable(source, failures, moved))
        if not failures:
            require_exchanges(source)
        judge = Judge(tables, release)
        judged = [(client, judge.usages(client)) for client in clients]
        lines = (
            json_lines(judged, release)
            if options["format_"] == "jsonl"
            else table_lines(judged, release, options["output"])
        )
        write = Lines(out).line
        for parts in lines:
            write(*parts)
    if failures:
        raise failures[0]
    if not clients and not source.chosen.takes_all:
        note_no_match(files, source.chosen, options)
        return 1
    return 1 if any(use.refused for _, uses in judged for use in uses) else 0


def new_decoder(files: tuple[str, ...], options: dict[str, Any]) -> CaptureDecoder[AuditSink]:
    """Make a decoder, with topic names where the filter may ask for them."""
    chosen = filter_of(options, files)
    read = read_of(options)
    names = chosen.topic is not None or chosen.where is not None
    return CaptureDecoder(files, AuditSink(), DecodeOptions(**read, chosen=chosen, names=names))


def readable(
    source: CaptureDecoder[AuditSink], failures: list[InputError], moved: Callable[[int], None]
) -> Iterator[Exchange | Overheard]:
    """Yield the items that can be read. Raises the errors of reading after the last of them."""
    try:
        yield from audited(source, moved)
    except InputError as error:
        failures.append(error)


def json_lines(judged: Judged, release: str) -> Iterator[tuple[str, ...]]:
    for client, uses in judged:
        text = dumps(
            {
                "clientId": client.client_id,
                "address": client.address,
                "softwareName": client.software,
                "softwareVersion": client.version,
                "negotiates": client.negotiates,
                "connections": client.connections,
                "requests": client.requests,
                "against": release,
                "refused": any(use.refused for use in uses),
                "apis": [use.as_dict() for use in uses],
            }
        )
        yield (text,)


def table_lines(judged: Judged, release: str, output: str | None) -> Iterator[tuple[str, ...]]:
    """Yield lines, each by its parts."""
    colour = output is None and shows_colour(sys.stdout)
    room = terminal_room(output)
    # Clients with the same judgement share its lines (see Judge).
    findings_by_row: dict[int, tuple[str, list[str]]] = {}
    for client, uses in judged:
        software = " ".join(filter(None, (client.software, client.version))) or (
            "software not said" if client.negotiates else "no ApiVersions"
        )
        name = client.client_id or "(no client id)"
        head = f"{name if room is None else cut(name, max(room // 2, NARROWEST))}  {client.address}  {software}"
        known = findings_by_row.get(id(uses))
        if known is None:
            known = findings_by_row[id(uses)] = verdict(uses, release, colour), list(use_lines(uses, colour, room))
        yield paint(head, colour, bold=True), "  ", known[0]
        for line in known[1]:
            yield (line,)
    refused = sum(any(use.refused for use in uses) for _, uses in judged)
    yield (f"{counted(len(judged), 'client')}, {refused:,} that Kafka {release} would refuse.",)


def verdict(uses: Sequence[Usage], release: str, colour: bool) -> str:
    if any(use.refused for use in uses):
        return paint(f"{release} refuses it", colour, fg="red")
    if any(use.unsure for use in uses):
        return paint(f"unclear with {release}", colour, fg="yellow")
    return paint(f"fine with {release}", colour, fg="green")


def use_lines(uses: Sequence[Usage], colour: bool, room: int | None) -> Iterator[str]:
    """Yield the lines on a client's APIs and versions, and on those that are refused or may be. room: cells of a line;
    None: no line is broken.
    """
    yield from indented(", ".join(f"{use.name} {versions_text(list(use.versions))}" for use in uses), room)
    for use in uses:
        if use.refused:
            words = f"refused: {use.name} {versions_text(list(use.refused))} ({use.reason})"
            yield from (paint(line, colour, fg="red") for line in indented(words, room))
    for use in uses:
        if use.unsure:
            words = f"{use.name} {versions_text(list(use.unsure))} ({use.reason}; its broker offered nothing newer)"
            yield from (paint(line, colour, fg="yellow") for line in indented(f"unclear: {words}", room))


def indented(text: str, room: int | None) -> Iterator[str]:
    """Yield a line indented by two cells, or several that fit the terminal, broken between words."""
    lines = [text] if room is None else wrap(text, max(room - 4, NARROWEST))
    for number, line in enumerate(lines):
        yield f"{'    ' if number else '  '}{line}"


def versions_text(versions: list[int]) -> str:
    """Format versions: "2", "2-4" or "0, 2-4"."""
    runs: list[list[int]] = []
    for version in sorted(versions):
        if runs and runs[-1][1] == version - 1:
            runs[-1][1] = version
        else:
            runs.append([version, version])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
