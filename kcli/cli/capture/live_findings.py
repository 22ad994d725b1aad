"""Findings of live traffic, reported when they appear, by `kcli diagnose --follow` in another process."""

import json
import socket
import sys
from typing import Any

import click

from kcli.cli.capture.live_view import LiveView, reading_words
from kcli.cli.options import Command
from kcli.cli.options.metrics import HANDED
from kcli.cli.terminal.console import warn
from kcli.extras import require
from kcli.finding import Finding
from kcli.jsontext import dumps


def findings_option(command: Command) -> Command:
    """Add --findings."""
    return click.option(
        "--findings", is_flag=True,
        help="Also diagnose the traffic: print findings to standard error, or as events of --format jsonl.",
    )(command)  # fmt: skip


def finder(
    options: dict[str, Any], view: LiveView | None, *, shows_findings: bool, quiet: bool,
    served: socket.socket | None = None,
) -> LiveView:  # fmt: skip
    """Return the process that diagnoses the traffic that `view` shows. If both write to standard output, their lines do
    not mix. shows_findings: show findings. quiet: do not show at the end what was checked. served: the socket that
    serves figures of the traffic, if any. Raises UsageError if DuckDB is missing.
    """
    require("--findings", "sql")
    is_event = shows_findings and view is not None and options["format_"] == "jsonl"
    if view is not None and is_event:
        view.shown = put_line
    words = [*reading_words(options, format_="jsonl"), "--follow", *["--quiet"] * (quiet or not shows_findings)]
    if served is not None:
        words += ["--metrics", f"{HANDED}{served.fileno()}"]
    shown = put_event if is_event else put_note if shows_findings else untold
    return LiveView(words, shown, ("diagnose",), served)


def untold(_line: bytes) -> None:
    """Ignore a line."""


def put_line(line: bytes) -> None:
    """Write a line on standard output."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def put_event(line: bytes) -> None:
    """Write a finding as an event."""
    put_line(dumps({"event": "finding", **json.loads(line)}).encode())


def put_note(line: bytes) -> None:
    """Write a finding on standard error."""
    from kcli.diagnose.finding_text import finding_text

    found = finding_text(Finding(**json.loads(line)))
    details = "".join(f"; {name}: {text}" for name, text in found.details if name != "ruled out")
    warn(f"{found.severity} {found.finding}: {found.text}{details}")
    sys.stderr.flush()
