"""The options of `kcli records` for a live topic, apart from their reader: so files are read without importing a
client.
"""

from __future__ import annotations

from typing import Any

import click

from kcli.cli.options import Command, with_options
from kcli.cli.options.client import client_options
from kcli.errors import UsageError

FOLLOWED = ("table", "jsonl")


def live_options(command: Command) -> Command:
    """Add the options that read a live topic."""
    options = (
        click.option("--from-offset", type=click.IntRange(0), metavar="N", help="With --bootstrap: start at offset N."),
        click.option(
            "--last",
            type=click.IntRange(1),
            metavar="N",
            help="With --bootstrap: the last N records of each partition.",
        ),
        click.option(
            "--committed", is_flag=True, help="With --bootstrap: leave out records of aborted and open transactions."
        ),
        click.option(
            "--follow",
            is_flag=True,
            help="With --bootstrap: continue after the current end with new records, until Ctrl-C.",
        ),
    )
    return client_options(with_options(command, options))


def check_live(files: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Return whether a live topic is read. Raises UsageError if the options don't fit together."""
    live = options["bootstrap"] is not None or bool(options["settings"])
    if not live:
        positions = [name for name in ("from_offset", "last", "committed", "follow") if options[name]]
        if positions:
            raise UsageError(f"--{positions[0].replace('_', '-')}: only with --bootstrap")
        if not files:
            raise UsageError("FILE|DIR...: missing (captures or log segments expected; --bootstrap reads a live topic)")
        return False
    if files:
        raise UsageError(f"{files[0]}: --bootstrap reads a live topic, and no file")
    if options["topic"] is None:
        raise UsageError("--topic: missing (of the live topic)")
    if options["follow"] and options["format_"] not in FOLLOWED:
        raise UsageError(f"--follow: --format {' or '.join(FOLLOWED)}, or --values expected")
    if options["from_offset"] is not None and options["last"] is not None:
        raise UsageError("--from-offset, --last: one of them at most")
    return True
