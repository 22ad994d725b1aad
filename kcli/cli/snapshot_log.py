"""kcli snapshot log: what changed in a cluster's metadata, and when."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from kcli.cli.inputs import dialect_option, format_option, quiet_option, secrets_option
from kcli.cli.lines import Lines, print_note
from kcli.cli.output import open_output, output_option
from kcli.cli.problems import conclude
from kcli.counting import counted
from kcli.errors import InputError, UsageError
from kcli.jsontext import dumps
from kcli.snapshots.files import metadata_directory
from kcli.snapshots.report import instant

if TYPE_CHECKING:
    from kcli.snapshots.diff import Change
    from kcli.snapshots.folders import FolderNode
    from kcli.snapshots.history import Event

__all__ = ["log"]

Test = Callable[["Change"], bool]


@click.command()
@click.argument("source", metavar="DIR")
@click.option("--from", "begin", metavar="OFFSET|TIME", help="From this log offset or time (ISO 8601) on.")
@click.option("--to", "end", metavar="OFFSET|TIME", help="Up to this log offset (not included), or this time.")
@click.option("--topic", metavar="T", help="Only a topic, its partitions and configs; * and ? stand for characters.")
@click.option(
    "--broker", type=int, metavar="ID", help="Only a broker, its configs, and partitions that it led or joined."
)
@click.option("--acl", metavar="TEXT", help="Only ACLs with this principal or resource; * and ? stand for characters.")
@click.option("--config", metavar="NAME", help="Only configs of this name; * and ? stand for other characters.")
@format_option(("text", "jsonl"), "Lines to read, or one JSON object each.", default="text", name="form")
@output_option
@secrets_option()
@quiet_option("No warnings, no summary.")
@dialect_option
def log(
    source: str,
    begin: str | None,
    end: str | None,
    form: str,
    output: str | None,
    secrets: bool,
    quiet: bool,
    dialect: str | None,
    **chosen: Any,
) -> int:
    """Say what changed in a cluster's metadata: time, offset and leader epoch of each record, and what it did.

    DIR is a `__cluster_metadata-0`, or the log directory around it. Its snapshots tell the state before, so that a
    removed ACL or topic is shown by what it was. A topic's partitions and configs go with it. Of a metadata transaction
    the time is that of its end. Who made a change is not in the metadata.

    \b
    kcli snapshot log __cluster_metadata-0 --from 2026-11-21T09:00 --topic orders
    kcli snapshot log __cluster_metadata-0 --acl 'User:alice' --format jsonl
    """
    from kcli.snapshots.folders import FolderNode
    from kcli.snapshots.words import change_json

    node = FolderNode(source, metadata_directory(source), dialect)
    first, last = place(node, begin, "--from"), place(node, end, "--to")
    tests = tests_of(**chosen)
    shown = 0
    with open_output(output, [source, *node.segments]) as out:
        write = Lines(out).line

        def report(event: Event) -> None:
            nonlocal shown
            if not first <= event.offset < last or is_implied(event) or not all(test(event.change) for test in tests):
                return
            shown += 1
            when = {
                "offset": event.offset,
                "time": instant(event.timestamp),
                "epoch": event.epoch,
                "record": event.record,
            }
            write(dumps(when | change_json(event.change)) if form == "jsonl" else event_text(event))

        until = next((each.base_offset for each in node.batches() if each.base_offset >= last), None)
        loader = node.history(report, since=first, until=until, secrets=secrets)
    if not quiet:
        print_note(summary(node, first, shown))
    conclude([InputError(text, file=source) for _, text in loader.problems], quiet)
    return 0


def place(node: FolderNode, text: str | None, option: str) -> int:
    """The offset of an option; for --from that of the first batch at or after a time, for --to that behind the last one
    at or before it."""
    if text is None:
        return 0 if option == "--from" else 1 << 63
    if text.isdecimal():
        return int(text)
    from kcli.snapshots.reading import parse_time

    try:
        moment = parse_time(text)
    except UsageError:
        raise UsageError(f"{option} {text}: an offset, or an ISO 8601 time expected (2026-11-21T09:14:02Z)") from None
    if option == "--from":
        return next((each.base_offset for each in node.batches() if each.append_timestamp >= moment), node.end)
    return next((each.base_offset for each in node.batches() if each.append_timestamp > moment), node.end)


def tests_of(topic: str | None, broker: int | None, acl: str | None, config: str | None) -> list[Test]:
    """What a change has to pass, all of it."""
    tests: list[Test] = []
    if topic is not None:
        tests.append(lambda change: is_of_topic(change, topic))
    if broker is not None:
        tests.append(lambda change: is_of_broker(change, broker))
    if acl is not None:
        tests.append(
            lambda change: change.table == "acls" and any(fnmatchcase(each, acl) for each in acl_names(change))
        )
    if config is not None:
        tests.append(lambda change: change.table == "configs" and fnmatchcase(str(change.key[2]), config))
    return tests


def is_of_topic(change: Change, pattern: str) -> bool:
    row = change.after or change.before or {}
    if change.table == "topics":
        return fnmatchcase(row["name"], pattern)
    if change.table == "partitions":
        return fnmatchcase(row["topic"], pattern)
    return change.table == "configs" and change.key[0] == "TOPIC" and fnmatchcase(str(change.key[1]), pattern)


def is_of_broker(change: Change, broker: int) -> bool:
    if change.table == "partitions":
        rows = [row for row in (change.before, change.after) if row is not None]
        took_part = [[name for name in ("leader", "isr", "replicas") if is_in(row[name], broker)] for row in rows]
        return bool(took_part[0]) if len(rows) == 1 else took_part[0] != took_part[1]
    if change.table == "configs":
        return change.key[0] in ("BROKER", "BROKER_LOGGER") and change.key[1] in (str(broker), "")
    return change.table in ("brokers", "controllers", "voters") and change.key == (broker,)


def is_in(value: object, broker: int) -> bool:
    return broker in value if isinstance(value, list) else value == broker


def acl_names(change: Change) -> list[str]:
    row = change.after or change.before or {}
    return [row["principal"], row["resourceName"]]


def is_implied(event: Event) -> bool:
    """Whether a change only goes with another one: a partition with its topic."""
    return event.record == "RemoveTopicRecord" and event.change.table == "partitions"


def event_text(event: Event) -> str:
    from kcli.snapshots.words import change_text

    when = instant(event.timestamp) or f"{event.timestamp} ms"
    if event.change.table == "leader":
        row = event.change.after or {}
        return f"{when}  {event.offset:>8}  {event.epoch:>4}  ~ node {row['leader']} leads the metadata quorum"
    return f"{when}  {event.offset:>8}  {event.epoch:>4}  {change_text(event.change, brief=True)}"


def summary(node: FolderNode, first: int, shown: int) -> str:
    """How many changes, of which offsets; what is not known."""
    base = node.base(first)
    if base is None:
        return "no changes: the log has no snapshot that it goes on from"
    began = max(first, base)
    missing = f"; what is before {base} has no state before it, and is not shown" if first < base else ""
    return f"{counted(shown, 'change')} from offset {began} on{missing}; the metadata does not hold who made them"
