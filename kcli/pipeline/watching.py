"""`kcli pipeline run --stream` without Spark: polls for complete captures, and reads them."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kcli.pipeline.context import Options, RunEngine
from kcli.pipeline.manifest import listed_in
from kcli.pipeline.run import Summary, run_held
from kcli.pipeline.series import SETTLE, series_pattern, settled
from kcli.pipeline.storage import StoredFile, gather

Report = Callable[[Summary], None]


@dataclass(frozen=True, slots=True)
class Watch:
    """The options of polling for captures.

    every: seconds between polls
    settle: seconds after which a capture without a newer one is complete
    idle: end when no new capture came for so many seconds
    series: a regular expression for the common part of the names of one rotation
    manifest: a file that names captures, too
    """

    every: float = 10
    settle: float = SETTLE
    idle: float | None = None
    series: str | None = None
    manifest: str | None = None

    def settled(self, inputs: Sequence[str]) -> list[StoredFile]:
        """Return the complete captures below the inputs and of the manifest."""
        named = listed_in(self.manifest) if self.manifest is not None else []
        return settled(gather([*inputs, *named]), time.time(), self.settle, series_pattern(self.series))


def quiet(_summary: Summary) -> None:
    """Report nothing."""


def watch_here(
    engine: RunEngine, inputs: Sequence[str], options: Options, watch: Watch, *, report: Report = quiet
) -> Summary:
    """Run until interrupted, or until no capture came for `watch.idle` seconds, without Spark; see
    `kcli.pipeline.streaming.stream`.
    """
    total = Summary()
    last = time.monotonic()
    while True:
        if run_settled(engine, inputs, options, watch, total, report):
            last = time.monotonic()
        elif watch.idle is not None and time.monotonic() - last >= watch.idle:
            return total
        time.sleep(watch.every if watch.idle is None else min(watch.every, watch.idle))


def run_settled(
    engine: RunEngine, inputs: Sequence[str], options: Options, watch: Watch, total: Summary, report: Report
) -> bool:
    """Read the captures that are complete now, if any is new. Returns whether one was. total: the run's summary is
    added to it.
    """
    whole = watch.settled(inputs)
    made = run_held(engine, whole, options) if whole else Summary()
    if made.files:
        total.add(made)
        report(made)
    return bool(made.files)
