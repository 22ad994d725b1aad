"""Names and times of a scope that no capture has: "no findings" would be misleading for these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from kcli.capture.captured_time import CapturedTime
from kcli.capture.decoder import DecodeOptions
from kcli.capture.kafka.clock import instant
from kcli.capture.name_choice import matches
from kcli.capture.names import counted_by, names_by
from kcli.finding import Finding
from kcli.input_names import STDIN

if TYPE_CHECKING:
    from kcli.diagnose.scope import Scope
    from kcli.diagnose.store import FactStore

# The columns of facts with names of each kind; topic ids count as names.
NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "group": {"group_calls": ("group_id",), "commits": ("group_id",)},
    "client": {"exchange_facts": ("client_id",)},
    "topic": {
        "fetch_partitions": ("topic", "topic_id"),
        "produce_partitions": ("topic", "topic_id"),
        "topic_names": ("topic", "topic_id"),
        "partition_states": ("topic", "topic_id"),
        "metadata_topics": ("topic",),
        "commits": ("topic",),
    },
}


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name that no capture has. kind: group, client, topic, or packet for a time. known_names: the names of this
    kind in the captures.
    """

    kind: str
    name: str
    known_names: tuple[str, ...]


def unknown_times(time: CapturedTime, scope: Scope) -> Iterator[Unknown]:
    """Yield the scope's time, if nothing was captured in it. time: the captured time."""
    if scope.times and time.first_ns is not None and time.within(scope.since, scope.until).first_ns is None:
        yield Unknown("packet", scope.times, (f"{instant(time.first_ns)} to {instant(time.last_ns)}",))


def unknown_names(
    store: FactStore,
    paths: Sequence[str],
    scope: Scope,
    findings: Iterable[Finding],
    options: Mapping[str, Any],
) -> Iterator[Unknown]:
    """Yield the names of a scope that fit nothing in facts, findings and exchanges. Facts cover only what rules ask
    for, so a name without facts is looked up in the captures again, except on standard input.
    """
    found = [*findings]
    for kind, name in scope.named():
        facts = names_in(store, kind)
        if any(matches(each, name) for each in chain(facts, *(each.names(kind) for each in found))):
            continue
        counted = [] if STDIN in paths else names_by(kind, counted_by(kind, paths, DecodeOptions(**options)))
        if not any(matches(each, name) for each in counted):
            yield Unknown(kind, name, tuple(counted or sorted(facts - {""})))


def names_in(store: FactStore, kind: str) -> set[str]:
    """Return the names of a kind in the facts. A request without a client id counts as one with an empty id."""
    queries = (
        f"SELECT DISTINCT {column} AS name FROM {table}" for table, each in NAMES[kind].items() for column in each
    )
    found = {str(row["name"] or "") for sql in queries for row in store.ask(sql)}
    return found if kind == "client" else found - {""}
