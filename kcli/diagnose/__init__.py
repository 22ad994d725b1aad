"""Findings in captures: cause, affected clients, evidence and advice. Rules over tables find them. Findings
that another one explains are kept apart. Names that need the tables are imported on first use.
"""

from typing import TYPE_CHECKING

from kcli.finding import CRITICAL, INFO, WARNING, Finding, Unjudged
from kcli.lazy import importing

if TYPE_CHECKING:
    from kcli.diagnose.diagnosis import Diagnosis, diagnose
    from kcli.diagnose.known import Unknown
    from kcli.diagnose.scope import Scope

__all__ = ["CRITICAL", "INFO", "WARNING", "Diagnosis", "Finding", "Scope", "Unjudged", "Unknown", "diagnose"]

__getattr__ = importing(__name__, {"diagnosis": "Diagnosis diagnose", "known": "Unknown", "scope": "Scope"}, "sql")
