"""A kernel that follows nothing by itself: the tracker does, exchange by exchange."""

from typing import Any

from tests.oracle.sessions.statistics import HighWatermarks


class InterpretedKernel:
    """What a Tracker takes for a `kcli.core.sessions.fetches.Kernel`."""

    fetches = now = 0

    def __init__(self) -> None:
        self.opener: Any = None
        self.keeper: Any = None
        self.loose: dict[Any, Any] = {}
        self.marks = HighWatermarks()

    def adopt(self, *session: Any) -> None:
        """The session keeps its own state."""

    attach = detach = adopt

    def offer(self, *exchange: Any) -> bool:
        """A fetch is not taken."""
        return False

    def columns(self, *frames: Any) -> None:
        """A fetch is not read."""
