"""A rule as a value: how a cause is found in the tables, and what is said of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from kcli.capture.kafka.clock import instant
from kcli.counting import singular
from kcli.finding import CRITICAL as CRITICAL  # the rules' words come from here
from kcli.finding import INFO as INFO
from kcli.finding import WARNING as WARNING
from kcli.finding import Finding as Finding
from kcli.shell import quoted

KINDS = ("client", "group", "topic", "partition", "broker", "transactionalId", "user", "host", "connection")
NAMES = ("client", "group", "topic", "transactionalId", "user")  # kinds whose names are anybody's choice
LISTED = 20  # addresses of clients in a finding
FILES = "{files}"  # in `see`: the captures, as words that are quoted already
# In the SQL of `see`, behind a table `p`: rows of the topic, also where they have but its id.
OF_TOPIC = "LEFT JOIN topics USING (topic_id) WHERE coalesce(p.topic, topics.topic) = '{topic}'"
COUNTED = re.compile(r"\{(\w+)\} ((?!ms\b)[a-z]+s)\b")  # a column, and what it counts
SECONDS = re.compile(r"\{(\w+)\} s\b")
SHORT_S = 0.1
PLACED = 3  # clients whose addresses stand in a sentence


@dataclass(slots=True)
class Addresses:
    """The clients' ends of connections. first: the first as host:port; connections: how many there are in all."""

    first: list[str] = field(default_factory=list)
    connections: int = 0

    def __str__(self) -> str:
        more = self.connections - 1
        return self.first[0] + (f" and {more:,} more" if more else "")

    def as_evidence(self) -> dict[str, Any]:
        """Return the columns of evidence, none without an address."""
        left = self.connections - len(self.first)
        return ({"addresses": self.first} if self.first else {}) | ({"addresses_left_out": left} if left else {})


def joined(every: Sequence[Addresses]) -> Addresses:
    """Return the addresses of several clients: the first of each, then the second, and so on."""
    in_turn = zip_longest(*(each.first for each in every))
    first = [address for turn in in_turn for address in turn if address is not None]
    return Addresses(first[:LISTED], sum(each.connections for each in every))


@dataclass(frozen=True, slots=True)
class Rule:
    """A cause. Its SQL gives a row for each finding, on DuckDB and Spark.

    finding: its id. when: a condition on the row of `signs`, without which there is nothing to be found. sql: over the
    tables of `prepared`; its column `severity`, if there, counts instead of `severity`; `first_ns` and `last_ns`
    are when what counts began and ended; `ends`, if there, has the clients' addresses that count, instead of all;
    `spares`, if there, the findings that this row does not explain, with commas; `look` and `advised`, if there, count
    instead of `see` and `advice`. A column `*_at` is a time in ns: texts have its time of day.
    `connection` is but a key, of whatever type: the table `link_ends` has its addresses.
    subject: kind -> column. evidence: columns, under the names that findings have them by. says, ruled_out, advice,
    see: texts with {columns} in braces, in advice {column:word}, too: a word for a shell; see: after "kcli". source:
    where the limits come from.
    explains: findings that are consequences of this one, and the kinds of names that they must share (none: all).
    rests_on: queries in the WITH of `sql`: where none of them has a row, `sql` has none either. They are asked first,
    and the rows of a single one are kept for the rest.
    of_payloads: it is asked where keys and values of records are decoded.
    """

    finding: str
    title: str
    when: str
    sql: str
    subject: Mapping[str, str]
    evidence: Sequence[str]
    says: str
    advice: str
    see: str
    source: str
    severity: str = WARNING
    ruled_out: str = ""
    explains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rests_on: tuple[str, ...] = ()
    of_payloads: bool = False


def finding_of(
    rule: Rule, row: Mapping[str, Any], files: str, addresses: Mapping[str, Addresses] | None = None
) -> Finding:
    """Make the finding of a row of a rule's query. addresses: of clients, by name."""
    row = {name: in_order(value) for name, value in row.items()}
    clients = clients_of(rule, row)
    known = {each: addresses[each] for each in clients if each in addresses} if addresses else {}
    at = Addresses(row["ends"][:LISTED], len(row["ends"])) if row.get("ends") else joined(list(known.values()))
    times = {name: instant(int(row[name])) for name in row if name.endswith("_at") and row[name] is not None}
    row |= times
    at_day = {name: f"{time[11:19]}Z" for name, time in times.items()}
    texts = Row({name: worded(value) for name, value in row.items()} | at_day | {"files": files})
    names = {column for kind, column in rule.subject.items() if kind in NAMES}
    said = Row(texts | {name: worded(distinct(row[name])) for name in names if name in row})
    words = Row({name: Name(text) if isinstance(text, str) else text for name, text in said.items()})
    subject = {
        kind: plain(row[column]) for kind, column in rule.subject.items() if row.get(column) not in (None, [], "")
    }
    return Finding(
        rule.finding,
        row.get("severity") or rule.severity,
        subject,
        {name: plain(row[name]) for name in rule.evidence if row.get(name) is not None}
        | times_of(row)
        | at.as_evidence(),
        in_number(row.get("advised") or rule.advice, row, texts).format_map(words),
        in_number(rule.says if row.get("ends") else located(rule, clients, known), row, texts).format_map(said),
        in_number(rule.ruled_out, row, texts).format_map(said),
        command(row.get("look") or rule.see, texts) if rule.see else "",
        rule.source,
        float(row.get("weight") or 0),
        spares=tuple(row["spares"].split(",")) if row.get("spares") else (),
    )


def distinct(name: Any) -> Any:
    """Return a name, or several, in quotes where a reader could not tell it from the words around it."""
    if isinstance(name, list):
        return [distinct(each) for each in name]
    return f'"{name}"' if isinstance(name, str) and " " in name else name


def in_number(text: str, row: Mapping[str, Any], texts: Mapping[str, Any]) -> str:
    """Return a rule's text with what its numbers want: the singular behind a column that is 1 ("{answers} answer"),
    milliseconds for a small part of a second.
    """

    def noun(found: re.Match[str]) -> str:
        is_one = isinstance(row.get(found[1]), (int, float)) and texts[found[1]] == "1"
        return f"{{{found[1]}}} {singular(found[2])}" if is_one else found[0]

    def time(found: re.Match[str]) -> str:
        seconds = row.get(found[1])
        if isinstance(seconds, float) and 0 < seconds < SHORT_S:
            return f"{worded(seconds * 1e3)} ms"
        return found[0]

    return SECONDS.sub(time, COUNTED.sub(noun, text))


def command(see: str, texts: Mapping[str, Any]) -> str:
    """Return the command that shows more. A name out of a capture is one word of it, or a literal of its SQL."""
    literals = Row({name: text.replace("'", "''") if isinstance(text, str) else text for name, text in texts.items()})
    words = [
        texts["files"] if word == FILES else quoted(word.format_map(literals if " " in word else texts))
        for word in shlex.split(see)
    ]
    return " ".join(["kcli", *words])


def clients_of(rule: Rule, row: Mapping[str, Any]) -> list[str]:
    """Return the clients that a rule's subject has in a row."""
    named = row.get(rule.subject.get("client", ""))
    return [each for each in (named if isinstance(named, list) else [named]) if each]


def located(rule: Rule, clients: Sequence[str], known: Mapping[str, Addresses]) -> str:
    """Return what a rule says, with the addresses of its clients where those are named first."""
    if not known or len(clients) > PLACED:
        return rule.says
    placed = ", ".join(f"{each} ({known[each]})" if each in known else each for each in clients)
    return rule.says.replace(f"{{{rule.subject['client']}}}", placed.replace("{", "{{").replace("}", "}}"), 1)


def times_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return when what a row counts began and ended, where it says so."""
    first, last = row.get("first_ns"), row.get("last_ns")
    return {} if first is None or last is None else {"from": instant(int(first)), "to": instant(int(last))}


def in_order(value: Any) -> Any:
    """Sort a list: an engine collects values in any order."""
    return sorted(value, key=str) if isinstance(value, list) else value


class Name(str):
    """A text that `{column:word}` shows as a word for a shell."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return quoted(str(self)) if spec == "word" else super().__format__(spec)


class Row(dict[str, Any]):
    """The words of a row, by column."""

    def __missing__(self, key: str) -> str:
        raise KeyError(f"a rule names the column {key}, which its query has not")


def worded(value: Any) -> Any:
    """Return a value as texts show it: a list with commas, a number with the digits that count."""
    if value is None:
        return "-"
    if isinstance(value, (list, tuple)):
        shown = [str(worded(each)) for each in value[:6]]
        return ", ".join([*shown, *([f"{len(value) - 6} more"] if len(value) > 6 else [])])
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return (
            f"{value:,.0f}"
            if abs(value) >= 100 or value == int(value)
            else f"{value:,.1f}"
            if abs(value) >= 1
            else f"{value:.2g}"
        )
    return f"{value:,}" if isinstance(value, int) else str(value)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: numbers rounded to what counts."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, float):
        return round(value, 3)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return float(value) if hasattr(value, "as_tuple") else str(value)
