"""Figures of captures of tests/diagnose/data and samples/, read whole."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kcli.metrics.figures import LiveFigures
from kcli.metrics.measuring import MeasuredStore, MeasuringFollower

__all__ = ["measured"]


@cache
def measured(path: Path) -> LiveFigures:
    """The figures of one capture."""
    figures = LiveFigures()
    with MeasuredStore(figures) as store:
        for _ in MeasuringFollower(store, [str(path)]).judgements():
            pass
    return figures
