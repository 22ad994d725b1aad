"""Exchanges that the core made columns of are those that come as values."""

from pathlib import Path
from typing import Any

import pytest

from kcli.capture.filters import Filter
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.held_rows import HeldRows
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import DATA, SAMPLES

pytest.importorskip("pyarrow")


class All:
    """A condition that holds for everything; headers are made as text where it looks at them."""

    wanted = frozenset({"request_header"})

    def holds(self, batch: Any) -> Any:
        import numpy

        return numpy.ones(batch.num_rows, bool)

    def close(self) -> None:
        """It holds nothing."""


@pytest.mark.parametrize(
    "path", [SAMPLES / "java44-txn.pcap", SAMPLES / "kcat-codecs.pcap", DATA / "kraft-boot.pcap.zst"], ids=str
)
def test_values_and_lines_are_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Exchange, bytes]] = []
    exchange = HeldRows.exchange

    def both(self: HeldRows, row: int) -> Exchange:
        item = exchange(self, row)
        made.append((item, self.line(row)))
        return item

    monkeypatch.setattr(HeldRows, "exchange", both)
    source = as_values([str(path)], chosen=Filter(where=All()), names=False)
    found = [item for items in pieces(source) for item in items if isinstance(item, Exchange)]
    expected = [
        item for items in pieces(as_values([str(path)], names=False)) for item in items if isinstance(item, Exchange)
    ]
    assert len(found) == len(expected) and made
    for one, other in zip(found, expected, strict=True):
        assert vars(one) | {"bodies": None} == vars(other) | {"bodies": None}
    for one, line in made:
        assert line == one.line()
