"""Diagnoses of the captures in `data`: cut from captures of real brokers while one thing was wrong."""

import re
import shlex
from datetime import datetime
from functools import cache
from pathlib import Path

from kcli.diagnose import INFO, Diagnosis, Finding, diagnose

DATA = Path(__file__).parent / "data"
# Findings whose seconds are not those between the first and the last of their evidence.
OWN_SECONDS = {"throttled", "request-timeout-too-short", "slow-cluster"}


@cache
def diagnosed(name: str) -> Diagnosis:
    """The diagnosis of one capture."""
    return diagnose([str(DATA / f"{name}.pcap.zst")])


def only(name: str) -> Finding:
    """The one finding of a warning or worse."""
    [found] = [each for each in diagnosed(name).findings if each.severity != INFO]
    return found


def check_seconds(finding: Finding) -> None:
    """Assert that the seconds of a finding are those from the start to the end of its evidence."""
    evidence = finding.evidence
    if {"from", "to", "seconds"} <= evidence.keys() and finding.finding not in OWN_SECONDS:
        first, last = (datetime.fromisoformat(evidence[name]) for name in ("from", "to"))
        assert abs((last - first).total_seconds() - evidence["seconds"]) < 0.002, (finding.finding, evidence)


def told(finding: Finding, **subject: object) -> None:
    """Assert that a finding names these, has figures, and says what to do."""
    assert {kind: finding.subject.get(kind) for kind in subject} == subject
    assert finding.evidence and finding.advice
    name, command, *_rest = shlex.split(finding.see)
    assert name == "kcli" and re.fullmatch("[a-z-]+", command)
    assert finding.evidence.get("from", "") <= finding.evidence.get("to", "")
