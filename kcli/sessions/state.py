"""The classes that hold sessions while a capture is read: compiled, and filled by a kernel, where the core is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kcli.core import COMPILED
from kcli.schemas.apikeys import INCREMENTAL_FETCH
from kcli.sessions.offsets import HEARD
from kcli.sessions.statistics import Marks

if TYPE_CHECKING or not COMPILED:
    from kcli.sessions.statistics import Counts, Histogram, Seat, Strip
else:
    from kcli.core.fetches import Counts, Histogram, Seat, Strip

__all__ = ["Counts", "Histogram", "Marks", "Seat", "Strip", "new_kernel", "new_marks"]


def new_kernel(dialect: str | None = None) -> Any:
    """What follows steady sessions by itself: kcli.core.fetches.Kernel, or None where the core was not built."""
    if not COMPILED:
        return None
    from kcli.core.fetches import Kernel
    from kcli.sessions.columns import layout

    return Kernel(lambda version: layout(version, dialect), (*HEARD, INCREMENTAL_FETCH))


def new_marks(kernel: Any) -> Marks:
    """High watermarks reported by brokers; the kernel's own where there is one."""
    if kernel is not None:
        made: Marks = kernel.marks
        return made
    return Marks()
