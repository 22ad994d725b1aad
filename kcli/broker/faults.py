"""Faults on demand: rules that make a broker fail requests.

A rule is a text of `key=value` parts, separated by commas:

    api=Produce,topic=orders,partition=3,error=NOT_LEADER_OR_FOLLOWER,count=2
    api=Fetch,delay=500,probability=0.1

The parts that choose requests: api (names joined by +), topic, partition, client (client id), after (requests that pass
first), count (requests in all), every (one in n), probability, for=TIME (90s, 10m: since the rule was read), until=TIME
(ISO 8601). The effect is either

    error=NAME       the response has this error, for the rule's topic and partition or the whole request, which is not
                     executed

or any of

    delay=MS         the response comes later
    ignore           the request is not executed, and there is no response to it or any later one on the connection
    drop             as ignore, but the request is executed
    close[=BYTES]    the request is executed, and the connection is closed after so many bytes of the response (0)
    split=BYTES      the response is sent in pieces of so many bytes, each in a packet of its own
    evict            all fetch sessions of the broker are evicted first
    move[=NODE]      the request's partitions that the rule matches get another leader first

Random choices come from one seeded generator, so that the same requests with the same seed get the same faults.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kcli.broker.net.response_writer import ResponseWriter
from kcli.broker.request import Request
from kcli.broker.response import Outcome, Piece
from kcli.capture.kafka.clock import SECOND, parse_duration, parse_instant
from kcli.errors import InputError, UsageError
from kcli.nearest import suggestion
from kcli.schemas.catalog import catalog
from kcli.schemas.lookup import Catalog

FLAGS = ("ignore", "drop", "evict")
NUMBERS = ("partition", "after", "count", "every", "delay", "close", "split", "move")
NEXT_NODE, NOWHERE = -2, -1
# The values of parts without one.
BARE = {**dict.fromkeys(FLAGS, True), "close": 0, "move": NEXT_NODE}
TEXTS = ("api", "topic", "client", "error", "probability", "for", "until")
# Seconds between pieces of a response, so that each is sent in a packet of its own.
BETWEEN_PIECES = 0.001


@dataclass
class FaultRule:
    """A fault rule: the choice of requests (apis: keys, empty for all; partition: -1 for all) and the effects. Times
    are in ms, sizes in bytes. matched: how many requests matched; applied: to how many the rule was applied.
    """

    apis: frozenset[int] = frozenset()
    topic: str = ""
    partition: int = -1
    client: str = ""
    after: int = 0
    count: int = 0
    every: int = 1
    probability: float = 1.0
    error: int = 0
    delay: int = 0
    ignore: bool = False
    drop: bool = False
    close: int = -1
    split: int = 0
    evict: bool = False
    move: int = NOWHERE
    ends: float = field(default=math.inf, compare=False)  # seconds since 1970
    text: str = ""
    matched: int = field(default=0, compare=False)
    applied: int = field(default=0, compare=False)

    @property
    def acts(self) -> bool:
        """Return whether the rule has an effect other than an error."""
        moves, closes = self.move != NOWHERE, self.close >= 0
        return bool(self.delay or self.ignore or self.drop or closes or self.split or self.evict or moves)

    def matches(self, request: FaultSubject) -> bool:
        """Return whether the rule's APIs and client match a request."""
        return (not self.apis or request.api.key in self.apis) and (not self.client or request.client_id == self.client)

    def concerns(self, topic: str, partition: int) -> bool:
        """Return whether the rule's topic and partition match these; a rule without a topic matches any."""
        return (not self.topic or self.topic == topic) and (self.partition < 0 or self.partition == partition)

    def fires(self, chance: random.Random) -> bool:
        """Count a request that the rule matches; return whether the rule is applied to it."""
        if self.ends != math.inf and time.time() >= self.ends:
            return False
        self.matched += 1
        if self.matched <= self.after or (self.count and self.applied >= self.count):
            return False
        if (self.matched - self.after - 1) % self.every or chance.random() >= self.probability:
            return False
        self.applied += 1
        return True


class Api(Protocol):
    """The API of a request."""

    @property
    def key(self) -> int:
        """The API's number."""


class FaultSubject(Protocol):
    """The parts of a request that rules use."""

    client_id: str  # the client id of the request, "" for none

    @property
    def api(self) -> Api:
        """The API of the request."""

    def places(self) -> Iterable[tuple[str, int]]:
        """Return the (topic, partition) pairs that the request names; partition -1 for a whole topic."""


class ResponseConnection(Protocol):
    """The connection that a response is sent on."""

    half_closed: asyncio.Event
    writer: ResponseWriter

    def close(self) -> None:
        """Close once all written bytes are sent."""


class Plan:
    """The combined effects of all rules that are applied to one request."""

    def __init__(self, rules: Sequence[FaultRule]) -> None:
        self.delay = sum(each.delay for each in rules) / 1000
        self.ignore = any(each.ignore for each in rules)
        self.silent = self.ignore or any(each.drop for each in rules)
        self.close = max(each.close for each in rules)
        self.split = max(each.split for each in rules)
        self.evict = any(each.evict for each in rules)
        self.moves = [each for each in rules if each.move != NOWHERE]

    def handle(self, request: Request, handler: Callable[[Request], Outcome]) -> Outcome:
        """Apply the effects that come before the request, and call its handler unless the request is ignored."""
        if self.evict:
            request.node.evict_sessions()
        for rule in self.moves:
            move_leaders(rule, request)
        return None if self.ignore else handler(request)

    async def send(self, connection: ResponseConnection, pieces: Sequence[Piece]) -> None:
        """Send the response with the effects of the rules."""
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.silent:
            # Responses are in order, so that later requests of this connection wait, too.
            await connection.half_closed.wait()
            return
        if not pieces and self.close < 0:
            return
        if self.close < 0 and not self.split:
            await connection.writer.send_pieces(pieces)
            return
        data = b"".join(each if isinstance(each, bytes) else b"".join(each) for each in pieces)
        data = data[: self.close] if self.close >= 0 else data
        size = self.split or len(data) or 1
        for start in range(0, len(data), size):
            await connection.writer.write(data[start : start + size])
            if self.split:
                await asyncio.sleep(BETWEEN_PIECES)
        if self.close >= 0:
            connection.close()


def move_leaders(rule: FaultRule, request: Request) -> None:
    """Move the leaders of a request's partitions that a rule matches: to the rule's node, or to the next one."""
    ids = request.controller.node_ids
    for name, index in request.places():
        partition = request.topics.find((name, index))
        if partition is None or not rule.concerns(name, index):
            continue
        to = ids[(ids.index(partition.leader) + 1) % len(ids)] if rule.move == NEXT_NODE else rule.move
        if to in ids and to != partition.leader:
            request.controller.move_leaders({partition: to})


class Faults:
    """All fault rules of a broker; they may be added and removed while it runs.

    seed: for the rules' random choices. dialect: the message definitions whose APIs and errors rules can name.
    """

    def __init__(
        self, rules: Iterable[str | FaultRule] = (), seed: int | None = None, dialect: str | None = None
    ) -> None:
        self.dialect = dialect
        self.rules: list[FaultRule] = []
        self.chance = random.Random(seed)
        for each in rules:
            self.add(each)

    def add(self, rule: str | FaultRule) -> FaultRule:
        """Add a rule and return it. Raises UsageError if the text is no valid rule."""
        made = parse_rule(rule, self.dialect) if isinstance(rule, str) else rule
        self.rules.append(made)
        return made

    def remove(self, rule: FaultRule) -> None:
        """Remove a rule, if it is still there."""
        self.rules = [each for each in self.rules if each is not rule]

    def clear(self) -> None:
        """Remove all rules."""
        self.rules.clear()

    def plan(self, request: FaultSubject) -> Plan | None:
        """Return the effects other than errors for a request; None if no rule is applied."""
        if not self.rules:
            return None
        matching = [
            each for each in self.rules if not each.error and each.matches(request) and self.is_about(each, request)
        ]
        matching = [each for each in matching if each.fires(self.chance)]
        return Plan(matching) if matching else None

    def error(
        self, request: FaultSubject, topic: str = "", partition: int = -1, among: frozenset[int] | None = None
    ) -> int:
        """Return the error code for a request as a whole, or for one partition in it; 0 for none. among: the only codes
        to look for, None for any.
        """
        for each in self.rules:
            if not each.error or not each.matches(request) or (among is not None and each.error not in among):
                continue
            if each.concerns(topic, partition) and each.fires(self.chance):
                return each.error
        return 0

    @staticmethod
    def is_about(rule: FaultRule, request: FaultSubject) -> bool:
        """Return whether a rule matches any partition of this request, or has no topic and partition."""
        if not rule.topic and rule.partition < 0:
            return True
        return any(rule.concerns(topic, index) for topic, index in request.places())


def parse_rule(text: str, dialect: str | None = None) -> FaultRule:
    """Parse a rule. Raises UsageError with the wrong part."""
    rule = FaultRule(text=text)
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals and name in BARE:
            setattr(rule, name, BARE[name])
        elif name in NUMBERS:
            setattr(rule, name, number(text, name, value))
        elif name in TEXTS and value:
            set_text(rule, text, name, value, catalog(dialect))
        else:
            raise UsageError(f"fault {text}: {part!r} is unknown; there are {', '.join(TEXTS + NUMBERS + FLAGS)}")
    if rule.acts == bool(rule.error):
        effects = "delay, ignore, drop, close, split, evict, move"
        raise UsageError(f"fault {text}: no action: error=NAME, or any of {effects} expected")
    return rule


def set_text(rule: FaultRule, text: str, name: str, value: str, tables: Catalog) -> None:
    """Set a part of a rule with a text value. If a rule has `for` and `until`, the earlier time ends it.
    Raises UsageError.
    """
    if name == "api":
        rule.apis = frozenset(tables.api_key(each) for each in value.split("+"))
    elif name == "error":
        rule.error = error_named(text, value, tables)
    elif name in ("for", "until"):
        rule.ends = min(rule.ends, end_of(text, name, value))
    elif name == "probability":
        rule.probability = probability(text, value)
    else:
        setattr(rule, name, value)


def error_named(text: str, name: str, tables: Catalog) -> int:
    codes = {known: code for code, known in tables.errors.items()}
    if name.upper() not in codes:
        raise UsageError(f"fault {text}: no such error {name}{suggestion(name.upper(), codes)}")
    return codes[name.upper()]


def end_of(text: str, name: str, value: str) -> float:
    """Return the time (s since 1970) at which a rule ends. name: "for" with a duration, or "until" with a time."""
    try:
        return time.time() + parse_duration(value, "s") / SECOND if name == "for" else parse_instant(value) / SECOND
    except UsageError as error:
        raise UsageError(f"fault {text}: {name}={value}: {error}") from None


def probability(text: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1
    if not 0 <= share <= 1:
        raise UsageError(f"fault {text}: probability={value}: 0 to 1 expected")
    return share


def number(text: str, name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()) or (name == "every" and int(value) == 0):
        raise UsageError(f"fault {text}: {name}={value}: a whole number expected")
    return int(value)


def read_rules(path: Path) -> list[str]:
    """Read rules from a file, one per line; empty lines and lines that begin with # are skipped. Raises OSError,
    InputError.
    """
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except UnicodeDecodeError as error:
        raise InputError(f"not text: byte {error.start} is not UTF-8", file=str(path)) from None
    return [line for line in lines if line and not line.startswith("#")]
