"""The rows of `kcli top`: clients, brokers, topics, groups and APIs with their figures."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kcli.capture.latency_buckets import SHARES
from kcli.cli.stats.table import Row
from kcli.metrics.figures import CLIENT, Counts, LiveFigures, Load


class Tab(NamedTuple):
    """A kind of rows. column: its heading; name: gives the name of a row by (API, client, broker); None: by topic."""

    title: str
    column: str
    name: Callable[[LiveFigures, str, str, str], str] | None


TABS = (
    Tab("clients", "client", lambda _figures, _api, client, _broker: client),
    Tab("brokers", "broker", lambda _figures, _api, _client, broker: broker),
    Tab("topics", "topic", None),
    Tab("groups", "group", lambda figures, _api, client, _broker: figures.group_of.get(client, "")),
    Tab("APIs", "api", lambda _figures, api, _client, _broker: api),
)
SORTS = ("per_second", "p99_ms", "errors", "lag", "request_bytes", "name")


class TableRow(NamedTuple):
    """A row: its name, figures by name, and the same as they were counted."""

    name: str
    values: dict[str, Any]
    load: Load

    def as_row(self, column: str) -> Row:
        """Return the row as `kcli.cli.stats.table` takes it."""
        return {column: self.name or None}, self.values, self.load


def lines_of(figures: LiveFigures, counts: Counts, tab: Tab, seconds: float, *, groups_fetches: bool) -> list[TableRow]:
    """Return the rows of a tab, with figures of so many seconds. groups_fetches: Fetches without records, and Fetches
    of brokers, are counted apart from requests.
    """
    loads: dict[str, Load] = {}
    kinds: dict[str, dict[str, int]] = {}
    for name, kind, load in named_loads(figures, counts, tab):
        found = kinds.setdefault(name, {})
        found[kind] = found.get(kind, 0) + load.exchanges
        own = loads.setdefault(name, Load())
        if kind == CLIENT or not groups_fetches:
            own.join(load)
    lags = lags_by(figures, tab)
    for name in lags:
        loads.setdefault(name, Load())
    made = []
    for name, load in loads.items():
        folds = kinds.get(name, {}) if groups_fetches else {}
        rest = {kind: count / seconds for kind, count in folds.items() if kind != CLIENT and count}
        if tab.title == "groups" and not name:
            continue
        if load.exchanges or rest or lags.get(name):
            made.append(TableRow(name, values_of(load, seconds) | rest | {"lag": lags.get(name)}, load))
    return made


def named_loads(figures: LiveFigures, counts: Counts, tab: Tab) -> Iterable[tuple[str, str, Load]]:
    """Yield (name of the row, kind of request, its figures)."""
    if tab.name is None:
        yield from ((topic, CLIENT, load) for (topic, _, _), load in counts.topics.items())
        return
    for (api, client, broker, kind), load in counts.loads.items():
        yield tab.name(figures, api, client, broker), kind, load


def lags_by(figures: LiveFigures, tab: Tab) -> dict[str, int]:
    """Return the lag of each row; none for brokers and APIs."""
    place = {"groups": 0, "clients": 1, "topics": 2}.get(tab.title)
    made: dict[str, int] = {}
    for key, lag in figures.lags().items():
        if place is not None:
            made[key[place]] = made.get(key[place], 0) + lag
    return made


def values_of(load: Load, seconds: float) -> dict[str, Any]:
    """Return the figures of a row by name."""
    p50, p95, p99 = load.percentiles(SHARES)
    return {
        "exchanges": load.exchanges,
        "errors": load.errors,
        "request_bytes": load.request_bytes,
        "response_bytes": load.response_bytes,
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "max_ms": load.max_ms,
        "per_second": load.exchanges / seconds,
    }


def sorted_lines(lines: list[TableRow], sort: str, *, reverse: bool, wanted: str = "") -> list[TableRow]:
    """Return the rows with a text in their name in order: the largest figures first, names from a."""
    kept = [line for line in lines if wanted.casefold() in line.name.casefold()]
    if sort == "name":
        return sorted(kept, key=lambda line: line.name, reverse=reverse)
    return sorted(kept, key=lambda line: (line.values.get(sort) or 0, line.load.exchanges), reverse=not reverse)
