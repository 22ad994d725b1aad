"""The offset to fetch next after a records field."""

from kcli.records import scan
from kcli.records.damage import Damage


def next_offset(records: bytes | bytearray | memoryview, requested: int) -> int:
    """Return the offset after the last complete batch or message of a records field, at least `requested`."""
    damages: list[Damage] = []
    for batch in scan(records, check=False, damages=damages):
        requested = max(requested, batch.next_offset)
    return requested
