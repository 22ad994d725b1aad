"""Handles for faults, watches and the clock of an embedded broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from kcli.broker.control.client_request import ClientRequest
from kcli.broker.control.watches import Watch
from kcli.broker.faults import FLAGS, FaultRule
from kcli.errors import UsageError

if TYPE_CHECKING:
    from kcli.broker.broker import Broker
    from kcli.broker.control.broker_thread import BrokerThread

LOOK_SECONDS = 0.002
WAIT_SECONDS = 10.0


def wait_until(kafka: BrokerThread, check: Callable[[Broker], str], timeout: float) -> None:
    """Call `check` repeatedly in the broker's thread until it returns "". timeout: seconds.

    Raises TimeoutError with the last text that `check` returned and the latest requests, and UsageError if a callback
    of `intercept` failed.
    """
    until = time.monotonic() + timeout
    while problem := kafka.call(check):
        if time.monotonic() >= until:
            kafka.raise_failure()  # a failed callback may be the cause of the timeout
            latest = "".join(f"\n  {line}" for line in kafka.latest())
            requests = f"\nthe latest requests:{latest}" if latest else "\nno client has sent anything"
            raise TimeoutError(f"after {timeout:g} s: {problem}{requests}")
        time.sleep(LOOK_SECONDS)
    kafka.raise_failure()


class Handle:
    """Something that counts requests until it is removed, or its `with` block ends."""

    def __init__(self, kafka: BrokerThread) -> None:
        self._kafka = kafka

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def hits(self) -> int:
        """Return how many requests have matched so far."""
        raise NotImplementedError

    @property
    def description(self) -> str:
        """Return a text that names the rule or watch."""
        raise NotImplementedError

    def wait(self, hits: int = 1, timeout: float = WAIT_SECONDS) -> None:
        """Wait until so many requests have matched in all. Raises TimeoutError if fewer do within `timeout` seconds."""
        wait_until(
            self._kafka,
            lambda _broker: "" if self.hits >= hits else f"{self.description}: {self.hits} hits; {hits} expected",
            timeout,
        )

    def remove(self) -> None:
        """Remove the rule or watch; a second call does nothing."""
        raise NotImplementedError


class FaultHandle(Handle):
    """A fault rule. hits: how often it was applied; an error of partitions counts once per partition."""

    def __init__(self, kafka: BrokerThread, rule: FaultRule) -> None:
        super().__init__(kafka)
        self.rule = rule

    def __repr__(self) -> str:
        return f"<Fault {self.rule.text}: {self.hits} hits>"

    @property
    def hits(self) -> int:
        return self.rule.applied

    @property
    def description(self) -> str:
        return f"fault {self.rule.text}"

    def remove(self) -> None:
        self._kafka.call_if_running(lambda broker: broker.faults.remove(self.rule))


class WatchHandle(Handle):
    """A watch or an interception. requests: the latest 1,000 that it matched."""

    def __init__(self, kafka: BrokerThread, watch: Watch) -> None:
        super().__init__(kafka)
        self.watch = watch

    def __repr__(self) -> str:
        return f"<{self.description}: {self.hits} hits>"

    @property
    def hits(self) -> int:
        return self.watch.hits

    @property
    def description(self) -> str:
        return type(self.watch).__name__

    @property
    def requests(self) -> list[ClientRequest]:
        """Return the requests that matched, the oldest first."""
        return self._kafka.call(lambda _broker: list(self.watch.requests))

    def remove(self) -> None:
        def work(_broker: Broker) -> None:
            if self.watch in self._kafka.control.watches:
                self._kafka.control.watches.remove(self.watch)

        self._kafka.call_if_running(work)


class BrokerClock:
    """The clock of an embedded broker."""

    def __init__(self, kafka: BrokerThread) -> None:
        self._kafka = kafka

    def now(self) -> int:
        """Return the clock's time, in ms since 1970."""
        return self._kafka.call(lambda broker: broker.now())

    def advance(self, seconds: float = 0, *, ms: float = 0, minutes: float = 0, hours: float = 0) -> None:
        """Advance the clock. Raises UsageError for a negative time.

        Everything that becomes due happens: sessions expire, transactions time out, old segments are deleted.
        """
        ahead = seconds + ms / 1000 + minutes * 60 + hours * 3600
        if not ahead >= 0:
            raise UsageError(f"advance {ahead:g} s: a clock goes forward only")
        self._kafka.call(lambda broker: broker.clock.advance(ahead))


def fault_text(rule: str, parts: Mapping[str, Any], topic_of: Callable[[str], str]) -> str:
    """Return a fault rule and its parts as one text. topic_of: returns the full name of a topic.

    Raises UsageError if a part has a comma.
    """
    made = [rule] if rule else []
    for name, value in parts.items():
        text = "+".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        if "," in text:
            raise UsageError(f"fault: {name}={text}: a rule's parts have commas between")
        if value is True and name in (*FLAGS, "close", "move"):
            made.append(name)
        elif value is not None and value is not False:
            made.append(f"{name}={text}")
    split = [part.partition("=") for part in ",".join(made).split(",")]
    return ",".join(
        f"topic={topic_of(text.strip())}" if name.strip() == "topic" and text else name + equals + text
        for name, equals, text in split
    )
