"""Handles of faults, watches and the clock of an embedded broker."""

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


def wait_until(kafka: BrokerThread, look: Callable[[Broker], str], timeout: float) -> None:
    """Look again and again until nothing is missing.

    Raises TimeoutError with what is still missing, and the latest requests.
    """
    until = time.monotonic() + timeout
    while lacks := kafka.call(look):
        if time.monotonic() >= until:
            kafka.raise_failure()  # a callback that failed may be why
            latest = "".join(f"\n  {line}" for line in kafka.latest())
            said = f"\nthe latest requests:{latest}" if latest else "\nno client has sent anything"
            raise TimeoutError(f"after {timeout:g} s: {lacks}{said}")
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
        """Return how many requests matched so far."""
        raise NotImplementedError

    @property
    def what(self) -> str:
        """Return the rule or the watch in words."""
        raise NotImplementedError

    def wait(self, hits: int = 1, timeout: float = WAIT_SECONDS) -> None:
        """Wait for so many requests in all. Raises TimeoutError if there were fewer."""
        wait_until(
            self._kafka,
            lambda _broker: "" if self.hits >= hits else f"{self.what}: {self.hits} hits; {hits} expected",
            timeout,
        )

    def remove(self) -> None:
        """End the rule or the watch; a second call changes nothing."""
        raise NotImplementedError


class FaultHandle(Handle):
    """A fault rule. hits: how often it was applied; of an error that is about partitions each counts."""

    def __init__(self, kafka: BrokerThread, rule: FaultRule) -> None:
        super().__init__(kafka)
        self.rule = rule

    def __repr__(self) -> str:
        return f"<Fault {self.rule.text}: {self.hits} hits>"

    @property
    def hits(self) -> int:
        return self.rule.applied

    @property
    def what(self) -> str:
        return f"fault {self.rule.text}"

    def remove(self) -> None:
        self._kafka.call_if_running(lambda broker: broker.faults.remove(self.rule))


class WatchHandle(Handle):
    """A watch or an interception. requests: those that it was about, the latest 1,000."""

    def __init__(self, kafka: BrokerThread, watch: Watch) -> None:
        super().__init__(kafka)
        self.watch = watch

    def __repr__(self) -> str:
        return f"<{self.what}: {self.hits} hits>"

    @property
    def hits(self) -> int:
        return self.watch.hits

    @property
    def what(self) -> str:
        return type(self.watch).__name__

    @property
    def requests(self) -> list[ClientRequest]:
        """Return the requests that it was about."""
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
        """Put the clock forward. Raises UsageError.

        Everything that is due by then happens: sessions end, transactions time out, old segments go.
        """
        ahead = seconds + ms / 1000 + minutes * 60 + hours * 3600
        if not ahead >= 0:
            raise UsageError(f"advance {ahead:g} s: a clock goes forward only")
        self._kafka.call(lambda broker: broker.clock.advance(ahead))


def fault_text(rule: str, parts: Mapping[str, Any], topic_of: Callable[[str], str]) -> str:
    """Return a fault rule as one text. topic_of: gives the full name of a topic.

    Raises UsageError if a part can't be said in one.
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
