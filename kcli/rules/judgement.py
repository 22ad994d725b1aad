"""Judges the tables of captures by all rules."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcli.finding import SEVERITIES, Finding, Unjudged
from kcli.rules import RULES
from kcli.rules.precedence import may_share, names_of, without_consequences
from kcli.rules.rule import KINDS, LISTED, Addresses, Rule, clients_of, finding_of, in_order
from kcli.rules.rule_tables import RuleTables
from kcli.rules.server_sets import ServerSets
from kcli.rules.settings import LIBRARIES, SETTING, own_names
from kcli.rules.signs import SIGNS
from kcli.tables.call_views import NAMELESS_IDS

UNSEEN = 3  # most parts to name that one rule could not judge
# Topic ids that stand in place of names.
NAMELESS = f"SELECT topic_id FROM {NAMELESS_IDS} WHERE topic_id NOT IN (SELECT topic_id FROM topic_by_id)"
OF_NAME = re.compile(r"--topic (\S+)")
# The client addresses of each client's connections, at most as many as a finding lists.
CLIENT_ENDS = f"""
SELECT client_id, e.client, connections
FROM (
  SELECT client_id, connection, count(*) OVER (PARTITION BY client_id) AS connections,
         row_number() OVER (PARTITION BY client_id ORDER BY first_ns, connection) AS place
  FROM links
) AS placed
JOIN link_ends e ON placed.connection = e.connection
WHERE place <= {LISTED}
ORDER BY client_id, place
"""
# The software that clients name in ApiVersions, for known connections.
CLIENT_SOFTWARE = """
SELECT DISTINCT l.client_id, s.software
FROM software s JOIN link_ends e ON s.client = e.client JOIN links l ON e.connection = l.connection
"""


@dataclass(slots=True)
class Judgement:
    """kept: the findings that no other explains, most severe first; explained: the others; unjudged: what rules could
    not judge.
    """

    kept: list[Finding] = field(default_factory=list)
    explained: list[Finding] = field(default_factory=list)
    unjudged: list[Unjudged] = field(default_factory=list)

    def add(self, other: Judgement) -> None:
        """Add another judgement."""
        self.kept += other.kept
        self.explained += other.explained
        self.unjudged += other.unjudged
        self.sort()

    def sort(self) -> None:
        """Sort what is kept by severity and weight."""
        self.kept.sort(key=lambda each: (SEVERITIES.index(each.severity), -each.weight))


def judge(tables: RuleTables, files: str, sets: ServerSets) -> Judgement:
    """Ask all rules. files: names of captures for commands. sets: servers that may be of one cluster."""
    rules = rules_to_ask(tables)
    stages = {rule.sql: rule.rests_on for rule in rules}
    found = {sql: [*tables.ask(sql, stages[sql])] for sql in tables.expect(stages)}
    rule_rows = [(rule, row) for rule in rules for row in of_one_cause(heaviest_first(rule, found[rule.sql]))]
    rows = [(rule, row) for rule, row in rule_rows if not row.get("unseen")]
    addresses = addresses_of(tables, {name for rule, row in rows for name in clients_of(rule, row)})
    every = [finding_of(rule, row, files, addresses) for rule, row in rows]
    name_absent(every, {id(each) for each, (_, row) in zip(every, rows, strict=True) if row.get("hidden")})
    name_settings(tables, every)
    captured = [*tables.ask("SELECT first_ns, last_ns FROM stretches ORDER BY first_ns")] if len(every) > 1 else []
    firsts, lasts = ([each[name] for each in captured] for name in ("first_ns", "last_ns"))
    times = {id(each): times_of(row, firsts, lasts) for each, (_, row) in zip(every, rows, strict=True)}

    def apart(some: Finding, other: Finding) -> bool:
        """Return whether they were never captured together, or are about servers that have nothing in common."""
        mine, others = times[id(some)], times[id(other)]
        if mine is not None and others is not None and max(mine.start, others.start) >= min(mine.stop, others.stop):
            return True
        return sets.are_apart(some, other)

    # Topic ids are removed only after this, as a subject without a topic would match any.
    kept, explained = without_consequences(every, RULES, apart)
    if every and tables.may_be_nameless():
        forget_ids(every, {row["topic_id"] for row in tables.ask(NAMELESS)})
    judgement = Judgement(kept, explained, [*unseen(rule_rows)])
    judgement.sort()
    return judgement


def name_absent(found: Sequence[Finding], hidden: Collection[int] = ()) -> None:
    """Add to what each finding rules out the other causes of which nothing is found about its names. hidden: ids of
    findings whose traffic can't be read, so that nothing is ruled out.
    """
    absent = {rule.finding: rule.absent for rule in RULES}
    by_finding: dict[str, list[Finding]] = {}
    for each in found:
        by_finding.setdefault(each.finding, []).append(each)
    for each in found:
        others = {} if id(each) in hidden else absent[each.finding]
        found_words = {others[name] for name in others if any(related(each, it) for it in by_finding.get(name, ()))}
        words = [word for word in dict.fromkeys(others.values()) if word not in found_words]
        if words:
            each.ruled_out = "; ".join(filter(None, (each.ruled_out, f"{', '.join(words)} (not found)")))


def related(some: Finding, other: Finding) -> bool:
    """Return whether no kind of name tells two findings apart."""
    return all(may_share(names_of(some, kind), names_of(other, kind)) for kind in KINDS)


def unseen(rule_rows: Iterable[tuple[Rule, Mapping[str, Any]]]) -> Iterator[Unjudged]:
    """Yield the parts that rules could not judge: at most UNSEEN of each rule, and the number of the others."""
    by_finding: dict[str, list[Mapping[str, Any]]] = {}
    for rule, row in rule_rows:
        if row.get("unseen"):
            by_finding.setdefault(rule.finding, []).append(row)
    for finding, rows in by_finding.items():
        for row in rows[:UNSEEN]:
            yield Unjudged(row["unseen"], row["remedy"])
        if len(rows) > UNSEEN:
            yield Unjudged(f"{len(rows) - UNSEEN:,} more of {finding}", rows[UNSEEN]["remedy"])


def times_of(row: Mapping[str, Any], firsts: Sequence[int], lasts: Sequence[int]) -> range | None:
    """Return the numbers of the captured periods that a row overlaps; None: the row has no times. firsts, lasts: start
    and end of each period (ns), in order and without overlap.
    """
    first, last = row.get("first_ns"), row.get("last_ns")
    if first is None or last is None:
        return None
    return range(bisect_left(lasts, first), bisect_right(firsts, last))


def name_settings(tables: RuleTables, found: Sequence[Finding]) -> None:
    """Add to advice the names of its settings in the clients' library, if all clients have the same one."""
    advised = [each for each in found if each.names("client") and SETTING.search(each.advice)]
    used: dict[str, set[str]] = {}
    for row in tables.ask(CLIENT_SOFTWARE) if advised else ():
        used.setdefault(row["client_id"], set()).add(LIBRARIES.get(row["software"], ""))
    for each in advised:
        libraries = set().union(*(used.get(name, {""}) for name in each.names("client")))
        if len(libraries) == 1 and "" not in libraries:
            each.advice += own_names(each.advice, *libraries)


def checks(*, payloads: bool = False) -> int:
    """Count the rules that a judgement tries. payloads: keys and values of records were read, too."""
    return sum(payloads or not rule.of_payloads for rule in RULES)


def rules_to_ask(tables: RuleTables) -> list[Rule]:
    """Return the rules that may find something, by the signs of the capture."""
    conditions = ", ".join(f"({rule.when}) AS rule_{number}" for number, rule in enumerate(RULES))
    [holds] = tables.ask(f"SELECT {conditions} FROM ({SIGNS}) AS signs")
    return [rule for rule, held in zip(RULES, holds.values(), strict=True) if held]


def forget_ids(found: Sequence[Finding], ids: set[str]) -> None:
    """Remove topics without a known name from subjects, and from commands that ask for a name: an id is no name."""
    for each in found:
        for kind in ("topic", "partition"):
            named = each.subject.get(kind) or []
            names = named if isinstance(named, list) else [named]
            known = [name for name in names if (name if kind == "topic" else name.rpartition("-")[0]) not in ids]
            if len(known) < len(names):
                each.subject |= {kind: known}
        each.subject = {kind: value for kind, value in each.subject.items() if value != []}
        option = OF_NAME.search(each.advice)
        if option and option[1] in ids:
            hint = f" (NAME is what kafka-topics.sh --describe --topic-id {option[1]} says)"
            each.advice = OF_NAME.sub("--topic NAME", each.advice) + hint


def heaviest_first(rule: Rule, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort the rows of a rule by weight, then by subject and evidence, as an engine returns rows in any order."""

    def place(row: Mapping[str, Any]) -> tuple[float, list[str]]:
        columns = (*rule.subject.values(), *rule.evidence)
        return -float(row.get("weight") or 0), [str(in_order(row.get(column))) for column in columns]

    return sorted(rows, key=place)


def of_one_cause(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Join the rows of one cause: the first, with the others in a column `alike`. Rows that differ in what they
    explain, or in severity, stay apart.
    """
    told: list[Mapping[str, Any]] = []
    others: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        key = tuple(row.get(column) for column in ("cause", "severity", "spares", "stands", "unseen"))
        if row.get("cause") is None or row.get("unseen"):
            told.append(row)
        elif key in others:
            others[key].append(row)
        else:
            others[key] = []
            told.append({**row, "alike": others[key]})
    return told


def addresses_of(tables: RuleTables, clients: set[str]) -> dict[str, Addresses]:
    """Return the addresses of these clients, the first to connect first."""
    found: dict[str, Addresses] = {}
    for row in tables.ask(CLIENT_ENDS) if clients else ():
        if row["client_id"] in clients:
            at = found.setdefault(row["client_id"], Addresses(connections=row["connections"]))
            at.first.append(row["client"])
    return found
