"""The outcome of a replay, by API: captured and live exchanges compared, in memory that does not grow."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from kcli.capture.kafka.exchange import Exchange
from kcli.redact.rules import words
from kcli.replay.produced_batches import counted
from kcli.replay.topic_mapping import LiveTopics
from kcli.replay.traffic.choice import READS
from kcli.replay.traffic.comparison import Level, differences, records_in
from kcli.replay.traffic.fields import plan_of
from kcli.replay.traffic.identities import Identities
from kcli.replay.traffic.versions import common
from kcli.schemas.apikeys import API_VERSIONS, FETCH
from kcli.schemas.catalog import catalog
from kcli.schemas.errors import COORDINATOR_ERRORS
from kcli.topic_names import INTERNAL

# Errors that pass by themselves, and after which clients retry: the cluster is not ready, a leader moves, a transaction
# still ends, a session has to be opened again.
PASSING = words(
    "UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER NOT_ENOUGH_REPLICAS"
    " CONCURRENT_TRANSACTIONS OUT_OF_ORDER_SEQUENCE_NUMBER RESOURCE_NOT_FOUND FETCH_SESSION_ID_NOT_FOUND"
    " INVALID_FETCH_SESSION_EPOCH FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH"
) | {*COORDINATOR_ERRORS}
# In captured responses also errors that depend on a group's timing: another member has joined or left.
OF_THE_TIME = PASSING | {"REBALANCE_IN_PROGRESS"}
# Errors of a cluster that lacks the subject of a request: no authorizer, a feature that is off.
UNSUPPORTED = words("SECURITY_DISABLED UNSUPPORTED_VERSION DELEGATION_TOKEN_AUTH_DISABLED")
# Errors for a client that is no member of the group.
STRANGERS = words("UNKNOWN_MEMBER_ID ILLEGAL_GENERATION FENCED_MEMBER_EPOCH STALE_MEMBER_EPOCH GROUP_ID_NOT_FOUND")
UNREADY = "the captured cluster was not ready"
OLD_MEMBER = "the member joined before the capture"
SAMPLES = 10_000  # the most latencies that are kept of each API, sampled evenly


class LatencySample:
    """Percentiles of latencies in ms, from a sample of at most SAMPLES."""

    def __init__(self) -> None:
        self.count = 0
        self.kept: list[float] = []
        self.random = Random(0)

    def add(self, milliseconds: float) -> None:
        self.count += 1
        if len(self.kept) < SAMPLES:
            self.kept.append(milliseconds)
        elif (at := self.random.randrange(self.count)) < SAMPLES:
            self.kept[at] = milliseconds

    def percentile(self, part: float) -> float | None:
        """Return the percentile of this part (0.5: the median); None without latencies."""
        if not self.kept:
            return None
        rising = sorted(self.kept)
        return round(rising[min(int(part * len(rising)), len(rising) - 1)], 3)


@dataclass
class Pace:
    """The pace of sent requests. seconds: duration of all runs; planned_seconds: seconds that they should take at the
    requested speed, None without one; late: delays of requests behind their time, in ms.
    """

    sent: int = 0
    seconds: float = 0.0
    planned_seconds: float | None = None
    late: LatencySample = field(default_factory=LatencySample)

    def add(self, late: float | None) -> None:
        """Count a sent request. late: seconds behind its time; None if it had no time."""
        self.sent += 1
        if late is not None:
            self.late.add(max(0.0, 1000 * late))

    def end(self, seconds: float, planned_seconds: float | None) -> None:
        """Add the duration of a run in seconds, and the one that it should have had."""
        self.seconds += seconds
        if planned_seconds is not None:
            self.planned_seconds = (self.planned_seconds or 0.0) + planned_seconds

    @property
    def asked_rate(self) -> float | None:
        """The requested number of requests a second; None: as many as possible."""
        return round(self.sent / self.planned_seconds, 1) if self.planned_seconds else None

    @property
    def rate(self) -> float | None:
        """The actual number of requests a second; None if none was sent."""
        return round(self.sent / self.seconds, 1) if self.seconds and self.sent else None

    def as_dict(self) -> dict[str, Any]:
        """Return the object for JSON."""
        late = {f"late_p{part}_ms": self.late.percentile(part / 100) for part in (50, 99)}
        return {"sent": self.sent, "asked_rate": self.asked_rate, "rate": self.rate, **late}


@dataclass
class ApiTotals:
    """Sums over the exchanges of one API, captured or live. records: sent in Produce, or returned by Fetch."""

    exchanges: int = 0
    unanswered: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    records: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    latencies: LatencySample = field(default_factory=LatencySample)

    def add(self, exchange: Exchange, dialect: str | None, *, judged: bool = True) -> None:
        """Add an exchange. judged: its errors count."""
        self.exchanges += 1
        self.request_bytes += exchange.request_bytes
        self.response_bytes += exchange.response_bytes or 0
        if exchange.response_frame is None:
            self.unanswered += 1
        if judged:
            self.errors.update(exchange.known_errors)
        if exchange.latency_ms is not None:
            self.latencies.add(exchange.latency_ms)
        api = catalog(dialect).known(exchange.api_key)
        for body, message in ((exchange.request, api.request), (exchange.response, api.response)):
            if body is not None:
                self.records += sum(counted(each) for each in records_in(body, plan_of(message, dialect)))

    def as_dict(self) -> dict[str, Any]:
        """Return the object for JSON."""
        return {
            "exchanges": self.exchanges,
            "unanswered": self.unanswered,
            "errors": dict(sorted(self.errors.items())),
            "request_bytes": self.request_bytes,
            "response_bytes": self.response_bytes,
            "records": self.records,
            "p50_ms": self.latencies.percentile(0.5),
            "p99_ms": self.latencies.percentile(0.99),
        }


class ExchangeDifference(NamedTuple):
    """A pair of exchanges that differ. live: None if nothing was sent."""

    api: str
    text: str
    captured: Exchange
    live: Exchange | None


@dataclass
class ApiOutcome:
    """The outcome of one API.

    skipped: {reason: requests that were not sent}; problems: {reason: sent requests without a response}

    not_comparable: {reason: exchanges that are not compared because the cluster lacks their subject}; excused: errors
    of captured responses that were transient, minus the live errors in their place
    """

    api: str
    captured: ApiTotals = field(default_factory=ApiTotals)
    live: ApiTotals = field(default_factory=ApiTotals)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    not_comparable: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)
    differences: Counter[str] = field(default_factory=Counter)

    def verdicts(self, level: Level) -> Iterator[str]:
        """Yield the differences in the sums of the API, at this level."""
        if level == "none":
            return
        captured = self.captured.errors.copy()
        captured.subtract(self.excused)
        if +captured != self.live.errors:
            yield f"errors: {worded(self.captured.errors)}, live {worded(self.live.errors)}"
        if self.live.unanswered > self.captured.unanswered:
            yield f"without a response: {self.captured.unanswered}, live {self.live.unanswered}"
        for text, count in self.skipped.items():
            yield f"{count} not sent: {text}"
        if level != "errors" and self.captured.records != self.live.records:
            yield f"records: {self.captured.records:,}, live {self.live.records:,}"

    def as_dict(self, level: Level) -> dict[str, Any]:
        """Return the object for JSON."""
        return {
            "api": self.api,
            "captured": self.captured.as_dict(),
            "live": self.live.as_dict(),
            "skipped": dict(self.skipped),
            "problems": dict(self.problems),
            "lacking": dict(self.not_comparable),
            "differences": [*self.verdicts(level), *(f"{text} ({n})" for text, n in self.differences.items())],
        }


def worded(errors: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(errors.items())) or "none"


def groups_in(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the groups that a request names."""
    for each in (request, *(request.get("groups") or ())):
        if isinstance(each, Mapping) and each.get("groupId"):
            yield each["groupId"]


def is_of_brokers(response: Mapping[str, Any] | None, topics: LiveTopics) -> bool:
    """Return whether a live Fetch failed only in topics that only brokers write to."""
    failed = {
        topics.names.get(topic.get("topicId", ""), topic.get("topic"))
        for topic in (response or {}).get("responses", ())
        if any(part["errorCode"] for part in topic["partitions"])
    }
    return bool(failed) and failed <= INTERNAL


def members_in(exchange: Exchange) -> Iterator[str]:
    """Yield the ids of members that a request names."""
    request = exchange.request
    for each in (request, *(request.get("members") or ())):
        if isinstance(each, Mapping) and each.get("memberId"):
            yield each["memberId"]


class Outcome:
    """The outcome of a whole replay. shown: the most pairs of exchanges that are kept, one of each kind of
    difference.
    """

    def __init__(self, level: Level, shown: int = 0, dialect: str | None = None) -> None:
        self.level, self.shown, self.dialect = level, shown, dialect
        self.apis: dict[str, ApiOutcome] = {}
        self.kept: list[ExchangeDifference] = []
        self.kinds: Counter[tuple[str, str]] = Counter()
        self.retried = self.late = 0
        self.pace = Pace()
        self.lost: dict[str, str] = {}  # {captured group that is not the same here: reason}

    def api(self, exchange: Exchange) -> ApiOutcome:
        """Return the outcome of an exchange's API."""
        return self.apis.setdefault(exchange.api, ApiOutcome(exchange.api))

    def add(self, captured: Exchange, live: Exchange, identities: Identities) -> None:
        """Add a captured exchange and its live one, and compare them."""
        if reason := self.reason_not_comparable(captured, live, identities):
            self.count_not_comparable(captured, live, reason)
            return
        api = self.api(captured)
        api.captured.add(captured, self.dialect)
        api.live.add(live, self.dialect, judged=captured.response_frame is not None)
        if OF_THE_TIME.intersection(captured.known_errors).difference(live.known_errors):
            api.excused.update(captured.known_errors)
            api.excused.subtract(live.known_errors)
            return
        if captured.cut.response is not None:
            return
        one, other = captured.response, live.response
        if one is None or other is None:
            if captured.response_frame is not None and other is None:
                self.differ(captured, live, "no response", counts=False)
            return
        texts = list(
            differences(
                captured.api_key,
                common(captured.api_key, one),
                common(captured.api_key, other),
                identities,
                self.level,
                self.dialect,
            )
        )
        for text in texts:
            self.differ(captured, live, text)
        if not texts and captured.known_errors != live.known_errors:
            self.differ(captured, live, f"errors {captured.known_errors}, live {live.known_errors}", counts=False)

    def reason_not_comparable(self, captured: Exchange, live: Exchange, identities: Identities) -> str:
        """Return why two exchanges can't be compared; "" if they can."""
        if live.known_errors == captured.known_errors:
            return ""
        if captured.api_key == API_VERSIONS:
            return "the clusters have other versions"
        for subject, one, other in (("cluster answers", live, captured), ("captured cluster answered", captured, live)):
            if unsupported := UNSUPPORTED.intersection(one.known_errors).difference(other.known_errors):
                return f"the {subject} {', '.join(sorted(unsupported))}"
        if captured.api_key == FETCH and is_of_brokers(live.response, identities.topics):
            return "what brokers keep in internal topics is the cluster's own"
        if self.lost:
            for group in groups_in(captured.request):
                if group in self.lost:
                    return self.lost[group]
        strange = STRANGERS.issuperset(live.known_errors)
        if strange and any(each not in identities.members for each in members_in(captured)):
            return OLD_MEMBER
        return ""

    def count_not_comparable(self, captured: Exchange, live: Exchange | None, reason: str) -> None:
        """Add a captured exchange that the cluster can't make again. live: the live one, if the request was sent."""
        api = self.api(captured)
        api.captured.add(captured, self.dialect, judged=False)
        if live is not None:
            api.live.add(live, self.dialect, judged=False)
        api.not_comparable[reason] += 1
        if reason != UNREADY and captured.api not in READS:
            why = "began before the capture" if reason == OLD_MEMBER else "could not form"
            self.lost = {group: f"group {group} {why}" for group in groups_in(captured.request)} | self.lost
        self.differ(captured, live, reason, counts=False)

    def skip(self, captured: Exchange, reason: str) -> None:
        """Add a captured exchange whose request can't be sent."""
        api = self.api(captured)
        api.captured.add(captured, self.dialect)
        api.skipped[reason] += 1
        self.differ(captured, None, reason, counts=False)

    def fail(self, captured: Exchange, live: Exchange, reason: str) -> None:
        """Add a captured exchange whose live request got no response."""
        api = self.api(captured)
        api.captured.add(captured, self.dialect)
        api.live.add(live, self.dialect)
        api.problems[reason] += 1
        self.differ(captured, live, reason, counts=False)

    def differ(self, captured: Exchange, live: Exchange | None, text: str, *, counts: bool = True) -> None:
        """Note a difference of one pair. counts: it is a difference by itself; else only a difference of the sums
        counts.
        """
        if counts:
            self.api(captured).differences[text] += 1
        self.kinds[captured.api, text] += 1
        if self.kinds[captured.api, text] == 1 and len(self.kept) < self.shown:
            self.kept.append(ExchangeDifference(captured.api, text, captured, live))

    def has_differences(self) -> bool:
        """Return whether anything differs at the chosen level."""
        return any(each.differences or any(each.verdicts(self.level)) for each in self.apis.values())
