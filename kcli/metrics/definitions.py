"""All metrics, each defined once. The exporter, the reference page and the dashboard are made from these
definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from operator import add
from typing import Any, Literal, TypeVar

from kcli.metrics.figures import LiveFigures, Load, TopicLoad
from kcli.version import __version__

Kind = Literal["counter", "gauge", "histogram", "info"]
BY_CLIENT = ("api", "client", "broker")
BY_TOPIC = ("topic", "api", "client")


@dataclass(frozen=True, slots=True)
class Buckets:
    """The value of a histogram: the number of values in each slot of `BOUNDS`, and the sum of the values."""

    slots: tuple[int, ...]
    total: float

    def __add__(self, other: Buckets) -> Buckets:
        return Buckets(tuple(map(add, self.slots, other.slots)), self.total + other.total)

    @property
    def counts(self) -> list[int]:
        """The number of values up to each of `BOUNDS`, and of all values."""
        return [*accumulate(self.slots)]


Value = TypeVar("Value", float, Buckets)
Sample = tuple[tuple[str, ...], Value]  # values of the labels, and the value


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. name: without the suffix of its kind (_total, _info). unit: with which its name ends, or "". samples:
    returns its values; for a histogram they are `Buckets`. panel: the title of its panel in the dashboard; "": it has
    none. query: the query of that panel, with {name} for the metric's name.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    samples: Callable[[Any], Iterator[Sample[float]]] | Callable[[Any], Iterator[Sample[Buckets]]]
    unit: str = ""
    panel: str = ""
    query: str = ""

    @property
    def exported(self) -> str:
        """The metric's name in Prometheus; for a histogram without the suffixes of its parts."""
        return self.name + {"counter": "_total", "info": "_info"}.get(self.kind, "")


def of_loads(value: Callable[[Load], Value]) -> Callable[[LiveFigures], Iterator[Sample[Value]]]:
    """Return a function that yields a figure by API, client and broker."""

    def samples(figures: LiveFigures) -> Iterator[Sample[Value]]:
        made: dict[tuple[str, ...], Value] = {}
        for (api, client, broker, _), load in figures.total.loads.items():
            key, found = (api, client, broker), value(load)
            made[key] = made[key] + found if key in made else found
        yield from made.items()

    return samples


def of_topics(value: Callable[[TopicLoad], float]) -> Callable[[LiveFigures], Iterator[Sample[float]]]:
    """Return a function that yields a figure by topic, API and client."""

    def samples(figures: LiveFigures) -> Iterator[Sample[float]]:
        for key, load in figures.total.topics.items():
            yield key, value(load)

    return samples


def errors(figures: LiveFigures) -> Iterator[Sample[float]]:
    """Yield the number of errors by name."""
    for key, names in figures.errors_by.items():
        for name, count in names.items():
            yield (name, *key), count


def topic_errors(figures: LiveFigures) -> Iterator[Sample[float]]:
    """Yield the number of errors of topics' partitions by name."""
    for key, load in figures.total.topics.items():
        for name, count in load.names.items():
            yield (name, *key), count


def fetches_of_kind(kind: str) -> Callable[[LiveFigures], Iterator[Sample[float]]]:
    """Return a function that yields the number of requests of a kind by client and broker."""

    def samples(figures: LiveFigures) -> Iterator[Sample[float]]:
        made: dict[tuple[str, ...], int] = {}
        for (_, client, broker, each), load in figures.total.loads.items():
            if each == kind:
                made[client, broker] = made.get((client, broker), 0) + load.exchanges
        yield from made.items()

    return samples


def findings(figures: LiveFigures) -> Iterator[Sample[float]]:
    """Yield the number of current findings."""
    counted: dict[tuple[str, ...], int] = {}
    for each in figures.findings:
        key = each.finding, each.severity
        counted[key] = counted.get(key, 0) + 1
    yield from counted.items()


def buckets_of(load: Load) -> Buckets:
    """Return the latencies of a load as buckets."""
    return Buckets(tuple(load.slots), load.seconds)


def refused(figures: LiveFigures) -> Iterator[Sample[float]]:
    """Yield how often names were counted as "other"."""
    for kind in ("clients", "brokers", "topics", "groups", "errors"):
        yield (kind.removesuffix("s"),), getattr(figures, kind).refused


METRICS = (
    Metric(
        "kcli_requests", "counter", "Requests.", BY_CLIENT, of_loads(lambda load: load.exchanges),
        panel="Requests per second", query="sum by (api) (rate({name}[$__rate_interval]))",
    ),
    Metric(
        "kcli_errors", "counter",
        "Responses with an error, by its name; a response with several errors counts for each of them.",
        ("error", *BY_CLIENT), errors,
        panel="Errors per second", query="sum by (error, api) (rate({name}[$__rate_interval]))",
    ),
    Metric(
        "kcli_latency_seconds", "histogram",
        "Time from request to response, without the time for which a Fetch may wait; requests that wait for "
        "others (JoinGroup, SyncGroup, ShareFetch, ...) are not counted.",
        BY_CLIENT, of_loads(buckets_of), "seconds",
        panel="Latency, 99th percentile",
        query="histogram_quantile(0.99, sum by (le, broker) (rate({name}_bucket[$__rate_interval])))",
    ),
    Metric(
        "kcli_request_bytes", "counter", "Bytes of requests, with headers and lengths.", BY_CLIENT,
        of_loads(lambda load: load.request_bytes), "bytes",
        panel="Bytes of requests per second", query="sum by (client) (rate({name}[$__rate_interval]))",
    ),
    Metric(
        "kcli_response_bytes", "counter", "Bytes of responses, with headers and lengths.", BY_CLIENT,
        of_loads(lambda load: load.response_bytes), "bytes",
        panel="Bytes of responses per second", query="sum by (client) (rate({name}[$__rate_interval]))",
    ),
    Metric(
        "kcli_idle_fetches", "counter", "Fetches of clients whose response has no records.", ("client", "broker"),
        fetches_of_kind("idle"),
    ),
    Metric(
        "kcli_replication_fetches", "counter", "Fetches of brokers that follow a leader.", ("client", "broker"),
        fetches_of_kind("replication"),
    ),
    Metric(
        "kcli_topic_requests", "counter",
        "Requests that write to a topic or read from it, except those of brokers; of ShareFetch only those with "
        "records.",
        BY_TOPIC,
        of_topics(lambda load: load.exchanges),
    ),
    Metric(
        "kcli_topic_records", "counter",
        "Records written to a topic (PRODUCE) or read from it (FETCH, SHARE_FETCH).",
        BY_TOPIC, of_topics(lambda load: load.records),
        panel="Records per second", query="sum by (topic, api) (rate({name}[$__rate_interval]))",
    ),
    Metric(
        "kcli_topic_bytes", "counter", "Bytes of these records on the wire.", BY_TOPIC,
        of_topics(lambda load: load.request_bytes + load.response_bytes), "bytes",
    ),
    Metric(
        "kcli_topic_errors", "counter", "Partitions of a topic whose response has an error, by its name.",
        ("error", *BY_TOPIC), topic_errors,
    ),
    Metric(
        "kcli_consumer_lag_records", "gauge",
        "Records between the position of a consumer and the end of its partitions, as far as both are known.",
        ("group", "client", "topic"), lambda figures: iter(figures.lags().items()),
        panel="Consumer lag", query="sum by (group, topic) ({name})",
    ),
    Metric(
        "kcli_connections_opened", "counter", "Connections with a first request.", ("client", "broker"),
        lambda figures: ((key, each["opened"]) for key, each in figures.opened.items()),
    ),
    Metric(
        "kcli_tcp_retransmissions", "counter", "TCP retransmissions of either end.", ("client", "broker"),
        lambda figures: iter(figures.retransmissions().items()),
        panel="Retransmissions a second", query="sum by (broker) (rate({name}[$__rate_interval]))",
    ),
    Metric(
        "kcli_findings", "gauge", "Findings of kcli diagnose over the last 7.5 to 15 minutes, by name.",
        ("finding", "severity"), findings,
        panel="Findings", query="sum by (finding, severity) ({name})",
    ),
    Metric(
        "kcli_events", "counter",
        "Events that are no exchange: gap, truncated, undecodable, not-kafka, unanswered-at-end.", ("event",),
        lambda figures: (((event,), count) for event, count in figures.events.items()),
        panel="What could not be read, a second", query="sum by (event) (rate({name}[$__rate_interval]))",
    ),
    Metric(
        "kcli_names_refused", "counter",
        "Number of times that a name counted as \"other\" because of the limit of its kind.", ("kind",),
        refused,
    ),
    Metric(
        "kcli_last_exchange_timestamp_seconds", "gauge", "Time of the latest exchange, since 1970.", (),
        lambda figures: iter([((), figures.last_ns / 1e9)]), "seconds",
    ),
    Metric(
        "kcli_build", "info", "The version of kcli.", ("version",), lambda figures: iter([((__version__,), 1.0)]),
    ),
)  # fmt: skip
