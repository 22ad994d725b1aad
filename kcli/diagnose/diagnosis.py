"""Diagnoses captures: reads facts in one pass, asks the rules, and leaves out explained findings."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fsdecode
from typing import TYPE_CHECKING, Any

from kcli.capture.captured_time import CapturedTime
from kcli.capture.filters import ALL as EVERYTHING
from kcli.capture.filters import Filter
from kcli.capture.io.capture_files import captures_in
from kcli.capture.nothing import NothingReadError, nothing_in
from kcli.diagnose.fact_source import FactSource
from kcli.diagnose.known import Unknown, unknown_names, unknown_times
from kcli.diagnose.overview import Overview, overview_of
from kcli.diagnose.scope import ALL, Scope, in_scope
from kcli.diagnose.store import FactStore
from kcli.diagnose.topic_sharing import share_topic_names
from kcli.diagnose.unjudged import second_hop, undecodable, unjudged_parts, unread_parts
from kcli.errors import InputError
from kcli.finding import INFO, Finding, Unjudged
from kcli.rules.clusters import judge_clusters
from kcli.rules.judgement import checks
from kcli.rules.rule_tables import read_columns
from kcli.rules.second_hops import leave_out_second_hops
from kcli.shell import file_words

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder


MOST_NAMED = 8  # capture files named in a command


@dataclass(slots=True)
class Diagnosis:
    """The findings, most important first. checked: the number of rules asked. unjudged: parts that no rule can judge.
    judged: the captures have exchanges or findings. overview: the contents of the captures. trouble: damage of the
    files, or the contents of files without exchanges. scope: the choice of findings. unknown: names in the scope that
    no capture has; there are no findings then.
    """

    findings: list[Finding]
    explained: list[Finding]
    checked: int
    unjudged: list[Unjudged]
    judged: bool
    overview: Overview
    trouble: InputError | None = None
    scope: Scope = ALL
    unknown: tuple[Unknown, ...] = ()

    @property
    def is_grave(self) -> bool:
        """Return whether there is a warning or worse."""
        return any(each.severity != INFO for each in self.findings)

    @property
    def damage(self) -> InputError | None:
        """Return the trouble of the files; None for files without exchanges if there is a warning or worse."""
        return None if self.is_grave and isinstance(self.trouble, NothingReadError) else self.trouble


@dataclass(frozen=True, slots=True)
class Captures:
    """Captures to diagnose as one.

    options: see DecodeOptions. decoder: decodes keys and values of records; None: these are not read.
    named: files and folders for commands to name, in place of `paths`.
    """

    paths: Sequence[str]
    options: Mapping[str, Any] = field(default_factory=dict)
    decoder: PayloadDecoder | None = None
    named: Sequence[str] = ()

    @property
    def words(self) -> str:
        """The captures on the command line of a finding."""
        return command_words(self.named or self.paths, self.options.get("key_logs", ()))


def command_words(files: Sequence[str], key_logs: Sequence[str]) -> str:
    """Return captures as words of a command line; only the first of many."""
    return file_words(files if len(files) <= MOST_NAMED else [*files[:1], "..."], key_logs)


def diagnose(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    scope: Scope = ALL,
    moved: Callable[[int], None] = lambda count: None,
    decoder: PayloadDecoder | None = None,
    named: Sequence[str] = (),
    **options: Any,
) -> Diagnosis:
    """Diagnose captures that are read as one; see `Captures`. A directory stands for the captures in it. Raises
    InputError if nothing can be read.
    """
    files = [fsdecode(each) for each in ([paths] if isinstance(paths, str | PathLike) else paths)]
    with FactStore() as store:
        return diagnose_into(store, Captures(captures_in(files), options, decoder, named or files), scope, moved)


def diagnose_into(
    store: FactStore,
    captures: Captures,
    scope: Scope = ALL,
    moved: Callable[[int], None] = lambda count: None,
) -> Diagnosis:
    """Diagnose captures as `diagnose` does, and leave their facts in the store, which has to be empty."""
    time, damage = read_time(captures.paths, store, moved, captures.options)
    if captures.decoder is not None:
        from kcli.diagnose.payload_facts import PayloadFacts

        for row in PayloadFacts(captures.paths, captures.decoder, captures.options).rows():
            store.put("unread_payloads", row)
        store.flush()
    return concluded(store, captures, scope, damage, time)


def diagnose_together(
    stores: Sequence[FactStore],
    captures: Sequence[Sequence[str]],
    scopes: Sequence[Scope],
    moved: Callable[[int], None],
    options: Mapping[str, Any],
) -> list[Diagnosis]:
    """Diagnose several captures, each in its own store, and share their topic names."""
    read = []
    for paths, store in zip(captures, stores, strict=True):
        time, damage = read_time(paths, store, moved, options)
        read.append((damage, time))
    share_topic_names(stores)
    return [
        concluded(store, Captures(paths, options), scope, damage, time)
        for store, paths, scope, (damage, time) in zip(stores, captures, scopes, read, strict=True)
    ]


def concluded(
    store: FactStore, captures: Captures, scope: Scope, damage: InputError | None, time: CapturedTime
) -> Diagnosis:
    """Judge the facts in a store. damage: of the files; time: the captured time."""
    found = judge(store, time, captures.words, scope, damage, payloads=captures.decoder is not None)
    if found.overview.exchanges:
        every = [*found.findings, *found.explained]
        names = unknown_names(store, captures.paths, scope, every, captures.options)
        found.unknown = (*unknown_times(time, scope), *names)
    if found.unknown:
        found.findings, found.explained = [], []
    return found


def read_facts(
    paths: Sequence[str],
    store: FactStore,
    moved: Callable[[int], None],
    options: Mapping[str, Any],
    chosen: Filter = EVERYTHING,
) -> tuple[FactSource, InputError | None]:
    """Fill the store. chosen: the exchanges to keep. Return the source, and the error of files that were read in part
    or have no exchange. Raises InputError if nothing can be read.
    """
    source = FactSource(paths, store, read_columns(), store.filled, chosen, **options)
    try:
        for _ in source.read(moved):
            pass
    except InputError as error:
        if not source.engine.packets:
            raise
        return source, error
    finally:
        store.unjoined = source.engine.unjoined
        store.flush()
    return source, nothing_in(source.capture)


def read_time(
    paths: Sequence[str], store: FactStore, moved: Callable[[int], None], options: Mapping[str, Any]
) -> tuple[CapturedTime, InputError | None]:
    """Fill the store as `read_facts` does, and return the captured time in place of the source, whose memory is freed:
    it has the ends of every connection.
    """
    source, damage = read_facts(paths, store, moved, options)
    time = source.capture.time
    del source
    if store.files:  # a large capture
        gc.collect()
    return time, damage


def judge(
    store: FactStore,
    time: CapturedTime,
    files: str,
    scope: Scope,
    damage: InputError | None,
    *,
    payloads: bool = False,
) -> Diagnosis:
    """Ask all rules. time: the captured time. files: words of commands. payloads: keys and values were read."""
    store.choose_optimizer()
    hops = leave_out_second_hops(store)
    size = overview_of(store, time)
    unjudged = unjudged_parts(store, time.seconds())  # before tables are made for each cluster
    found = judge_clusters(store, files)
    unread = [*unread_parts(damage), *map(second_hop, hops)]
    unread += undecodable(store, files, [*found.kept, *found.explained])
    wanted = in_scope(store, found.kept, scope)
    judged = size.exchanges > 0 or bool(wanted)
    checked = checks(payloads=payloads)
    parts = [*unread, *unjudged, *found.unjudged]
    return Diagnosis(wanted, found.explained, checked, parts, judged, size, damage, scope)
