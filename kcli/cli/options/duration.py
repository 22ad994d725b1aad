"""Durations on the command line: 90s, 10m, 2h."""

from __future__ import annotations

import re

import click

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class Duration(click.ParamType[float]):
    """Seconds, also as 90s, 10m, 2h, 1d."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds that are meant."""
        match = re.fullmatch(r"(\d{1,9})\s*([smhd]?)", str(value).lower())
        if not match or not int(match[1]):
            self.fail(f"{value!r}: a duration expected, as 90s, 10m or 2h", param, ctx)
        return int(match[1]) * UNITS[match[2]]
