"""Faults on a real cluster's requests, by the rules of the embedded broker: errors, delays, silence, cut responses.

Requests that a rule may match are held until they are complete, because rules may match their contents. The bytes that
all connections hold are limited. Beyond the limit a request passes unread, so that a fault is skipped, but no client is
stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

from kcli.broker.faults import NOWHERE, Faults
from kcli.client.framing import describe_first_bytes
from kcli.errors import KcliError, NetworkError, UsageError
from kcli.grammar import frames
from kcli.grammar.request_start import PREFIX, client_id_of
from kcli.proxy.error_answers import CodeOf, ErrorTarget, error_body, places_in, without
from kcli.proxy.request_stream import LARGEST_HELD, Awaited, RequestStream
from kcli.schemas.catalog import catalog

KEY = 2  # bytes of an API's key
SMALL = 64 << 10  # bytes of a request that is held without being counted
MOST_HELD = 128 << 20  # the most bytes of all incomplete requests together


class ProxyFaultRules:
    """The fault rules of a proxy, by kind. Raises UsageError for an invalid rule, or one that only kcli's broker can
    apply.

    acting: rules other than errors; whole: errors of whole requests; placed: errors of topics or partitions. held: the
    bytes of each incomplete request. note: called with a line about each request that passes at the limit.
    """

    def __init__(
        self, rules: Iterable[str], seed: int | None = None, note: Callable[[str], None] = lambda text: None
    ) -> None:
        self.acting, self.note = Faults(rules, seed), note
        self.held: dict[FaultedRequests, int] = {}
        for rule in self.acting.rules:
            if rule.evict or rule.move != NOWHERE:
                raise UsageError(f"fault {rule.text}: evict and move are for kcli broker serve")
        errors = [rule for rule in self.acting.rules if rule.error]
        self.acting.rules = [rule for rule in self.acting.rules if not rule.error]
        self.whole, self.placed = Faults(), Faults()
        self.whole.chance = self.placed.chance = self.acting.chance
        self.whole.rules = [rule for rule in errors if not rule.topic and rule.partition < 0]
        self.placed.rules = [rule for rule in errors if rule.topic or rule.partition >= 0]
        named = [rule.apis for each in (self.acting, self.whole, self.placed) for rule in each.rules]
        self.apis = None if not all(named) else frozenset[int]().union(*named)

    def concern(self, api_key: int) -> bool:
        """Return whether a rule may match requests of that API."""
        return self.apis is None or api_key in self.apis

    def may_hold(self, requests: FaultedRequests, size: int) -> bool:
        """Set the bytes that a connection holds of a request. Returns False if all connections together hold too
        much.
        """
        self.held[requests] = size
        return sum(self.held.values()) <= MOST_HELD

    def __len__(self) -> int:
        return len(self.acting.rules) + len(self.whole.rules) + len(self.placed.rules)


class HeardTopicNames:
    """The names of topics by id, from Metadata responses."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def learn(self, body: dict[str, Any]) -> None:
        """Add the names in a response."""
        for topic in body.get("topics") or ():
            if isinstance(topic, dict) and topic.get("topicId") and topic.get("name"):
                self._names[topic["topicId"]] = topic["name"]

    def find(self, topic_id: str) -> str:
        """Return the name of a topic id; "" if no response had it."""
        return self._names.get(topic_id, "")


class FaultedApi(NamedTuple):
    """key: the API's number."""

    key: int


class FaultedRequest:
    """A request for fault rules, which is decoded only if one needs its contents. frame: with its length."""

    def __init__(self, frame: bytes, awaited: Awaited, names: HeardTopicNames, dialect: str | None) -> None:
        self.frame, self.names, self.dialect = frame, names, dialect
        self.awaited, self.api = awaited, FaultedApi(awaited.api_key)
        self.client_id = (client_id_of(memoryview(frame)[PREFIX:]) or b"").decode(errors="replace")

    @cached_property
    def decoded(self) -> frames.Request | None:
        """The decoded request; None if it can't be decoded, so that no error rule applies."""
        key, version = self.awaited.api_key, self.awaited.version
        if not catalog(self.dialect).knows(key, version):
            return None
        try:
            return frames.decode_request(self.frame, PREFIX, self.dialect)
        except KcliError:
            return None

    def places(self) -> Iterable[tuple[str, int]]:
        """Return the (topic, partition) pairs that the request names."""
        return [*places_in(self.decoded.body, self.names.find)] if self.decoded is not None else []


class FaultedRequests:
    """One connection's requests, to which rules apply. awaited: as in `RequestStream`."""

    def __init__(
        self,
        rules: ProxyFaultRules,
        awaited: deque[Awaited],
        names: HeardTopicNames,
        dialect: str | None = None,
        allows: Callable[[int], bool] = lambda api_key: True,
    ) -> None:
        self.rules, self.awaited, self.names, self.dialect = rules, awaited, names, dialect
        self._stream = RequestStream(awaited, dialect, allows)
        self._held = bytearray()
        self._passing = 0  # the bytes to come of a request that passes unread

    @property
    def is_between(self) -> bool:
        """Return whether there is no incomplete request."""
        return not self._held and not self._passing

    def close(self) -> None:
        """Drop held bytes, as the connection has ended."""
        self._held = bytearray()
        self.rules.held.pop(self, None)

    def feed(self, data: bytes) -> bytes:
        """Process received bytes; return those that pass to the broker now. Raises NetworkError for an invalid length,
        or an API that is not allowed.
        """
        passed, at = list[bytes](), 0
        while at < len(data):
            if self._passing:
                part = data[at : at + self._passing]
                self._passing -= len(part)
                passed.append(self._stream.feed(part))
            else:
                part = data[at : at + self._wanted() - len(self._held)]
                self._held += part
                passed.append(self._released())
            at += len(part)
        return b"".join(passed)

    def _wanted(self) -> int:
        """Return how many bytes to hold next: a request's length, then also its API key, then all of it."""
        whole = self._whole()
        if whole is None:
            return PREFIX
        return whole if len(self._held) >= PREFIX + KEY or whole <= PREFIX + KEY else PREFIX + KEY

    def _whole(self) -> int | None:
        """Return the size of the held request, None if its length has not arrived. Raises NetworkError if it is
        invalid.
        """
        if len(self._held) < PREFIX:
            return None
        size = int.from_bytes(self._held[:PREFIX], "big", signed=True)
        if not 0 <= size <= LARGEST_HELD:
            raise NetworkError(describe_first_bytes(bytes(self._held[:16]), LARGEST_HELD))
        return PREFIX + size

    def _released(self) -> bytes:
        """Return held bytes that may pass: a whole request after the rules, or a part of one that is not held."""
        whole, have = self._whole(), len(self._held)
        if whole is None or (have < whole and (whole <= SMALL or self._is_holdable(whole))):
            return b""
        data = bytes(self._held)
        self.close()
        if have == whole:
            return self._take(data)
        self._passing = whole - have
        return self._stream.feed(data)

    def _is_holdable(self, whole: int) -> bool:
        """Return whether to hold a long request: a rule may match its API, and the limit is not reached."""
        if len(self._held) < PREFIX + KEY:
            return True
        if not self.rules.concern(int.from_bytes(self._held[PREFIX : PREFIX + KEY], "big", signed=True)):
            return False
        if self.rules.may_hold(self, len(self._held)):
            return True
        self.rules.note(
            f"a request of {whole:,} bytes passes without fault rules: too many incomplete requests are held"
        )
        return False

    def _take(self, frame: bytes) -> bytes:
        """Return the bytes of one request for the broker, and queue the change of its response."""
        known = len(self.awaited)
        self._stream.feed(frame)
        awaited = self.awaited.pop() if len(self.awaited) > known else None
        key, version = frame[PREFIX : PREFIX + 2], frame[PREFIX + 2 : PREFIX + 4]
        expected = awaited or Awaited(int.from_bytes(key, "big"), int.from_bytes(version, "big"), 0)
        if expected.correlation_id is None:
            self.awaited.append(expected)
            return frame
        request = FaultedRequest(frame, expected, self.names, self.dialect)
        plan = self.rules.acting.plan(request)
        if plan is not None and plan.ignore:
            expected, frame = expected._replace(plan=plan, answer=b""), b""
        else:
            expected, frame = self._with_errors(request, expected._replace(plan=plan), frame)
        if awaited is not None:
            self.awaited.append(expected)
        return frame

    def _with_errors(self, request: FaultedRequest, expected: Awaited, frame: bytes) -> tuple[Awaited, bytes]:
        """Return the expected response and the request for the broker. If rules set errors, the response is the proxy's
        own, or gets rows of it, and the failed parts of the request are removed."""
        decoded = request.decoded if self.rules.whole.rules or self.rules.placed.rules else None
        if decoded is None:
            return expected, frame
        if code := self.rules.whole.error(request):
            return expected._replace(answer=self._answer(decoded, lambda _: code)), b""
        places = {ErrorTarget(*each) for each in request.places()} if self.rules.placed.rules else set()
        failing = {each: code for each in sorted(places) if (code := self.rules.placed.error(request, *each))}
        if not failing:
            return expected, frame
        if len(failing) == len(places):
            return expected._replace(answer=self._answer(decoded, lambda at: failing.get(at, 0))), b""
        passing = without(decoded.body, failing, self.names.find)
        decoded.body = without(decoded.body, places - failing.keys(), self.names.find)
        left = frames.encode_request(decoded.header, passing, self.dialect)
        return expected._replace(more=self._error_body(decoded, lambda at: failing.get(at, 0))), sized(left)

    def _error_body(self, request: frames.Request, code_of: CodeOf) -> dict[str, Any]:
        name = catalog(self.dialect).apis[request.api_key].response
        return error_body(name, request.api_version, request.body, code_of, self.names.find, self.dialect)

    def _answer(self, request: frames.Request, code_of: CodeOf) -> bytes:
        """Return the whole response, with its length."""
        header = {"correlationId": request.header["correlationId"]}
        body = self._error_body(request, code_of)
        return sized(frames.encode_response(header, request.api_key, request.api_version, body, self.dialect))


def sized(frame: bytes) -> bytes:
    """Put a frame's length before it."""
    return len(frame).to_bytes(PREFIX, "big") + frame
