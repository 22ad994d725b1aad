"""Faults on demand: rules that make a broker fail requests.

A rule is text, `key=value` with commas between, as in

    api=Produce,topic=orders,partition=3,error=NOT_LEADER_OR_FOLLOWER,count=2
    api=Fetch,delay=500,probability=0.1

Which requests: api (names joined by +), topic, partition, client (client id), after (let so many pass first), count
(then no more), every (one in n), probability, for=TIME (90s, 10m: so long since the rule was read), until=TIME (ISO
8601). Their effect is either

    error=NAME       answered with this error, for the topic and partition where the rule names them; nothing is done

or any of

    delay=MS         the answer comes so much later
    ignore           nothing is done, and no answer comes; the connection is silent from then on, as if it hung
    drop             as ignore, but the request is done
    close[=BYTES]    it is done, and the connection is closed after so many bytes of the answer (0)
    split=BYTES      the answer comes in pieces of so many bytes, each in a packet of its own
    evict            all fetch sessions of the broker are evicted first
    move[=NODE]      the partitions that the request names, and the rule is about, get another leader first

Random choices come from one seeded generator: the same requests with the same seed meet the same faults.
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
from kcli.errors import UsageError
from kcli.nearest import suggestion
from kcli.schemas.catalog import catalog
from kcli.schemas.lookup import Catalog

FLAGS = ("ignore", "drop", "evict")
NUMBERS = ("partition", "after", "count", "every", "delay", "close", "split", "move")
NEXT_NODE, NOWHERE = -2, -1
TEXTS = ("api", "topic", "client", "error", "probability", "for", "until")
# Apart pieces leave in packets of their own.
BETWEEN_PIECES = 0.001


@dataclass
class FaultRule:
    """A fault rule: its requests (apis: keys, empty for all; partition -1: all), and its effects. Times in ms, sizes in
    bytes.
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
    met: int = field(default=0, compare=False)
    applied: int = field(default=0, compare=False)

    @property
    def acts(self) -> bool:
        """Return whether the rule does anything but answer with an error."""
        moves, closes = self.move != NOWHERE, self.close >= 0
        return bool(self.delay or self.ignore or self.drop or closes or self.split or self.evict or moves)

    def matches(self, request: FaultSubject) -> bool:
        """Return whether a request is of the rule's APIs and client."""
        return (not self.apis or request.api.key in self.apis) and (not self.client or request.client_id == self.client)

    def concerns(self, topic: str, partition: int) -> bool:
        """Return whether an error rule is about this partition; one without a topic is about the whole request."""
        return (not self.topic or self.topic == topic) and (self.partition < 0 or self.partition == partition)

    def fires(self, chance: random.Random) -> bool:
        """Count one more request that the rule is about. Returns whether the rule applies to it."""
        if self.ends != math.inf and time.time() >= self.ends:
            return False
        self.met += 1
        if self.met <= self.after or (self.count and self.applied >= self.count):
            return False
        if (self.met - self.after - 1) % self.every or chance.random() >= self.probability:
            return False
        self.applied += 1
        return True


class Api(Protocol):
    """The API of a request."""

    @property
    def key(self) -> int:
        """The API's number."""
        ...


class FaultSubject(Protocol):
    """A request, as rules look at it."""

    @property
    def api(self) -> Api:
        """Its API."""
        ...

    @property
    def client_id(self) -> str:
        """Its client's name."""
        ...

    def places(self) -> Iterable[tuple[str, int]]:
        """Return the (topic, partition) pairs that it names; partition -1: the topic as a whole."""
        ...


class ResponseConnection(Protocol):
    """The connection that a response goes to."""

    half_closed: asyncio.Event
    writer: ResponseWriter

    def close(self) -> None:
        """Close once all written bytes are sent."""
        ...


class Plan:
    """The plan for one request, by all the rules that apply to it."""

    def __init__(self, rules: Sequence[FaultRule]) -> None:
        self.delay = sum(each.delay for each in rules) / 1000
        self.ignore = any(each.ignore for each in rules)
        self.silent = self.ignore or any(each.drop for each in rules)
        self.close = max(each.close for each in rules)
        self.split = max(each.split for each in rules)
        self.evict = any(each.evict for each in rules)
        self.moves = [each for each in rules if each.move != NOWHERE]

    def handle(self, request: Request, handler: Callable[[Request], Outcome]) -> Outcome:
        """Apply the faults before the request, then let its handler answer it (unless it is ignored)."""
        if self.evict:
            request.node.evict_sessions()
        for rule in self.moves:
            move_leaders(rule, request)
        return None if self.ignore else handler(request)

    async def send(self, connection: ResponseConnection, pieces: Sequence[Piece]) -> None:
        """Send the response in the way that the rules want."""
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.silent:
            # Answers come in order: later requests of this connection have to wait, too.
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
    """Move the leaders of the partitions that a rule is about: to the node that it names, or to the next one."""
    ids = request.controller.node_ids
    for name, index in request.places():
        partition = request.topics.find((name, index))
        if partition is None or not rule.concerns(name, index):
            continue
        to = ids[(ids.index(partition.leader) + 1) % len(ids)] if rule.move == NEXT_NODE else rule.move
        if to in ids and to != partition.leader:
            request.controller.move_leaders({partition: to})


class Faults:
    """All rules of a broker; they may be added and removed while it runs.

    seed: for the rules' random choices. dialect: its APIs and errors can be named in rules.
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
        """Add a rule. Raises UsageError if the text is not one."""
        made = parse_rule(rule, self.dialect) if isinstance(rule, str) else rule
        self.rules.append(made)
        return made

    def remove(self, rule: FaultRule) -> None:
        """Remove a rule, if it is there."""
        self.rules = [each for each in self.rules if each is not rule]

    def clear(self) -> None:
        """Remove all rules."""
        self.rules.clear()

    def plan(self, request: FaultSubject) -> Plan | None:
        """Return the faults of a request as a whole; None if no rule fires."""
        if not self.rules:
            return None
        met = [each for each in self.rules if not each.error and each.matches(request) and self.is_about(each, request)]
        met = [each for each in met if each.fires(self.chance)]
        return Plan(met) if met else None

    def error(
        self, request: FaultSubject, topic: str = "", partition: int = -1, among: frozenset[int] | None = None
    ) -> int:
        """Return the error code for a request as a whole, or for one partition in it; 0: none. among:
        only these codes.
        """
        for each in self.rules:
            if not each.error or not each.matches(request) or (among is not None and each.error not in among):
                continue
            if each.concerns(topic, partition) and each.fires(self.chance):
                return each.error
        return 0

    @staticmethod
    def is_about(rule: FaultRule, request: FaultSubject) -> bool:
        """Return whether a rule that names a topic or partition is about any in this request."""
        if not rule.topic and rule.partition < 0:
            return True
        return any(rule.concerns(topic, index) for topic, index in request.places())


def parse_rule(text: str, dialect: str | None = None) -> FaultRule:
    """Parse a rule. Raises UsageError that names the wrong part."""
    rule = FaultRule(text=text)
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, given, value = part.partition("=")
        if name in FLAGS and not given:
            setattr(rule, name, True)
        elif name == "close" and not given:
            rule.close = 0
        elif name == "move" and not given:
            rule.move = NEXT_NODE
        elif name in NUMBERS:
            setattr(rule, name, number(text, name, value))
        elif name in TEXTS and value:
            set_text(rule, text, name, value, catalog(dialect))
        else:
            raise UsageError(f"fault {text}: {part!r} is unknown; there are {', '.join(TEXTS + NUMBERS + FLAGS)}")
    if rule.acts == bool(rule.error):
        ways = "delay, ignore, drop, close, split, evict, move"
        raise UsageError(f"fault {text}: no action: error=NAME, or any of {ways} expected")
    return rule


def set_text(rule: FaultRule, text: str, name: str, value: str, tables: Catalog) -> None:
    """Set an option of a rule that has a text value. Both `for` and `until` end the rule: the earlier one counts.
    Raises UsageError.
    """
    if name == "api":
        rule.apis = frozenset(tables.api_key(each) for each in value.split("+"))
    elif name == "error":
        codes = {known: code for code, known in tables.errors.items()}
        if value.upper() not in codes:
            raise UsageError(f"fault {text}: no such error {value}{suggestion(value.upper(), codes)}")
        rule.error = codes[value.upper()]
    elif name in ("for", "until"):
        try:
            when = time.time() + parse_duration(value, "s") / SECOND if name == "for" else parse_instant(value) / SECOND
        except UsageError as error:
            raise UsageError(f"fault {text}: {name}={value}: {error}") from None
        rule.ends = min(rule.ends, when)
    elif name == "probability":
        try:
            rule.probability = float(value)
        except ValueError:
            rule.probability = -1
        if not 0 <= rule.probability <= 1:
            raise UsageError(f"fault {text}: probability={value}: 0 to 1 expected")
    else:
        setattr(rule, name, value)


def number(text: str, name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()) or (name == "every" and int(value) == 0):
        raise UsageError(f"fault {text}: {name}={value}: a whole number expected")
    return int(value)


def read_rules(path: Path) -> list[str]:
    """Read rules from a file: one a line; empty lines and lines that begin with # are skipped."""
    lines = (line.strip() for line in path.read_text("utf-8", "replace").splitlines())
    return [line for line in lines if line and not line.startswith("#")]
