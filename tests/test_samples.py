"""Every sample capture beside its broker's own request log, exchange by exchange and field by field."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.request_log import difference, logged, unlike

SAMPLES = Path(__file__).parents[1] / "samples"
LOGS = sorted(SAMPLES.glob("*.requests.jsonl.gz"))


def capture_of(log: Path) -> Path:
    name = log.name.removesuffix(".requests.jsonl.gz")
    return next(path for path in SAMPLES.glob(f"{name}.pcap*"))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name.partition(".")[0])
def test_a_capture_tells_what_its_broker_logged(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "pcap", str(capture_of(log)), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    truth = list(logged(log))
    assert len(truth) > 20
    assert not unlike(truth, [row for row in rows if "requestHeader" in row])


def test_there_are_captures_to_compare() -> None:
    assert len(LOGS) >= 6


@pytest.mark.parametrize(
    ("truth", "ours", "same"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1}, {}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"a": 1, "_topicName": "t"}, True),
        ({"recordsSizeInBytes": 9}, {"records": {"sizeInBytes": 9}}, True),
        ({"recordsSizeInBytes": 9}, {"records": {"sizeInBytes": 8}}, False),
        ({"value": "(redacted)"}, {"value": "secret"}, True),
        ([1, 2], [1, 3], False),
        ([1, 2], [1], False),
    ],
)
def test_the_comparison_sees_a_difference(truth: object, ours: object, same: bool) -> None:
    assert (difference(truth, ours, "x") is None) is same
