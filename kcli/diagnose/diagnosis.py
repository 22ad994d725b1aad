"""Diagnoses captures: facts in one pass, then what each rule finds, without what others explain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcli.capture.captured_time import CapturedTime
from kcli.capture.nothing import NothingReadError, nothing_in
from kcli.diagnose.fact_source import FactSource
from kcli.diagnose.known import Unknown, unknown_names
from kcli.diagnose.overview import Overview, overview_of
from kcli.diagnose.scope import Unjudged, unjudged_parts, unread_parts
from kcli.diagnose.store import FactStore
from kcli.errors import InputError
from kcli.finding import INFO, Finding
from kcli.rules.judgement import checks
from kcli.rules.judgement import judge as judged_by_rules
from kcli.rules.tables import read_columns
from kcli.shell import file_words

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder


MOST_NAMED = 8  # files in a command


@dataclass(frozen=True, slots=True)
class Scope:
    """The choice of findings; None: all. Facts of others still count, to compare with."""

    group: str | None = None
    client: str | None = None
    topic: str | None = None

    def named(self) -> list[tuple[str, str]]:
        """Return the names that are asked for, each behind its kind."""
        kinds = (("group", self.group), ("client", self.client), ("topic", self.topic))
        return [(kind, name) for kind, name in kinds if name is not None]

    def wants(self, finding: Finding, groups: dict[str, list[str]], topics: set[str]) -> bool:
        """Return whether the finding may concern them. groups: of each client; topics: names of an id."""
        return all(
            wanted is None or kinds_match(finding.subject, kinds, {wanted, *more})
            for wanted, kinds, more in (
                (self.group, ("group", "client"), {each for each, found in groups.items() if self.group in found}),
                (self.client, ("client", "group"), set(groups.get(self.client or "", ()))),
                (self.topic, ("topic",), topics),
            )
        )


def kinds_match(subject: dict[str, Any], kinds: Sequence[str], names: set[str]) -> bool:
    """Return whether a subject has none of these kinds, or one of the names."""
    there = [subject[kind] for kind in kinds if kind in subject]
    found = {str(each) for value in there for each in (value if isinstance(value, list) else [value])}
    return not there or not found.isdisjoint(names)


@dataclass(slots=True)
class Diagnosis:
    """The findings, the most important first. checked: rules that were tried. unjudged: what no rule can judge. judged:
    whether there was anything to judge. overview: what the captures hold. damage: of the files; where they have no
    exchange and nothing is grave, what they have instead. scope: what the findings are of. unknown: names in it that
    the captures have nowhere; there is no finding then.
    """

    findings: list[Finding]
    explained: list[Finding]
    checked: int
    unjudged: list[Unjudged]
    judged: bool
    overview: Overview
    damage: InputError | None = None
    scope: Scope = Scope()
    unknown: tuple[Unknown, ...] = ()

    @property
    def is_grave(self) -> bool:
        """Whether there is a warning or worse."""
        return any(each.severity != INFO for each in self.findings)


def diagnose(
    paths: Sequence[str],
    scope: Scope = Scope(),
    moved: Callable[[int], None] = lambda count: None,
    decoder: PayloadDecoder | None = None,
    named: Sequence[str] = (),
    **options: Any,
) -> Diagnosis:
    """Diagnose captures that are read as one. decoder: reads keys and values of records, too. named: files and folders
    as commands have them, in place of `paths`. options: of DecodeOptions. InputError: nothing can be read."""
    with FactStore() as store:
        return diagnose_into(store, paths, scope, moved, options, decoder, named)


def diagnose_into(
    store: FactStore,
    paths: Sequence[str],
    scope: Scope = Scope(),
    moved: Callable[[int], None] = lambda count: None,
    options: Mapping[str, Any] | None = None,
    decoder: PayloadDecoder | None = None,
    named: Sequence[str] = (),
) -> Diagnosis:
    """Diagnose captures, and leave their facts in an empty store. See `diagnose`."""
    damage, time = read_facts(paths, store, moved, options or {})
    if decoder is not None:
        from kcli.diagnose.payload_facts import PayloadFacts

        for row in PayloadFacts(paths, decoder, options or {}).rows():
            store.put("unread_payloads", row)
        store.flush()
    key_logs = (options or {}).get("key_logs", ())
    found = judge(store, time, named or paths, scope, damage, key_logs=key_logs, payloads=decoder is not None)
    if found.overview.exchanges:
        found.unknown = (*unknown_names(store, paths, scope, [*found.findings, *found.explained], options or {}),)
    if found.unknown:
        found.findings, found.explained = [], []
    return found


def read_facts(
    paths: Sequence[str], store: FactStore, moved: Callable[[int], None], options: Mapping[str, Any]
) -> tuple[InputError | None, CapturedTime]:
    """Fill the store. Return what is wrong with files of which a part could be read, or have no exchange, and the time
    that the files are of.
    """
    source = FactSource(paths, store, read_columns(), **options)
    try:
        for _ in source.read(moved):
            pass
    except InputError as error:
        if not source.engine.packets:
            raise
        return error, source.capture.time
    finally:
        store.flush()
    return nothing_in(source.capture), source.capture.time


def judge(
    store: FactStore,
    time: CapturedTime,
    paths: Sequence[str],
    scope: Scope,
    damage: InputError | None,
    *,
    key_logs: Sequence[str] = (),
    payloads: bool = False,
) -> Diagnosis:
    """Ask all rules. time: that the facts are of. payloads: keys and values of records were read, too."""
    files = file_words(paths if len(paths) <= MOST_NAMED else [*paths[:1], "..."], key_logs)
    store.suit()
    size = overview_of(store, time)
    kept, explained = judged_by_rules(store, files)
    wanted = in_scope(store, kept, scope)
    judged = size.exchanges > 0 or bool(wanted)
    checked = checks(payloads=payloads)
    parts = [*unread_parts(damage), *unjudged_parts(store, size.seconds, files)]
    found = Diagnosis(wanted, explained, checked, parts, judged, size, damage, scope)
    if found.is_grave and isinstance(damage, NothingReadError):
        found.damage = None
    return found


def in_scope(store: FactStore, found: list[Finding], scope: Scope) -> list[Finding]:
    """Return the findings that a scope wants."""
    if scope == Scope():
        return found
    groups = {row["client_id"]: row["groups"] for row in store.ask("SELECT client_id, groups FROM client_groups")}
    named = {
        row["topic"] for row in store.ask("SELECT topic, topic_id FROM topic_names") if row["topic_id"] == scope.topic
    }
    return [each for each in found if scope.wants(each, groups, named)]
