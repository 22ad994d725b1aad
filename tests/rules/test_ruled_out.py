"""What findings rule out: only what was looked at in this capture."""

from pathlib import Path
from typing import Any

import pytest

from kcli.finding import Finding
from kcli.rules import RULES
from kcli.rules.judgement import name_absent
from tests.rules.test_by_hand import Talk, found, produced, told


def a_finding(name: str, **subject: Any) -> Finding:
    return Finding(name, "warning", subject, {}, "")


def test_other_causes_are_ruled_out_if_none_is_found_about_the_same_names() -> None:
    held, other, broker = a_finding("throttled", client="a"), a_finding("throttled", client="b"), ["3", "10.0.0.3:9092"]
    slow = Finding("slow-broker", "critical", {"broker": broker}, {"clients": ["a", "c"]}, "", ruled_out="waits")
    name_absent([held, other, slow])
    assert slow.ruled_out == "waits; a slow network (not found)"
    assert held.ruled_out == "a slow network, loss (not found)"
    assert other.ruled_out == "a slow broker, a slow network, loss (not found)"


def test_a_word_for_several_causes_is_left_out_with_any_of_them() -> None:
    again, down = a_finding("errors-again", client="a"), a_finding("broker-down", broker="3")
    name_absent([again, down])
    assert not again.ruled_out
    name_absent([alone := a_finding("errors-again", client="a")])
    assert alone.ruled_out == "brokers that stop (not found)"


def test_causes_to_look_for_are_findings_of_other_rules() -> None:
    names = {rule.finding for rule in RULES}
    assert all({*rule.absent} <= names - {rule.finding} for rule in RULES)


@pytest.mark.parametrize(("error", "advice"), [(10, "max.message.bytes of orders"), (18, "segment.bytes of orders")])
def test_batches_that_are_too_large(error: int, advice: str, tmp_path: Path) -> None:
    """Nothing is said of other batches where there is none."""
    finding = told(found(tmp_path, produced(Talk(), 6, error)), "message-too-large")
    assert advice in finding.advice and not finding.ruled_out
