"""Which exchanges of captures a command takes: the options, and the filter they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kcli.capture.filters import Filter, chosen

__all__ = ["filter_of", "filter_options"]

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option("--api", "apis", multiple=True, metavar="NAME", help="Only this API (by name or key)."),
    click.option("--client-id", "--client", metavar="ID", help="Only this client."),
    click.option("--topic", metavar="T", help="Only what names this topic."),
    click.option("--errors", is_flag=True, help="Only what was answered with an error."),
    click.option("--since", metavar="T", help="Only requests at or after this time (ISO 8601 or seconds since 1970)."),
    click.option("--until", metavar="T", help="Only requests at or before this time."),
)


def filter_options(command: Command) -> Command:
    """--api, --client-id, --topic, --errors, --since, --until."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def filter_of(options: dict[str, Any]) -> Filter:
    """What those options say, and --dialect. UsageError: no such API, or no time."""
    names = ("apis", "client_id", "topic", "errors", "since", "until", "dialect")
    return chosen(*(options[name] for name in names))
