"""Durations on the command line: 10ms, 90s, 10m, 1m30s."""

import click

from kcli.capture.kafka.clock import SECOND, parse_duration
from kcli.errors import UsageError


class Duration(click.ParamType[float]):
    """Seconds, also as 90s, 10m, 2h, 1d. least: the shortest, in seconds; None: longer than nothing."""

    name = "duration"

    def __init__(self, least: float | None = None) -> None:
        self.least = least

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the duration in seconds."""
        try:
            seconds = parse_duration(str(value), "s") / SECOND
        except UsageError:
            seconds = -1.0
        if seconds < 0 or (seconds == 0 and self.least is None):
            self.fail(f"{value!r}: a duration expected, as 90s, 10m or 2h", param, ctx)
        if self.least is not None and seconds < self.least:
            self.fail(f"{value!r}: {self.least:g}s or more expected", param, ctx)
        return seconds


class Milliseconds(click.ParamType[float]):
    """A duration in ms, also as 10ms, 1.5s or 2m."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the duration in milliseconds."""
        try:
            return parse_duration(str(value), "ms") / 1_000_000
        except UsageError as error:
            self.fail(str(error), param, ctx)
