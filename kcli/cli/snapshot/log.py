"""kcli snapshot log: what changed in a cluster's metadata, and when."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kcli.cli.options.inputs import dialect_option, quiet_option, secrets_option, text_format_option
from kcli.cli.snapshot.changes import ShownOptions, change_options, event_line, is_implied, take_filters
from kcli.cli.snapshot.live import client_config_option, folder_of
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import Lines, print_note
from kcli.cli.terminal.output import open_output, output_option
from kcli.counting import counted
from kcli.errors import InputError, UsageError

if TYPE_CHECKING:
    from kcli.snapshots.history.history import Event
    from kcli.snapshots.image.diff import Change
    from kcli.snapshots.image.image import Image
    from kcli.snapshots.reading.folders import FolderNode


@dataclass(frozen=True, kw_only=True)
class LogOptions(ShownOptions):
    """The options of `kcli snapshot log`, without those that choose changes."""

    begin: str | None
    end: str | None
    commands: bool


@click.command()
@click.argument("source", metavar="DIR|HOST:PORT")
@click.option("--from", "begin", metavar="OFFSET|TIME", help="Start at this log offset or time (ISO 8601).")
@click.option("--to", "end", metavar="OFFSET|TIME", help="End before this log offset, or at this time.")
@change_options
@click.option("--commands", is_flag=True, help="Print commands of Kafka's tools that undo the changes.")
@text_format_option()
@output_option
@client_config_option
@secrets_option()
@quiet_option("No warnings, no summary.")
@dialect_option
def log(source: str, **values: Any) -> int:
    """Show what changed in a cluster's metadata: time, offset and leader epoch of each record, and the change.

    DIR is a `__cluster_metadata-0`, or the log directory around it. With the state from its snapshots, kcli also shows
    the former values of removed ACLs and topics. The removal of a topic includes its partitions and configs. Changes in
    a metadata transaction have the time of its end. HOST:PORT are controllers, or a broker: kcli reads the log of the
    quorum's leader, up to the high watermark. The metadata does not record who made a change.

    \b
    kcli snapshot log __cluster_metadata-0 --from 2026-11-21T09:00 --topic orders
    kcli snapshot log __cluster_metadata-0 --acl 'User:alice' --format jsonl
    kcli snapshot log __cluster_metadata-0 --from 2026-11-21T09:00 --topic orders --commands
    """
    from kcli.snapshots.reading.folders import FolderNode

    tests = take_filters(values)
    options = LogOptions(**values)
    commands = options.commands
    shown = 0
    with (
        folder_of(source, options.settings, options.quiet) as folder,
        open_output(options.output, [source, str(folder)]) as out,
    ):
        node = FolderNode(source, folder, options.dialect)
        first, last = place(node, options.begin, "--from"), place(node, options.end, "--to")
        write = Lines(out).line
        net: Net = {}

        def report(event: Event) -> None:
            nonlocal shown
            if not first <= event.offset < last or not all(test(event.change) for test in tests):
                return
            if commands:
                add_up(net, event.change)
            if not is_implied(event):
                shown += 1
                if not commands:
                    write(event_line(event, options.form))

        until = next((each.base_offset for each in node.batches() if each.base_offset >= last), None)
        loader = node.history(report, since=first, until=until, secrets=options.secrets and not commands)
        if commands:
            Lines(out).lines(undo_lines(node, first, loader.image, net))
    if not options.quiet:
        print_note(summary(node, first, shown))
    conclude([InputError(text, file=source) for _, text in loader.problems], options.quiet)
    return 0


Net = dict[tuple[str, Hashable], "Change"]


def add_up(net: Net, change: Change) -> None:
    """Merge a change into the earlier ones of its object; changes that cancel out are dropped."""
    from kcli.snapshots.image.diff import row_change

    key = change.table, change.key
    before = net.pop(key).before if key in net else change.before
    if before != change.after:
        net[key] = row_change(change.table, before, change.after)


def undo_lines(node: FolderNode, first: int, after: Image, net: Net) -> Iterator[str]:
    """Return the lines for Kafka's tools that undo the changes since an offset."""
    from kcli.snapshots.image.undo import undo

    base = node.base(first)
    start = node.image(max(first, base or 0), []) if base is not None and node.shows(max(first, base)) else after
    return undo(net.values(), (start, after))


def place(node: FolderNode, text: str | None, option: str) -> int:
    """Return the offset that an option means: for --from, of the first batch at or after a time; for --to, after the
    last batch at or before it. Raises UsageError.
    """
    if text is None:
        return 0 if option == "--from" else 1 << 63
    if text.isdecimal():
        return int(text)
    from kcli.snapshots.reading.api import parse_time

    try:
        moment = parse_time(text)
    except UsageError:
        raise UsageError(f"{option} {text}: an offset, or an ISO 8601 time expected (2026-11-21T09:14:02Z)") from None
    if option == "--from":
        return next((each.base_offset for each in node.batches() if each.append_timestamp >= moment), node.end)
    return next((each.base_offset for each in node.batches() if each.append_timestamp > moment), node.end)


def summary(node: FolderNode, first: int, shown: int) -> str:
    """Describe the changes: their number, their offsets, and the unknown parts."""
    base = node.base(first)
    if node.log is None:
        return "no changes: there is no log here, only snapshots (kcli snapshot diff compares two)"
    if base is None:
        return "no changes: the log has no snapshot to start from"
    began = max(first, base)
    missing = f"; changes before {base} are not shown, because the state before them is unknown" if first < base else ""
    return f"{counted(shown, 'change')} from offset {began} on{missing}; the metadata does not record who made them"
