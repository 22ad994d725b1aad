"""Judges tables by all rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kcli.finding import SEVERITIES, Finding
from kcli.rules import RULES
from kcli.rules.precedence import without_consequences
from kcli.rules.rule import Rule, finding_of
from kcli.rules.signs import SIGNS
from kcli.rules.tables import RuleTables

# Topic ids that stand in place of names.
NAMELESS = """
SELECT DISTINCT topic_id FROM (SELECT topic, topic_id FROM fetched UNION SELECT topic, topic FROM produced) AS t
WHERE topic = topic_id AND topic_id NOT IN (SELECT topic FROM topic_by_id) AND length(topic_id) = 22
"""


def judge(tables: RuleTables, files: str) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that stand, the gravest first, and those that others explain. files: for commands."""
    every = [each for rule in rules_to_ask(tables) for each in findings_of(rule, tables, files)]
    if every and tables.may_be_nameless():
        forget_ids(every, {row["topic_id"] for row in tables.ask(NAMELESS)})
    kept, explained = without_consequences(every, RULES)
    kept.sort(key=lambda each: (SEVERITIES.index(each.severity), -each.weight))
    return kept, explained


def checks(*, payloads: bool = False) -> int:
    """Count the rules that a judgement tries. payloads: keys and values of records were read, too."""
    return sum(payloads or not rule.of_payloads for rule in RULES)


def rules_to_ask(tables: RuleTables) -> list[Rule]:
    """Return the rules that may find something, by the signs of the capture."""
    conditions = ", ".join(f"({rule.when}) AS rule_{number}" for number, rule in enumerate(RULES))
    [holds] = tables.ask(f"SELECT {conditions} FROM ({SIGNS}) AS signs")
    return [rule for rule, held in zip(RULES, holds.values(), strict=True) if held]


def forget_ids(found: Sequence[Finding], ids: set[str]) -> None:
    """Leave topics out of subjects that are known by their ids alone: these are no names."""
    for each in found:
        for kind in ("topic", "partition"):
            given = each.subject.get(kind) or []
            names = given if isinstance(given, list) else [given]
            known = [name for name in names if (name if kind == "topic" else name.rpartition("-")[0]) not in ids]
            if len(known) < len(names):
                each.subject |= {kind: known}
        each.subject = {kind: value for kind, value in each.subject.items() if value != []}


def findings_of(rule: Rule, tables: RuleTables, files: str) -> list[Finding]:
    """Return the findings of one rule, the heaviest first."""
    found = [finding_of(rule, row, files) for row in tables.ask(rule.sql)]
    return [replace(each) for each in sorted(found, key=lambda each: -each.weight)]
