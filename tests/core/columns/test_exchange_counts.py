"""The core's counts by group; that they are those of values stands in tests/capture/test_statistics.py."""

import pytest

from kcli.capture.filters import ALL
from kcli.capture.kafka.bodies import Bodies
from kcli.core.columns.exchange_counts import ExchangeCounts, records_in
from tests.capture.wires import SAMPLES


def counts_by(*by: str) -> ExchangeCounts:
    return ExchangeCounts(Bodies(), by, {}, True, lambda key, version: None, ALL)


def test_nothing_was_counted() -> None:
    assert counts_by("api", "topic").take_groups() == [(None, 0, 0, 0, 0, 0, 0, {}, 0, 0, 0, 0, 0, {}, [])]


def test_a_column_that_there_is_not() -> None:
    with pytest.raises(KeyError):
        counts_by("colour")


def test_records_are_counted_by_the_headers_of_their_batches() -> None:
    data = (SAMPLES / "orders-0" / "00000000000000000000.log").read_bytes()
    assert records_in(data) == 482 and records_in(b"") == 0 and records_in(data[:-1]) == 480
