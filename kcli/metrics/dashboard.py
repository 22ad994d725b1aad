"""A dashboard for Grafana (deploy/grafana-dashboard.json), made from the definitions of the metrics."""

import json
import re
from typing import Any

from kcli.metrics.definitions import METRICS, Metric

WIDTH, HEIGHT = 12, 8  # of a panel; a row is 24 wide
UNITS = {"seconds": "s", "bytes": "Bps"}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
FILTERED = ("client", "broker", "topic")  # labels for which the user can choose values


def expression(metric: Metric) -> str:
    """Return the query for a metric's panel, limited to the chosen clients, brokers and topics."""
    chosen = ", ".join(f'{label}=~"${label}"' for label in FILTERED if label in metric.labels)
    text = metric.query.format(name=metric.exported)
    pattern = rf"({re.escape(metric.exported)}(?:_bucket)?)(?![\w{{])"
    return re.sub(pattern, rf"\1{{{chosen}}}", text) if chosen else text


def dashboard() -> dict[str, Any]:
    """Return the dashboard in the form that Grafana imports."""
    shown = [metric for metric in METRICS if metric.panel]
    return {
        "title": "Kafka on the wire (kcli)",
        "uid": "kcli",
        "tags": ["kafka", "kcli"],
        "schemaVersion": 39,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": [datasource(), *map(variable, FILTERED)]},
        "panels": [panel(number, metric) for number, metric in enumerate(shown)],
    }


def datasource() -> dict[str, Any]:
    """Return the variable with which the user chooses a Prometheus."""
    return {"name": "datasource", "type": "datasource", "query": "prometheus"}


def variable(label: str) -> dict[str, Any]:
    """Return the variable with which the user chooses values of a label."""
    source = next(metric for metric in METRICS if label in metric.labels)
    return {
        "name": label,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": f"label_values({source.exported}, {label})", "refId": label},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def panel(number: int, metric: Metric) -> dict[str, Any]:
    """Return a metric's panel."""
    grouped = re.search(r"sum by \(([^)]*)\)", metric.query)
    labels = [label for label in grouped[1].split(", ") if label != "le"] if grouped else []
    return {
        "id": number + 1,
        "title": metric.panel,
        "description": metric.help,
        "type": "timeseries",
        "datasource": DATASOURCE,
        "gridPos": {"x": number % 2 * WIDTH, "y": number // 2 * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": UNITS.get(metric.unit, "short"), "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": "A",
                "datasource": DATASOURCE,
                "expr": expression(metric),
                "legendFormat": " ".join(f"{{{{{label}}}}}" for label in labels),
            }
        ],
    }


def document() -> str:
    """Return the dashboard as text."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(document())
