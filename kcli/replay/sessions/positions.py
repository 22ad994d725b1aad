"""The positions from which a replay fetches in the live topics (`--offsets`).

captured   the captured offset if the live partition has it, else clamped to its beginning or end; one that was
           out of range in the capture stays what it was
relative   as far from the live beginning as the captured offset is from the partition's first fetch
earliest   from the live beginning, then after the live records
latest     from the live end, then after the live records
"""

from collections.abc import Iterable

from kcli.client.topics import Bounds
from kcli.schemas.errors import error_code
from kcli.sessions.fetch_exchange import FetchExchange, Key

MODES = ("captured", "earliest", "latest", "relative")
OFFSET_OUT_OF_RANGE = error_code("OFFSET_OUT_OF_RANGE")


class Positions:
    """Fetch offsets in the live partitions, by captured partition. clamped: partitions whose live log lacks a captured
    offset.
    """

    def __init__(self, mode: str, bounds: dict[Key, Bounds]) -> None:
        self.mode, self.bounds = mode, bounds
        self.clamped: set[Key] = set()
        self._first: dict[Key, int] = {}
        self._now: dict[Key, int] = {}

    @property
    def follows_live(self) -> bool:
        """Return whether positions follow the live records, not the captured offsets."""
        return self.mode in ("earliest", "latest")

    def asked(self, captured: FetchExchange) -> Iterable[tuple[Key, int, int]]:
        """Yield (partition, live offset, max bytes) of each partition in a captured request."""
        out_of_range = {key for key, reported in captured.reported if reported[0] == OFFSET_OUT_OF_RANGE}
        for key, asked in captured.asked:
            yield key, self._live_offset(key, asked[0], key in out_of_range), asked[2]

    def carried(self, key: Key) -> int:
        """Return the offset for a partition without a captured position: the live end, or the beginning in mode
        "earliest".
        """
        bounds = self.bounds[key]
        return self._now.setdefault(key, bounds.earliest if self.mode == "earliest" else bounds.latest)

    def move(self, key: Key, next_offset: int) -> None:
        """Note that the live broker returned records up to `next_offset` (exclusive)."""
        self._now[key] = next_offset

    def current(self, key: Key) -> int:
        """Return the live offset at which the next fetch of a partition begins."""
        return self._now[key]

    def _live_offset(self, key: Key, captured: int, was_out_of_range: bool) -> int:
        bounds = self.bounds[key]
        if self.follows_live:
            return self.carried(key)
        if self.mode == "relative":
            first = self._first.setdefault(key, captured)
            captured = bounds.earliest + captured - first
        elif was_out_of_range:
            return captured
        offset = min(max(captured, bounds.earliest), bounds.latest)
        if offset != captured:
            self.clamped.add(key)
        self._now[key] = offset
        return offset
