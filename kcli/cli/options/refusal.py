"""Options that a command refuses, with the reason, where the other commands that read captures have them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from kcli.cli.options import Command, with_options
from kcli.errors import UsageError


def refused(why: str, *names: str) -> Callable[[Command], Command]:
    """Return a decorator that refuses options of other commands for captures. why: the reason here, and the option to
    use instead.
    """

    def refuse(_context: click.Context, param: click.Parameter, value: Any) -> None:
        if value is not None:
            raise UsageError(f"{param.opts[0]}: {why}")

    return partial(
        with_options,
        options=[click.option(name, hidden=True, expose_value=False, callback=refuse) for name in names],
    )
