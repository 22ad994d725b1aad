"""Findings in captures that are still being written, each reported when it first appears."""

import contextlib
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kcli.capture.io.capture_file import StandardInput
from kcli.capture.nothing import nothing_in
from kcli.diagnose.diagnosis import Diagnosis, command_words, judge
from kcli.diagnose.fact_source import FactSource
from kcli.diagnose.known import Unknown, unknown_names, unknown_times
from kcli.diagnose.scope import ALL, Scope
from kcli.diagnose.store import FactStore
from kcli.errors import InputError
from kcli.filelike import Stream, name_of
from kcli.finding import SEVERITIES, Finding
from kcli.input_names import STDIN

EVERY_S = 5.0  # seconds between two judgements, or SHARE times the processor time of the last one
SHARE = 10
KEPT_S = 900.0  # seconds until facts of exchanges are dropped
FRESH_S = 60.0  # seconds from then to the next judgement: what goes on looks wrong where little of it was seen
IDLE_S = 0.5  # seconds without a packet until the packets so far are judged
QUIET_S = 300.0  # seconds without a finding until it is news again


class LiveInput(Stream):
    """A pipe that is still being written: a read returns None when no bytes come for a while. pipe: None is standard
    input.
    """

    def __init__(self, pipe: Any = None) -> None:
        super().__init__(StandardInput() if pipe is None else pipe)
        self.name = name_of(STDIN) if pipe is None else self.name
        self.began, self.over = pipe is not None, False
        self.descriptor = -1  # without a descriptor, reads wait for bytes
        with contextlib.suppress(OSError, AttributeError):
            self.descriptor = (sys.stdin if pipe is None else pipe).fileno()

    def readinto(self, room: Any) -> int | None:
        """Read the bytes at hand (io.RawIOBase): wait for the first ones, and later for IDLE_S at most. None: no bytes
        came, so that findings can be judged. Return 0 once `over`.
        """
        if self.over:
            return 0
        if self.began and self.descriptor >= 0 and not select.select([self.descriptor], [], [], IDLE_S)[0]:
            return None
        self.began = True
        return self.file.readinto(room)  # type: ignore[no-any-return]


class Follower:
    """Judges captures that are still being written. every: seconds between two judgements. options: see DecodeOptions.

    files: the captures as words of commands.
    """

    def __init__(
        self,
        store: FactStore,
        paths: Sequence[str | Stream],
        scope: Scope = ALL,
        every: float = EVERY_S,
        **options: Any,
    ) -> None:
        self.store, self.scope, self.every = store, scope, every
        names = [name if (name := name_of(each)) != name_of(STDIN) else STDIN for each in paths]
        self.files = command_words(names, options.get("key_logs") or ())
        read = [LiveInput() if each == STDIN else each for each in paths]
        self.source = FactSource(read, store, **options)  # type: ignore[arg-type]
        self.packets = 0
        self.unknown: list[Unknown] = []  # names of the scope that no capture has had so far
        self.found_kinds: set[str] = set()  # kinds whose names captures have had
        self.over = False
        self.last: Diagnosis | None = None

    def judgements(self) -> Iterator[list[Finding]]:
        """Yield all current findings, at intervals and at the end. InputError at the end, for damaged files."""
        due = time.monotonic() + self.every
        emptied = time.monotonic()
        damage: InputError | None = None
        try:
            for _ in self.source.read():
                self.piece_read()
                began = time.monotonic()
                if began < due or not self.has_news():
                    continue
                busy = time.process_time()  # on a busy machine, waiting is no reason to judge later
                self.source.put_all()
                found = self.judge()
                busy = time.process_time() - busy
                yield found
                pause = max(self.every, SHARE * busy)
                if began - emptied > KEPT_S:
                    self.store.empty()
                    emptied, pause = began, FRESH_S
                due = time.monotonic() + pause
        except InputError as error:
            damage = error
        self.over = True
        yield self.judge(damage or nothing_in(self.source.capture))
        if damage is not None:
            raise damage

    def whole(self, found: list[Finding]) -> Diagnosis | None:
        """Return the latest diagnosis with all exchanges, also those whose facts were dropped, and these findings."""
        if self.last is None:
            return None
        exchanges = self.source.capture.tally.exchanges
        size = replace(self.last.overview, exchanges=exchanges)
        return replace(self.last, findings=found, overview=size, judged=bool(exchanges or found))

    def has_news(self) -> bool:
        """Return whether packets have come since this was last asked."""
        before, self.packets = self.packets, self.source.engine.packets
        return bool(self.packets != before)

    def piece_read(self) -> None:
        """Do nothing: called when a piece of the captures was read, or no bytes came for a while."""

    def judge(self, damage: InputError | None = None) -> list[Finding]:
        """Return the current findings. damage: see `Diagnosis.trouble`."""
        found = self.last = judge(self.store, self.source.capture.time, self.files, self.scope, damage)
        if found.overview.exchanges:
            every = [*found.findings, *found.explained]
            missing = [*unknown_times(self.source.capture.time, self.scope)]
            missing += unknown_names(self.store, [STDIN], self.scope, every, {})
            self.found_kinds |= {kind for kind, _ in self.scope.named()} - {each.kind for each in missing}
            self.unknown = [each for each in missing if each.kind not in self.found_kinds]
        self.judged(found.findings)
        self.store.forget()
        return found.findings

    def judged(self, found: list[Finding]) -> None:
        """Do nothing: called with the findings, while the store still has the prepared tables."""


def follow(paths: Sequence[str], scope: Scope, every: float = EVERY_S, **options: Any) -> Iterator[Finding]:
    """Yield each finding in files that are still being written when it first appears, and those at the end.

    See `Follower`.
    """
    with FactStore() as store:
        yield from news(Follower(store, paths, scope, every, **options).judgements())


def news(judgements: Iterator[Sequence[Finding]], now: Callable[[], float] = time.monotonic) -> Iterator[Finding]:
    """Yield each finding when it first appears, and again when it has become graver, or comes back after QUIET_S
    seconds without it.
    """
    reported: dict[str, list[ReportedFinding]] = {}  # by id of finding
    for found in judgements:
        at = now()
        for each in found:
            earlier = reported.setdefault(each.finding, [])
            same = next((one for one in earlier if one.is_of(each)), None)
            if same is None:
                earlier.append(same := ReportedFinding())
            if same.is_news(each, at):
                yield each


@dataclass(slots=True)
class ReportedFinding:
    """A finding that was reported. severity: as reported; None: not yet. names: those of its subject so far, by kind.
    seen: when it was last found.
    """

    severity: str | None = None
    names: dict[str, set[str]] = field(default_factory=dict)
    seen: float = 0.0

    def is_of(self, found: Finding) -> bool:
        """Return whether a finding is this one: they share a name of each kind that both have. So a finding with one
        more client is the same.
        """
        return all(not self.names[kind].isdisjoint(found.names(kind)) for kind in self.names.keys() & found.subject)

    def is_news(self, found: Finding, at: float) -> bool:
        """Note that it was found at this time, and return whether it is to be reported."""
        rank = SEVERITIES.index
        is_news = self.severity is None or rank(found.severity) < rank(self.severity) or at - self.seen > QUIET_S
        self.severity, self.seen = found.severity if is_news else self.severity, at
        for kind in found.subject:
            self.names.setdefault(kind, set()).update(found.names(kind))
        return is_news
