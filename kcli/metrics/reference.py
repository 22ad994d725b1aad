"""The page of all metrics (docs/reference/metrics.md), made from their definitions."""

from kcli.metrics import figures
from kcli.metrics.bounded import LONGEST, OTHER
from kcli.metrics.definitions import METRICS, Metric
from kcli.metrics.runs import RUN_METRICS

LIMITS = {
    "client": figures.MOST_CLIENTS,
    "broker": figures.MOST_BROKERS,
    "topic": figures.MOST_TOPICS,
    "group": figures.MOST_GROUPS,
    "error": figures.MOST_ERRORS,
}


def document() -> str:
    """Return the page, in Markdown."""
    rows, of_runs = ("\n".join(map(row_of, metrics)) for metrics in (METRICS, RUN_METRICS))
    limits = ", ".join(f"{most} of `{name}`" for name, most in LIMITS.items())
    return f"""\
# Metrics

The metrics that `kcli capture`, `kcli proxy` and `kcli diagnose --follow` serve with `--metrics HOST:PORT`
([how to](../how-to/metrics.md)). This page and `deploy/grafana-dashboard.json` are made from their definitions
(`make metrics`).

| metric | kind | labels | unit | |
|---|---|---|---|---|
{rows}

Buckets of histograms end at {", ".join(f"{bound:g}" for bound in figures.BOUNDS)} seconds.

The number of label values is limited, whatever names clients use: {limits}.
Further names count as `{OTHER}`, which `kcli_names_refused_total` counts. There are at most
{figures.MOST_SERIES:,} combinations of labels per metric; further ones count in one series whose labels are all
`{OTHER}`. Names are truncated after {LONGEST} characters. Counters begin at 0 when kcli starts.

## Of a pipeline

`kcli pipeline run --stream --metrics HOST:PORT` serves these:

| metric | kind | labels | unit | |
|---|---|---|---|---|
{of_runs}
"""


def row_of(metric: Metric) -> str:
    """Return the table row of a metric."""
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.exported}` | {metric.kind} | {labels} | {metric.unit} | {metric.help} |"


if __name__ == "__main__":
    import sys

    sys.stdout.write(document())
