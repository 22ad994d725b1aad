"""Changes of metadata as commands show them: the options that choose some, and a line for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from kcli.cli.options import Command, with_options
from kcli.jsontext import dumps
from kcli.snapshots.survey_json import instant

if TYPE_CHECKING:
    from kcli.snapshots.history.history import Event
    from kcli.snapshots.image.diff import Change

Test = Callable[["Change"], bool]


@dataclass(frozen=True, kw_only=True)
class ShownOptions:
    """The options of commands that show changes, without those that choose changes."""

    form: str
    output: str | None
    settings: tuple[str, ...]
    secrets: bool
    quiet: bool
    dialect: str | None


OPTIONS = (
    click.option("--topic", metavar="T", help="Only this topic, its partitions and configs; * and ? are wildcards."),
    click.option(
        "--broker", type=int, metavar="ID", help="Only this broker, its configs, and partitions that it led or joined."
    ),
    click.option("--acl", metavar="TEXT", help="Only ACLs with this principal or resource; * and ? are wildcards."),
    click.option("--config", metavar="NAME", help="Only configs of this name; * and ? are wildcards."),
)


def change_options(command: Command) -> Command:
    """Add the options that choose changes; `take_filters` takes them."""
    return with_options(command, OPTIONS)


def take_filters(options: dict[str, Any]) -> list[Test]:
    """Take these options out of a command's, and return the tests that a change has to pass."""
    topic, broker, acl, config = (options.pop(name) for name in ("topic", "broker", "acl", "config"))
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
    """Return whether a change only goes with another one: a partition with its topic."""
    return event.record == "RemoveTopicRecord" and event.change.table == "partitions"


def event_line(event: Event, form: str) -> str:
    """Return a change as a line. form: "text" or "jsonl"."""
    return event_json(event) if form == "jsonl" else event_text(event)


def event_json(event: Event) -> str:
    """Return a change as a line of JSON."""
    from kcli.snapshots.image.change_text import change_json

    when = {"offset": event.offset, "time": instant(event.timestamp), "epoch": event.epoch, "record": event.record}
    return dumps(when | change_json(event.change))


def event_text(event: Event) -> str:
    """Return a change as a line of text."""
    from kcli.snapshots.image.change_text import change_text

    when = instant(event.timestamp) or f"{event.timestamp} ms"
    if event.change.table == "leader":
        row = event.change.after or {}
        return f"{when}  {event.offset:>8}  {event.epoch:>4}  ~ node {row['leader']} leads the metadata quorum"
    return f"{when}  {event.offset:>8}  {event.epoch:>4}  {change_text(event.change, brief=True)}"
