"""The plan of a replay: the fetches of a capture with their times, in order, for each fetcher.

A fetcher is one captured connection. If the first fetch of a connection names a session that was granted on another
one, it continues that fetcher (a client that reconnected).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from kcli.sessions.epochs import FINAL_EPOCH, NO_SESSION
from kcli.sessions.fetch_exchange import Captured, FetchExchange, Key
from kcli.topic_names import RAFT_TOPICS

RECORDS_BYTES = 4  # index in the reported values of a partition
# Reasons for which a fetch of the capture is not replayed.
METADATA_LOG = "of the metadata log"
METADATA_PART = "of the metadata log, in part,"
UNANSWERED = "without a response"


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One fetch. seconds: since the plan's first fetch; reconnect: whether it is the first on another connection."""

    seconds: float
    captured: Captured
    reconnect: bool = False

    @property
    def is_full(self) -> bool:
        """Return whether the step names every wanted partition, not only changes."""
        return self.captured.session_epoch <= 0

    @property
    def is_close(self) -> bool:
        """Return whether the step only closes a session."""
        captured = self.captured
        return captured.session_epoch == FINAL_EPOCH and captured.session_id != NO_SESSION and not captured.asked


@dataclass
class Fetcher:
    """The fetches of one client, in order.

    label: its client id and its first connection in the capture; carried: partitions that were in its session before
    the capture began. Responses have them though no captured request adds them, or an incremental request names one
    that its response omits, which is only right for a partition that the session already has.
    """

    label: str
    client_id: str
    steps: list[ReplayStep] = field(default_factory=list)
    carried: set[Key] = field(default_factory=set)

    def partitions(self) -> Iterator[Key]:
        """Yield every partition in its requests and responses; one may be repeated."""
        yield from self.carried
        for step in self.steps:
            for key, _ in step.captured.asked:
                yield key


@dataclass
class ReplayPlan:
    """The fetchers of a replay. left_out: {reason: number of fetches that are not replayed}; followers: number of
    fetches by brokers.
    """

    fetchers: list[Fetcher]
    left_out: Counter[str]
    followers: int = 0

    @property
    def fetches(self) -> int:
        """Return the number of fetches of all fetchers."""
        return sum(len(fetcher.steps) for fetcher in self.fetchers)

    @property
    def has_drafts(self) -> bool:
        """Return whether there are fetches of KIP-227's third draft."""
        return any(step.captured.draft for each in self.fetchers for step in each.steps)

    def partitions(self) -> dict[str, int]:
        """Return {topic, by captured id or name: number of partitions that it must have}."""
        counts: dict[str, int] = {}
        for fetcher in self.fetchers:
            for topic, index in dict.fromkeys(fetcher.partitions()):
                counts[topic] = max(counts.get(topic, 0), index + 1)
        return counts

    def delivering(self) -> set[Key]:
        """Return the partitions whose fetches returned records."""
        steps = (step for fetcher in self.fetchers for step in fetcher.steps)
        return {key for step in steps for key, reported in step.captured.reported if reported[RECORDS_BYTES] > 0}


def make_plan(exchanges: Iterable[Captured], is_wanted: Callable[[Captured], bool] | None = None) -> ReplayPlan:
    """Plan the replay of a capture's fetches, which may be in any order. is_wanted: keep only sessions with a fetch for
    which it is true.
    """
    plan = ReplayPlan([], Counter())
    wanted = [each for each in sorted(exchanges, key=lambda each: each.ns) if is_replayed(each, plan.left_out)]
    start = wanted[0].ns if wanted else 0
    by_connection: dict[str, Fetcher] = {}
    by_session: dict[tuple[str, int], Fetcher] = {}
    for each in wanted:
        fetcher = by_connection.get(each.connection)
        reconnect = False
        if fetcher is None:
            fetcher = by_session.get((each.server, each.session_id)) if each.session_id else None
            reconnect = fetcher is not None
            if fetcher is None:
                fetcher = Fetcher(f"{each.client_id or '-'} {each.connection}", each.client_id)
                plan.fetchers.append(fetcher)
            by_connection[each.connection] = fetcher
        fetcher.steps.append(ReplayStep((each.ns - start) / 1e9, each, reconnect))
        if each.granted:
            by_session[each.server, each.granted] = fetcher
    if is_wanted is not None:
        choose_sessions(plan, is_wanted)
    for fetcher in plan.fetchers:
        fetcher.carried = carried_partitions(fetcher)
        plan.followers += sum(step.captured.replica_id >= 0 for step in fetcher.steps)
    return plan


def choose_sessions(plan: ReplayPlan, is_wanted: Callable[[Captured], bool]) -> None:
    """Drop sessions without a fetch that is wanted. The others keep all their fetches, because without a session's
    start none of them would be answered as captured.
    """
    for fetcher in plan.fetchers:
        sessions = [each for each in sessions_of(fetcher) if any(is_wanted(step.captured) for step in each)]
        fetcher.steps = [step for session in sessions for step in session]
    plan.fetchers = [each for each in plan.fetchers if each.steps]
    start = min((each.steps[0].seconds for each in plan.fetchers), default=0.0)
    for fetcher in plan.fetchers:
        fetcher.steps = [replace(step, seconds=step.seconds - start) for step in fetcher.steps]


def sessions_of(fetcher: Fetcher) -> list[list[ReplayStep]]:
    """Return a fetcher's steps in lists, each from one full fetch to the next."""
    sessions: list[list[ReplayStep]] = []
    for step in fetcher.steps:
        if not sessions or (step.is_full and not step.is_close):
            sessions.append([])
        sessions[-1].append(step)
    return sessions


def is_replayed(exchange: FetchExchange, left_out: Counter[str]) -> bool:
    if not exchange.answered:
        left_out[UNANSWERED] += 1
        return False
    topics = {topic for (topic, _), _ in exchange.asked}
    if topics and topics <= RAFT_TOPICS:
        left_out[METADATA_LOG] += 1
        return False
    if topics.isdisjoint(RAFT_TOPICS):
        return True
    left_out[METADATA_PART] += 1
    exchange.asked = [each for each in exchange.asked if each[0][0] not in RAFT_TOPICS]
    exchange.reported = [each for each in exchange.reported if each[0][0] not in RAFT_TOPICS]
    exchange.forgotten = [key for key in exchange.forgotten if key[0] not in RAFT_TOPICS]
    return True


def carried_partitions(fetcher: Fetcher) -> set[Key]:
    """Return partitions that a response has, or a request forgets, before any request has added them, because the
    session is older than the capture.
    """
    known: set[Key] = set()
    carried: set[Key] = set()
    older = True
    for step in fetcher.steps:
        if step.is_full:
            older = False
            known.clear()
        asked = {key for key, _ in step.captured.asked}
        if not step.is_full:
            reported = {key for key, _ in step.captured.reported}.union(step.captured.forgotten)
            carried |= reported - asked - known
            if older and not step.captured.error:
                carried |= asked - reported - known
            known |= reported
        known |= asked
        known.difference_update(step.captured.forgotten)
    return carried
