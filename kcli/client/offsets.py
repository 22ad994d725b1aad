"""The offset to fetch next after a records field."""

from __future__ import annotations

from kcli.records import scan
from kcli.records.damage import Damage


def next_offset(records: bytes | bytearray | memoryview, asked: int) -> int:
    """Return the offset after the last complete batch or message of a records field, at least `asked`."""
    damages: list[Damage] = []
    for batch in scan(records, check=False, damages=damages):
        asked = max(asked, batch.next_offset)
    return asked
