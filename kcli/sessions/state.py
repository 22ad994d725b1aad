"""The classes that hold sessions while a capture is read: compiled, and filled by a kernel, where the core is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcli.core import COMPILED
from kcli.schemas.apikeys import INCREMENTAL_FETCH
from kcli.sessions.offsets import HEARD
from kcli.sessions.statistics import HighWatermarks

if TYPE_CHECKING or not COMPILED:
    from kcli.sessions.statistics import Counts, Histogram, PartitionState, Timeline
else:
    from kcli.core.sessions.fetches import Counts, Histogram, PartitionState, Timeline

__all__ = ["Counts", "HighWatermarks", "Histogram", "PartitionState", "Timeline", "new_kernel", "new_marks"]


def new_kernel(dialect: str | None = None) -> Any:
    """What follows steady sessions by itself: core.sessions.fetches.Kernel, or None where the core was not built."""
    if not COMPILED:
        return None
    from kcli.core.sessions.fetches import Kernel
    from kcli.sessions.columns import layout

    return Kernel(lambda version: layout(version, dialect), (*HEARD, INCREMENTAL_FETCH))


def new_marks(kernel: Any) -> HighWatermarks:
    """High watermarks reported by brokers; the kernel's own where there is one."""
    if kernel is not None:
        made: HighWatermarks = kernel.marks
        return made
    return HighWatermarks()
