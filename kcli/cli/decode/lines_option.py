"""The option of commands that answer each line of their input (`kcli.cli.decode.coprocess`)."""

from __future__ import annotations

from collections.abc import Callable

import click

from kcli.cli.options import Command


def lines_option(text: str) -> Callable[[Command], Command]:
    """Add --lines, as `lines`. text: what a line holds and what answers it."""
    return click.option("--lines", is_flag=True, help=f"{text}, at once: for a program that asks again and again.")
