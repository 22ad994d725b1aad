"""The state of each partition and the statistics of each session: the oracle of `kcli.core.sessions.fetches`."""

from kcli.sessions.fetch_exchange import Asked, Key, Reported

HISTORY = 2
SHARED = -2


class PartitionState:
    """The oracle of kcli.core.sessions.fetches.PartitionState."""

    __slots__ = (
        "answered",
        "asked",
        "delivered",
        "ever",
        "high",
        "informed",
        "late",
        "redirected",
        "skipped",
        "stable",
        "start",
    )

    def __init__(self, asked: Asked | None, informed: bool) -> None:
        self.asked = asked
        self.informed = informed
        self.high = self.stable = self.start = -1
        self.delivered = self.ever = self.redirected = self.late = False
        self.skipped = 0
        self.answered = -1

    def is_behind(self, isolation: int) -> bool:
        """Whether the broker has reported records that a consumer with this position may read."""
        if self.asked is None or not self.informed or self.redirected:
            return False
        limit = self.high if isolation == 0 or self.stable > self.high else self.stable
        return self.asked[0] < limit

    def is_news(self, reported: Reported) -> bool:
        """Whether an incremental response has to include this, after what was reported before."""
        error, high, _, start, size, preferred, diverging = reported
        return bool(size or error or high != self.high or start != self.start or preferred >= 0 or diverging)

    def note(self, reported: Reported, number: int) -> None:
        """Note what a response reports of the partition. number: of its fetch, counted in the session."""
        error, high, stable, start, size, preferred, _ = reported
        self.informed = True
        self.high = -1 if error else high
        self.stable = -1 if error else stable
        self.start = start
        self.redirected = preferred >= 0
        self.answered = number
        self.skipped = 0
        if size:
            self.delivered = self.ever = True


class Counts:
    """The oracle of kcli.core.sessions.fetches.Counts."""

    def __init__(self) -> None:
        self.first_ns = self.last_ns = 0
        self.fetches = self.full = self.empty = self.unanswered = self.throttled = 0
        self.request_bytes = self.response_bytes = self.records_bytes = 0
        self.full_request_bytes = self.full_response_bytes = 0
        self.next_epoch = -1
        self.answered_ns = self.used_ns = self.quiet_since = 0
        self.changed = self.late = 0
        self.unsure = False
        self.request_cost = self.response_cost = self.topics = 0
        self.seats: dict[Key, PartitionState] = {}

    @property
    def size(self) -> int:
        """How many partitions there are."""
        return len(self.seats)

    def fill(
        self, asked: list[tuple[Key, Asked]], reported: list[tuple[Key, Reported]], isolation: int, privileged: bool
    ) -> None:
        """Add the partitions of a full fetch, with what its response reports of them."""
        for key, position in asked:
            if key not in self.seats:
                self.enter(key, PartitionState(position, True))
        for key, news in reported:
            seat = self.seats.get(key)
            if seat is not None:
                seat.note(news, self.fetches)
                late = not privileged and seat.is_behind(isolation)
                self.late += late - seat.late
                seat.late = late

    def enter(self, key: Key, seat: PartitionState) -> None:
        """Add a partition."""
        self.seats[key] = seat

    def leave(self, key: Key) -> PartitionState | None:
        """Remove a partition: its state, None when it is not in the session."""
        return self.seats.pop(key, None)

    def silent(self, limit: int) -> tuple[list[Key], int]:
        """(keys of partitions that never delivered: the first `limit` in order, and how many there are)."""
        keys = sorted(key for key, seat in self.seats.items() if not seat.ever)
        return keys[:limit], len(keys)

    def clear(self) -> None:
        """Remove all partitions."""
        self.seats = {}


class Histogram:
    """The oracle of kcli.core.sessions.fetches.Histogram."""

    def __init__(self) -> None:
        self.steps: dict[int, int] = {}
        self.count = 0
        self.most = 0

    def add(self, ns: int) -> None:
        """Count a latency, in nanoseconds."""
        if ns < 0:
            ns = 0
        self.count += 1
        if ns > self.most:
            self.most = ns
        # The highest five bits say the doubling and the step in it.
        shift = ns.bit_length() - 5
        step = (shift << 4) + (ns >> shift & 15) if shift > 0 else ns >> 1
        self.steps[step] = self.steps.get(step, 0) + 1


class Timeline:
    """The oracle of kcli.core.sessions.fetches.Timeline."""

    CELLS = 40

    def __init__(self) -> None:
        self.width = 1_000_000
        self.start = -1
        self.bytes = [0]
        self.full = [0]

    def add(self, ns: int, size: int, full: bool) -> None:
        """Add the bytes of a fetch at a time (ns)."""
        if self.start < 0:
            self.start = ns
        at = max(0, (ns - self.start) // self.width)
        while at >= self.CELLS:
            self.width *= 2
            self.bytes = pairs(self.bytes)
            self.full = pairs(self.full)
            at //= 2
        while len(self.bytes) <= at:
            self.bytes.append(0)
            self.full.append(0)
        self.bytes[at] += size
        self.full[at] += full


def pairs(cells: list[int]) -> list[int]:
    """Sums of neighbours."""
    return [sum(cells[at : at + 2]) for at in range(0, len(cells), 2)]


class HighWatermarks:
    """The oracle of kcli.core.sessions.fetches.HighWatermarks."""

    def __init__(self) -> None:
        self._marks: dict[tuple[str, Key], list[tuple[int, int]]] = {}
        self._owners: dict[str, int] = {}

    def _is_shared(self, topic: str, owner: int) -> bool:
        """Whether another session than `owner` has named the topic: else nobody can know more than `owner`."""
        known = self._owners.setdefault(topic, owner)
        if known not in (owner, SHARED):
            known = self._owners[topic] = SHARED
        return known == SHARED

    def _learn(self, server: str, key: Key, high: int, when: int) -> None:
        known = self._marks.get((server, key))
        if known is None:
            self._marks[server, key] = [(when, high)]
        elif high > known[-1][1]:
            known.append((when, high))
            if len(known) > HISTORY:
                del known[0]
        elif high < known[-1][1]:
            # The log was cut back, or another broker leads it now: begin anew.
            self._marks[server, key] = [(when, high)]

    def learn_all(self, server: str, reported: list[tuple[Key, Reported]], ids: bool, owner: int, when: int) -> None:
        """Note what a response reports of partitions without error. ids: topics by id. owner: session id."""
        for key, news in reported:
            if self._is_shared(key[0], owner) and not news[0]:
                self._learn(server, key, news[1], when)

    def moved_past(self, server: str, key: Key, ids: bool, high: int, before: int) -> int | None:
        """A high watermark above `high` that this server reported to anybody before a time (ns); None: it did not."""
        for when, mark in self._marks.get((server, key), ()):
            if mark > high and when < before:
                return mark
        return None
