"""Exports figures in the formats of Prometheus and OpenMetrics, with the official client library."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kcli.metrics.definitions import METRICS, Buckets, Metric
from kcli.metrics.figures import BOUNDS

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family


class AnyFigures(Protocol):
    """Figures of traffic, or of runs. settled: the time of the latest figures; None: there are none yet."""

    lock: threading.Lock
    settled: float | None


class FigureCollector:
    """Returns the families of all metrics when they are requested (`prometheus_client.registry.Collector`)."""

    def __init__(self, figures: AnyFigures, metrics: Sequence[Metric]) -> None:
        self.figures, self.metrics = figures, metrics

    def collect(self) -> Iterator[Family]:
        """Return the families with their present values."""
        with self.figures.lock:
            made = [family_of(metric, self.figures) for metric in self.metrics]
        return iter(made)


def family_of(metric: Metric, figures: AnyFigures) -> Family:
    """Return a metric with its values."""
    from prometheus_client import core

    makers: dict[str, Any] = {
        "counter": core.CounterMetricFamily,
        "gauge": core.GaugeMetricFamily,
        "histogram": core.HistogramMetricFamily,
        "info": core.InfoMetricFamily,
    }
    family: Any = makers[metric.kind](metric.name, metric.help, labels=() if metric.kind == "info" else metric.labels)
    family.unit = metric.unit
    for labels, value in metric.samples(figures):
        if isinstance(value, Buckets):
            family.add_metric(labels, [*zip((*map(str, BOUNDS), "+Inf"), value.counts, strict=True)], value.total)
        elif metric.kind == "info":
            family.add_metric((), dict(zip(metric.labels, labels, strict=True)))
        else:
            family.add_metric(labels, value)
    made: Family = family
    return made


def exposition(figures: AnyFigures, accepted: str, metrics: Sequence[Metric] = METRICS) -> tuple[bytes, str]:
    """Return all metrics as text, and the content type. accepted: the header Accept of the request."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder

    registry = CollectorRegistry(auto_describe=False)
    registry.register(FigureCollector(figures, metrics))
    encode, kind = choose_encoder(accepted)
    return encode(registry), kind
