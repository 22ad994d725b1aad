"""Where to go on after records were read."""

from __future__ import annotations

from kcli.records import scan
from kcli.records.damage import Damage

__all__ = ["next_offset"]


def next_offset(records: bytes | bytearray | memoryview, asked: int) -> int:
    """The offset after the last whole batch or message of a records field; `asked` when there is none beyond it."""
    damages: list[Damage] = []
    for batch in scan(records, check=False, damages=damages):
        asked = max(asked, batch.next_offset)
    return asked
