"""Faults on a real cluster's requests, by the rules of the embedded broker: errors, delays, silence, cut responses.

Requests are held until they are whole, since a rule may be about what is in them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

from kcli.broker.faults import NOWHERE, Faults
from kcli.client.framing import describe_first_bytes
from kcli.errors import KcliError, NetworkError, UsageError
from kcli.grammar import frames
from kcli.grammar.request_start import PREFIX, client_id_of
from kcli.proxy.error_answers import CodeOf, Place, error_body, places_in, without
from kcli.proxy.request_stream import LARGEST_HELD, Awaited, RequestStream
from kcli.schemas.catalog import catalog


class FaultRules:
    """The rules of a proxy, by how they apply. UsageError: one makes no sense, or wants what only kcli's broker can do.

    acting: what happens to a request, or its response; whole: errors for all of a request; placed: for some topics or
    partitions in it.
    """

    def __init__(self, rules: Iterable[str], seed: int | None = None) -> None:
        self.acting = Faults(rules, seed)
        for rule in self.acting.rules:
            if rule.evict or rule.move != NOWHERE:
                raise UsageError(f"fault {rule.text}: evict and move are for kcli broker serve")
        errors = [rule for rule in self.acting.rules if rule.error]
        self.acting.rules = [rule for rule in self.acting.rules if not rule.error]
        self.whole, self.placed = Faults(), Faults()
        self.whole.chance = self.placed.chance = self.acting.chance
        self.whole.rules = [rule for rule in errors if not rule.topic and rule.partition < 0]
        self.placed.rules = [rule for rule in errors if rule.topic or rule.partition >= 0]

    def __len__(self) -> int:
        return len(self.acting.rules) + len(self.whole.rules) + len(self.placed.rules)


class TopicNames:
    """The names of topics by their ids, as Metadata responses tell them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def learn(self, body: dict[str, Any]) -> None:
        """Learn from a response."""
        for topic in body.get("topics") or ():
            if isinstance(topic, dict) and topic.get("topicId") and topic.get("name"):
                self._names[topic["topicId"]] = topic["name"]

    def find(self, topic_id: str) -> str:
        """The name; "" where no response has named it."""
        return self._names.get(topic_id, "")


class Api(NamedTuple):
    """key: the API's number."""

    key: int


class FaultedRequest:
    """A request as fault rules look at it; decoded where one looks into it."""

    def __init__(self, frame: bytes, awaited: Awaited, names: TopicNames, dialect: str | None) -> None:
        self.frame, self.names, self.dialect = frame, names, dialect
        self.awaited, self.api = awaited, Api(awaited.api_key)
        self.client_id = (client_id_of(frame) or b"").decode(errors="replace")

    @cached_property
    def decoded(self) -> frames.Request | None:
        """Header and body; None where they can't be read: no error rule applies to what the tables do not have."""
        key, version = self.awaited.api_key, self.awaited.version
        known = catalog(self.dialect).api(key)
        if known is None or version not in known.versions:
            return None
        try:
            return frames.decode_request(self.frame, dialect=self.dialect)
        except KcliError:
            return None

    def places(self) -> Iterable[tuple[str, int]]:
        """The (topic, partition) pairs that it names."""
        return [*places_in(self.decoded.body, self.names.find)] if self.decoded is not None else []


class FaultedRequests:
    """One connection's requests, under rules. awaited: as for `RequestStream`."""

    def __init__(
        self, rules: FaultRules, awaited: deque[Awaited], names: TopicNames, dialect: str | None = None
    ) -> None:
        self.rules, self.awaited, self.names, self.dialect = rules, awaited, names, dialect
        self._stream = RequestStream(awaited, dialect)
        self._held = bytearray()
        self._need = PREFIX

    @property
    def is_between(self) -> bool:
        """Whether every request that began is whole."""
        return not self._held

    def feed(self, data: bytes) -> bytes:
        """What goes to the broker now that these bytes have come. NetworkError: this is no request, or too long."""
        self._held += data
        if len(self._held) < self._need:
            return b""
        data, start, passed = bytes(self._held), 0, list[bytes]()
        self._need = PREFIX
        while len(data) - start >= PREFIX:
            size = int.from_bytes(data[start : start + PREFIX], "big", signed=True)
            if not 0 <= size <= LARGEST_HELD:
                raise NetworkError(describe_first_bytes(data[start : start + 16], LARGEST_HELD))
            end = start + PREFIX + size
            if end > len(data):
                self._need = PREFIX + size
                break
            passed.append(self._take(data[start:end]))
            start = end
        self._held = bytearray(data[start:])
        return b"".join(passed)

    def _take(self, frame: bytes) -> bytes:
        """What goes to the broker of one request, and what its response is to become."""
        known = len(self.awaited)
        self._stream.feed(frame)
        awaited = self.awaited.pop() if len(self.awaited) > known else None
        key, version = frame[PREFIX : PREFIX + 2], frame[PREFIX + 2 : PREFIX + 4]
        asked = awaited or Awaited(int.from_bytes(key, "big"), int.from_bytes(version, "big"), 0)
        if asked.correlation_id is None:
            self.awaited.append(asked)
            return frame
        request = FaultedRequest(frame[PREFIX:], asked, self.names, self.dialect)
        plan = self.rules.acting.plan(request)
        if plan is not None and plan.ignore:
            asked, frame = asked._replace(plan=plan, answer=b""), b""
        else:
            asked, frame = self._with_errors(request, asked._replace(plan=plan), frame)
        if awaited is not None:
            self.awaited.append(asked)
        return frame

    def _with_errors(self, request: FaultedRequest, asked: Awaited, frame: bytes) -> tuple[Awaited, bytes]:
        """The same where no rule wants an error; else what is answered here, and the request without that."""
        decoded = request.decoded if self.rules.whole.rules or self.rules.placed.rules else None
        if decoded is None:
            return asked, frame
        if code := self.rules.whole.error(request):
            return asked._replace(answer=self._answer(decoded, lambda _: code)), b""
        places = {Place(*each) for each in request.places()} if self.rules.placed.rules else set()
        failing = {each: code for each in sorted(places) if (code := self.rules.placed.error(request, *each))}
        if not failing:
            return asked, frame
        if len(failing) == len(places):
            return asked._replace(answer=self._answer(decoded, lambda at: failing.get(at, 0))), b""
        passing = without(decoded.body, failing, self.names.find)
        decoded.body = without(decoded.body, places - failing.keys(), self.names.find)
        left = frames.encode_request(decoded.header, passing, self.dialect)
        return asked._replace(more=self._error_body(decoded, lambda at: failing.get(at, 0))), sized(left)

    def _error_body(self, request: frames.Request, code_of: CodeOf) -> dict[str, Any]:
        name = catalog(self.dialect).apis[request.api_key].response
        return error_body(name, request.api_version, request.body, code_of, self.names.find, self.dialect)

    def _answer(self, request: frames.Request, code_of: CodeOf) -> bytes:
        """The whole response, with its length."""
        header = {"correlationId": request.header["correlationId"]}
        body = self._error_body(request, code_of)
        return sized(frames.encode_response(header, request.api_key, request.api_version, body, self.dialect))


def sized(frame: bytes) -> bytes:
    """A frame behind its length."""
    return len(frame).to_bytes(PREFIX, "big") + frame
