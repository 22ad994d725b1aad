"""Findings in captures: cause, victim, evidence and advice; rules over the tables, causes before consequences."""

from kcli.diagnose.diagnosis import Diagnosis, Scope, diagnose
from kcli.diagnose.scope import Unjudged
from kcli.finding import CRITICAL, INFO, WARNING, Finding
from kcli.rules.rule import Rule

__all__ = ["CRITICAL", "INFO", "WARNING", "Diagnosis", "Finding", "Rule", "Scope", "Unjudged", "diagnose"]
