"""The order of a replay: the responses that each request waits for, by the capture.

A request waits for the responses that came before it on its own connection, and for those of every write on other
connections that came before it, because it may depend on them (a fetch of what a produce wrote). Requests after a
JoinGroup or SyncGroup that a broker holds back are sent a moment later. Writes to a partition are made in the order of
their offsets, also if they were sent at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from kcli.capture.kafka.exchange import Exchange
from kcli.replay.traffic.appends import Appends
from kcli.replay.traffic.choice import GROUP_APIS, HELD, Choice


@dataclass
class Step:
    """One captured exchange that is made again. seconds: since the first one, as captured.

    own: futures of earlier responses on its connection; after: of earlier writes on others; behind: steps whose
    requests have to be sent first; sent: set when its request has been sent; done: set when its response was processed,
    or there will be none
    """

    exchange: Exchange
    seconds: float
    own: Sequence[asyncio.Future[None]]
    after: Sequence[asyncio.Future[None]]
    behind: Sequence[Step]
    sent: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    sent_at: float = 0.0

    def leave(self, at: float) -> None:
        """Note that the request has been sent."""
        self.sent_at = at
        if not self.sent.done():
            self.sent.set_result(None)

    def end(self) -> None:
        """Note that the step is done."""
        self.leave(self.sent_at)
        if not self.done.done():
            self.done.set_result(None)


class StepSequence:
    """Steps of one client, made in the order of their requests."""

    def __init__(self, choice: Choice, first_ns: int, appends: Appends | None = None, *, free: bool = False) -> None:
        """Order the steps. appends: the captured order of writes; None: they are not ordered by it; free: a request
        waits only for responses on its own connection.
        """
        self.choice, self.first_ns, self.appends, self.free = choice, first_ns, appends, free
        self._number = 0
        self._coming: list[tuple[int, int, Step]] = []  # writes by the time of their captured response
        self._answered: list[Step] = []  # writes whose captured response has come, but not the live one
        self._own: dict[str, list[tuple[int, Step]]] = {}  # {connection: [(time of the captured response, step)]}

    def step(self, exchange: Exchange) -> Step:
        """Return the step of the next exchange. Exchanges come in the order of their requests."""
        now = exchange.request_ns
        while self._coming and self._coming[0][0] <= now:
            self._answered.append(heappop(self._coming)[2])
        self._answered = [each for each in self._answered if not each.done.done()]
        waiting = self._own.setdefault(exchange.connection, [])
        own = [each for at, each in waiting if at <= now]
        waiting[:] = [(at, each) for at, each in waiting if at > now]
        behind: list[Step] = []
        if exchange.api_key in GROUP_APIS:
            behind = [each for _, _, each in self._coming if each.exchange.api_key in HELD]
        after = [each.done for each in self._answered]
        write = self.appends.write_of(exchange) if self.appends else None
        if self.appends and write:
            later = self.appends.later(write)
            after = [each for each in after if each not in later] + self.appends.first(write)
        step = Step(exchange, (now - self.first_ns) / 1e9, [each.done for each in own], after, behind)
        if write:
            step.done = write.done
        if exchange.response_ns is not None:
            waiting.append((exchange.response_ns, step))
            if not self.free and self.choice.is_write(exchange):
                self._number += 1
                heappush(self._coming, (exchange.response_ns, self._number, step))
        return step

    def forget(self, connection: str) -> None:
        """Drop the state of a connection that has no more requests."""
        self._own.pop(connection, None)
