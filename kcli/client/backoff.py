"""Exponential backoff with jitter (KIP-580), such as retry.backoff.ms, doubled up to retry.backoff.max.ms."""

from __future__ import annotations

import random

from kcli.client.properties import ClientConfig

JITTER = 0.2


class Backoff:
    """The waits before retries. first, longest: seconds without jitter."""

    def __init__(self, first: float, longest: float, chance: random.Random | None = None) -> None:
        self.first, self.longest = first, max(first, longest)
        self._chance = chance or random.Random()

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after that many failures in a row (1 or more): 0.8 to 1.2 times the nominal
        wait.
        """
        nominal = min(self.first * 2.0 ** min(failures - 1, 63), self.longest)
        return nominal * self._chance.uniform(1 - JITTER, 1 + JITTER)


def retry_backoff(config: ClientConfig) -> Backoff:
    """Return the backoff between attempts of a request: retry.backoff.ms, up to retry.backoff.max.ms."""
    return Backoff(config.seconds("retry.backoff.ms"), config.seconds("retry.backoff.max.ms"))


def reconnect_backoff(config: ClientConfig) -> Backoff:
    """Return the backoff between attempts to connect: reconnect.backoff.ms, up to reconnect.backoff.max.ms."""
    return Backoff(config.seconds("reconnect.backoff.ms"), config.seconds("reconnect.backoff.max.ms"))
