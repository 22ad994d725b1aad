"""Verifies a snapshot or a log segment: applies the rules to its evidence."""

from collections.abc import Iterator

from kcli.snapshots.rules import file_rules as rules_file
from kcli.snapshots.rules import record_rules as rules_records
from kcli.snapshots.rules.evidence import Evidence
from kcli.snapshots.rules.examination import examine
from kcli.snapshots.rules.findings import RULES, SnapshotFinding

REGISTERED = (rules_file, rules_records)


def judge(found: Evidence) -> Iterator[SnapshotFinding]:
    """Yield every rule's findings on one file, errors and notes in the order of the rules."""
    for name, rule in RULES.items():
        for severity, offset, message in rule(found):
            yield SnapshotFinding(severity, name, message, offset, found.file)


def verify(data: memoryview, file: str, *, dialect: str | None = None, mapped: object = None) -> list[SnapshotFinding]:
    """Examine and judge one file by its bytes and its name. Returns the findings, errors first."""
    found = list(judge(examine(data, file, dialect=dialect, mapped=mapped)))
    return sorted(found, key=lambda finding: not finding.is_error)
