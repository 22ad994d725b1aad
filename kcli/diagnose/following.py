"""Findings in captures that are still being written, each reported when it first appears."""

from __future__ import annotations

import contextlib
import select
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
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
KEPT_S = 450.0  # seconds that facts of exchanges are kept at least, and at most twice as long
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
        """Yield all current findings and those that they explain, at intervals and at the end. InputError at the end,
        for damaged files.
        """
        due = time.monotonic() + self.every
        aged = time.monotonic()
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
                if began - aged > KEPT_S:
                    self.store.age()
                    aged = began
                due = time.monotonic() + max(self.every, SHARE * busy)
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
        """Return the current findings, and those that they explain. damage: see `Diagnosis.trouble`."""
        found = self.last = judge(self.store, self.source.capture.time, self.files, self.scope, damage)
        if found.overview.exchanges:
            every = [*found.findings, *found.explained]
            missing = [*unknown_times(self.source.capture.time, self.scope)]
            missing += unknown_names(self.store, [STDIN], self.scope, every, {})
            self.found_kinds |= {kind for kind, _ in self.scope.named()} - {each.kind for each in missing}
            self.unknown = [each for each in missing if each.kind not in self.found_kinds]
        self.judged(found.findings)
        self.store.forget()
        return [*found.findings, *found.explained]

    def judged(self, found: list[Finding]) -> None:
        """Do nothing: called with the findings, while the store still has the prepared tables."""


def follow(paths: Sequence[str], scope: Scope, every: float = EVERY_S, **options: Any) -> Iterator[Finding]:
    """Yield each finding in files that are still being written when it first appears, and those at the end.

    See `Follower`.
    """
    with FactStore() as store:
        yield from News().of(Follower(store, paths, scope, every, **options).judgements())


class News:
    """Chooses the findings of judgements that are news. now: a clock, in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.known: dict[str, list[KnownFinding]] = {}  # by id of finding

    def of(self, judgements: Iterator[Sequence[Finding]]) -> Iterator[Finding]:
        """Yield each finding that no other explains when it first appears, and again when it has become graver, or
        comes back after QUIET_S seconds without it. Its `explains` has the ids of earlier ones that it explains.
        """
        for judged in judgements:
            at = self.now()
            found = [(each, self.known_of(each)) for each in judged]
            present = {id(known) for _, known in found}
            fresh = [(each, known) for each, known in found if known.is_news(each, at, present)]
            told = [each for each, known in found if known.reported is not None and at - known.seen <= QUIET_S]
            for each, known in found:
                known.note(at, present, self.known_of(each.first_cause))
            for each, known in fresh:
                known.reported = each
                each.explains = sorted({one.finding for one in told if one is not each and one.first_cause is each})
                yield each

    def known_of(self, found: Finding) -> KnownFinding:
        """Return what is known of a finding, with its names."""
        alike = self.known.setdefault(found.finding, [])
        same = next((each for each in alike if each.is_of(found)), None)
        if same is None:
            alike.append(same := KnownFinding())
        for kind in found.subject:
            same.names.setdefault(kind, set()).update(found.names(kind))
        return same

    def reported(self) -> list[Finding]:
        """Return the findings so far, without those that others turned out to explain."""
        every = (each for alike in self.known.values() for each in alike)
        return [each.reported for each in every if each.reported is not None and each.cause is None]


@dataclass(slots=True)
class KnownFinding:
    """A finding of several judgements. reported: as it was last reported; None: not yet. names: those of its subject so
    far, by kind. seen: when it was last found. cause: what explained it, last at `caused`.
    """

    reported: Finding | None = None
    names: dict[str, set[str]] = field(default_factory=dict)
    seen: float = 0.0
    cause: KnownFinding | None = None
    caused: float = 0.0

    def is_of(self, found: Finding) -> bool:
        """Return whether a finding is this one: they share a name of each kind that both have. So a finding with one
        more client is the same.
        """
        return all(not self.names[kind].isdisjoint(found.names(kind)) for kind in self.names.keys() & found.subject)

    def is_news(self, found: Finding, at: float, present: Collection[int]) -> bool:
        """Return whether it is to be reported when it is found at this time. present: the ids of all that are."""
        if found.cause is not None or self.outlives_cause(at, present):
            return False
        rank = SEVERITIES.index
        earlier = self.reported
        return earlier is None or rank(found.severity) < rank(earlier.severity) or at - self.seen > QUIET_S

    def outlives_cause(self, at: float, present: Collection[int]) -> bool:
        """Return whether only its cause is no longer found, as facts are dropped after a while."""
        return self.cause is not None and id(self.cause) not in present and at - self.caused <= KEPT_S

    def note(self, at: float, present: Collection[int], cause: KnownFinding) -> None:
        """Note that it was found at this time. cause: the first cause, or itself."""
        self.seen = at
        if cause is not self:
            self.cause, self.caused = cause, at
        elif not self.outlives_cause(at, present):
            self.cause = None
