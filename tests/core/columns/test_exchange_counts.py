"""The core's counts by group; that they are those of values stands in tests/capture/test_statistics.py."""

from __future__ import annotations

import pytest

from kcli.capture.filters import ALL
from kcli.capture.kafka.bodies import Bodies
from kcli.core.columns.exchange_counts import ExchangeCounts


def test_nothing_was_counted() -> None:
    counts = ExchangeCounts(Bodies(), ("api", "topic"), lambda key, version: None, ALL)
    assert counts.take_groups() == [(None, 0, 0, 0, 0, 0, 0, {}, {})]


def test_a_column_that_there_is_not() -> None:
    with pytest.raises(ValueError):
        ExchangeCounts(Bodies(), ("colour",), lambda key, version: None, ALL)
