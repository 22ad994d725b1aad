"""Figures of captures of tests/diagnose/data and samples/, read whole."""

from functools import cache
from pathlib import Path

from kcli.metrics.figures import LiveFigures
from kcli.metrics.measuring import MeasuredStore, MeasuringFollower

__all__ = ["measured"]


@cache
def measured(*paths: Path) -> LiveFigures:
    """The figures of captures as one."""
    figures = LiveFigures()
    with MeasuredStore(figures) as store:
        for _ in MeasuringFollower(store, [*map(str, paths)]).judgements():
            pass
    return figures
