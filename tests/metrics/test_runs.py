"""Metrics of a pipeline."""

import pytest

from kcli.cli.main import main
from kcli.metrics.exporter import exposition
from kcli.metrics.runs import RUN_METRICS, RunFigures
from kcli.pipeline.run import Summary


def test_runs_add_up() -> None:
    figures = RunFigures()
    for _ in range(2):
        figures.take(Summary(files=2, packets=30, exchanges=10, rows={"exchanges": 10, "clients": 1}, problems=["x"]))
    text = exposition(figures, "", RUN_METRICS)[0].decode()
    for line in (
        "kcli_pipeline_runs_total 2.0", "kcli_pipeline_captures_total 4.0", "kcli_pipeline_packets_total 60.0",
        "kcli_pipeline_exchanges_total 20.0", "kcli_pipeline_problems_total 2.0",
        'kcli_pipeline_rows_total{table="exchanges"} 20.0', 'kcli_pipeline_rows_total{table="clients"} 2.0',
    ):  # fmt: skip
        assert f"\n{line}\n" in text
    assert figures.last_run > 0 and figures.settled is None


def test_figures_are_of_a_pipeline_that_keeps_running(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "run", "--input", "x", "--output", "y", "--metrics", "127.0.0.1:0"]) == 2
    assert capsys.readouterr().err.startswith("kcli: --metrics: --stream is missing")
