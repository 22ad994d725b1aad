"""The option of commands that answer each line of their input (`kcli.cli.decode.coprocess`)."""

from collections.abc import Callable

import click

from kcli.cli.options import Command


def lines_option(text: str) -> Callable[[Command], Command]:
    """Add --lines, as `lines`. text: the forms of an input line and of its answer."""
    return click.option(
        "--lines", is_flag=True, help=f"Answer each input line at once, for use as a coprocess: {text}."
    )
