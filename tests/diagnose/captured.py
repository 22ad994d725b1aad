"""Diagnoses of the captures in `data`: cut from captures of real brokers while one thing was wrong."""

import re
import shlex
from functools import cache
from pathlib import Path

from kcli.diagnose import INFO, Diagnosis, Finding, diagnose

DATA = Path(__file__).parent / "data"


@cache
def diagnosed(name: str) -> Diagnosis:
    """The diagnosis of one capture."""
    return diagnose([str(DATA / f"{name}.pcap.zst")])


def only(name: str) -> Finding:
    """The one finding of a warning or worse."""
    [found] = [each for each in diagnosed(name).findings if each.severity != INFO]
    return found


def told(finding: Finding, **subject: object) -> None:
    """Assert that a finding names these, has figures, and says what to do."""
    assert {kind: finding.subject.get(kind) for kind in subject} == subject
    assert finding.evidence and finding.advice
    name, command, *_rest = shlex.split(finding.see)
    assert name == "kcli" and re.fullmatch("[a-z-]+", command)
    assert finding.evidence.get("from", "") <= finding.evidence.get("to", "")
