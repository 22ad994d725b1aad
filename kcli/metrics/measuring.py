"""Updates figures with what a `Follower` reads and finds."""

import time
from collections.abc import Sequence
from typing import Any

from kcli.diagnose.following import EVERY_S, Follower
from kcli.diagnose.scope import ALL, Scope
from kcli.diagnose.store import FactStore
from kcli.errors import InputError
from kcli.filelike import Stream
from kcli.finding import Finding
from kcli.metrics.figures import LiveFigures

SETTLE_S = 1.0  # seconds between two updates of the figures


class MeasuredStore(FactStore):
    """A store whose rows are also counted in figures."""

    def __init__(self, figures: LiveFigures) -> None:
        super().__init__()
        self.figures = figures

    def put_batch(self, table: str, batch: Any) -> None:
        self.figures.put(table, batch)
        super().put_batch(table, batch)


class MeasuringFollower(Follower):
    """A follower that updates figures once a second, and passes its findings to them."""

    store: MeasuredStore

    def __init__(
        self,
        store: MeasuredStore,
        paths: Sequence[str | Stream],
        scope: Scope = ALL,
        every: float = EVERY_S,
        **options: Any,
    ) -> None:
        super().__init__(store, paths, scope, every, **options)
        self.figures, self.due, self.settled = store.figures, 0.0, -1
        self.figures.pauses = self.source.capture.pauses

    def piece_read(self) -> None:
        if (now := time.monotonic()) >= self.due:
            self.due = now + SETTLE_S
            if self.settled != (packets := self.source.engine.packets):
                self.settled = packets
                self.source.put_all()
            self.settle()

    def settle(self) -> None:
        """Count the rows read so far."""
        self.figures.settle(self.source.tcp.resent() if self.source.tcp else [])

    def judge(self, damage: InputError | None = None) -> list[Finding]:
        self.settle()
        return super().judge(damage)

    def judged(self, found: list[Finding]) -> None:
        names = self.store.ask("SELECT topic_id, topic FROM topic_by_id")
        self.figures.judge(found, ((row["topic_id"], row["topic"]) for row in names))
