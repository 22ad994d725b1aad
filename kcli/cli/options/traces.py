"""--traces FILE|URL: exchanges as OpenTelemetry spans."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from kcli.cli.capture.live_output import open_live_output
from kcli.cli.options import Command
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.output import open_output
from kcli.counting import counted
from kcli.extras import require

if TYPE_CHECKING:
    from kcli.traces.destinations import Destination


def traces_option(command: Command) -> Command:
    """Add --traces."""
    return click.option(
        "--traces", metavar="FILE|URL",
        help="Write exchanges as OpenTelemetry spans: OTLP JSON to FILE, or OTLP/HTTP to a collector at URL.",
    )(command)  # fmt: skip


def broker_capture_option(command: Command) -> Command:
    """Add --broker-capture."""
    return click.option(
        "--broker-capture", "broker_captures", multiple=True, metavar="FILE|DIR",
        help="With --traces: captures made at the brokers, for spans of the brokers, too.",
    )(command)  # fmt: skip


@contextlib.contextmanager
def destination_of(text: str, inputs: Sequence[str], *, quiet: bool) -> Iterator[Destination]:
    """Open the destination of --traces. inputs: files that must not be replaced. Spans of a stream are written at once.
    Raises UsageError if the destination is invalid.
    """
    require("--traces", "traces")
    from kcli.traces.destinations import Collector, JsonLines

    if "://" not in text:
        opened = open_live_output(text) if "-" in inputs and text != "-" else open_output(text, inputs)
        with opened as out:
            yield JsonLines(out)
        return
    collector = Collector(text)
    yield collector
    if collector.rejected:
        warn(f"the collector at {collector.address.shown} did not take {counted(collector.rejected, 'span')}", quiet)
