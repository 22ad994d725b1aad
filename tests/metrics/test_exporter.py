"""The metrics as Prometheus reads them, their page, the dashboard and the alerts."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kcli.metrics import dashboard, reference
from kcli.metrics.definitions import METRICS
from kcli.metrics.exporter import exposition
from tests.diagnose.captured import DATA
from tests.metrics.measured import measured

ROOT = Path(__file__).parents[2]
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool (Debian's package prometheus) is not installed")
BEHIND = DATA / "lagging-consumer-pageviews.pcap.zst"


def test_what_is_exported_is_what_is_defined() -> None:
    text = exposition(measured(BEHIND), "")[0].decode()
    found = {family.name: family for family in text_string_to_metric_families(text)}
    for metric in METRICS:
        family = found.pop(metric.exported if metric.kind == "info" else metric.name)
        assert family.documentation == metric.help
        for sample in family.samples:
            assert {*sample.labels} - {"le"} == {*metric.labels}, metric.name
    assert not found


def test_a_histogram_counts_all_and_its_buckets_grow() -> None:
    text = exposition(measured(BEHIND), "")[0].decode()
    [family] = [each for each in text_string_to_metric_families(text) if each.name == "kcli_latency_seconds"]
    counts: dict[tuple[str, ...], list[float]] = {}
    for sample in family.samples:
        key = tuple(sample.labels[label] for label in ("api", "client", "broker"))
        if sample.name.endswith("_bucket"):
            counts.setdefault(key, []).append(sample.value)
        elif sample.name.endswith("_count"):
            assert sample.value == counts[key][-1]
    assert counts and all(each == sorted(each) and each[-1] > 0 for each in counts.values())


def test_both_forms_are_spoken() -> None:
    text, kind = exposition(measured(BEHIND), "application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text") and text.endswith(b"# EOF\n")
    text, kind = exposition(measured(BEHIND), "")
    assert kind.startswith("text/plain") and b"# EOF" not in text


def test_the_page_and_the_dashboard_are_made_from_the_definitions() -> None:
    for path, made in (("docs/reference/metrics.md", reference), ("deploy/grafana-dashboard.json", dashboard)):
        assert (ROOT / path).read_text() == made.document(), "write it anew: make metrics"


def test_queries_ask_for_metrics_and_labels_that_there_are() -> None:
    known = {metric.exported for metric in METRICS} | {"kcli_latency_seconds_bucket"}
    queries = [each["targets"][0]["expr"] for each in json.loads(dashboard.document())["panels"]]
    alerts = (ROOT / "deploy/alerts.yml").read_text()
    queries += re.findall(r"expr: (.*)", alerts)
    labels = {label for metric in METRICS for label in metric.labels} | {"le"}
    for query in queries:
        assert {*re.findall(r"\bkcli_\w+", query)} <= known and "kcli_" in query
        grouped = {name for group in re.findall(r"by \(([^)]*)\)", query) for name in group.split(", ")}
        assert grouped | {*re.findall(r"(\w+)=~", query)} <= labels
    assert {*re.findall(r"\$labels\.(\w+)", alerts)} <= labels


@needs_promtool
def test_promtool_has_nothing_to_say() -> None:
    assert PROMTOOL is not None
    text = exposition(measured(BEHIND), "")[0]
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    done = subprocess.run(
        [PROMTOOL, "check", "rules", str(ROOT / "deploy/alerts.yml")], capture_output=True, check=False
    )
    assert done.returncode == 0 and b"SUCCESS" in done.stdout, done.stderr
