"""A rule as a value: the SQL that finds a cause, and the texts of its findings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from kcli.capture.kafka.clock import instant
from kcli.counting import singular
from kcli.finding import CRITICAL as CRITICAL  # rules import their severities from this module
from kcli.finding import INFO as INFO
from kcli.finding import WARNING as WARNING
from kcli.finding import Finding as Finding
from kcli.shell import quoted

KINDS = ("client", "group", "topic", "partition", "broker", "transactionalId", "user", "host", "connection")
NAMES = ("client", "group", "topic", "transactionalId", "user")  # kinds of names that users choose
LISTED = 20  # addresses of clients in a finding
FILES = "{files}"  # in `see`: the names of the captures, quoted for a shell
# In the SQL of `see`, after a table `p`: select the topic's rows, including rows that have only its id, which stands in
# place of a name that nobody knows.
OF_TOPIC = "LEFT JOIN topics USING (topic_id) WHERE coalesce(p.topic, topics.topic, topic_id) = '{topic}'"
NOT_KAFKA = "sql \"SELECT connection, timestamp, reason FROM undecodable WHERE event = 'not-kafka'\" {files}"  # a `see`
COUNTED = re.compile(r"\{(\w+)\} ((?!ms\b)[a-z]+s)\b")  # a number's column, and the noun that it counts
SECONDS = re.compile(r"( in )?\{(\w+)\} s\b")
SHORT_S = 0.1
PLACED = 3  # most clients with their addresses in a sentence


@dataclass(slots=True)
class Addresses:
    """Client addresses of connections. first: the first ones as host:port; connections: the number of all."""

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
    """A rule finds one cause: its SQL returns a row for each finding, on DuckDB and Spark.

    finding: the id of its findings. when: a condition on the row of `signs`; the rule is asked only if it holds. sql: a
    query over the tables of `prepared`, with these optional columns: `severity`, `look`, `advised` and `sentence`
    replace `severity`, `see`, `advice` and `text`; `first_ns` and `last_ns` are the start and end of the evidence;
    `ends` has the client addresses to show, instead of all; `spares` has the findings that this row does not explain,
    and `stands` those that do not explain it, with commas; `hidden` is true if the traffic could not be read, so that
    `absent` rules nothing out. `cause` names what several rows have in common: those are one finding, the heaviest
    row's, with the names of all in its subject. `unseen` says what of the capture the rule can't judge, and `remedy`
    what to do: such a row is no finding. A column `*_at` is a time in ns, which texts show as a time of day.
    `connection` is only a key: the table `link_ends` has its addresses.
    subject: kind -> column. evidence: columns that the finding shows under the same names.
    text, ruled_out, advice, see: texts with {columns} in braces; in advice {column:word} quotes the value for a shell;
    `see` follows "kcli". source: the source of the limits.
    absent: other causes' findings -> words for them in `ruled_out`, if none of these is found about the same names.
    explains: findings that are consequences of this one -> the kinds of names that both must share (none: all).
    rests_on: queries in the WITH of `sql`: if one of them has no row, `sql` has none either. They are asked first, one
    after the other, and their rows are stored for the rest.
    of_payloads: the rule is asked only if keys and values of records are decoded.
    """

    finding: str
    title: str
    when: str
    sql: str
    subject: Mapping[str, str]
    evidence: Sequence[str]
    text: str
    advice: str
    see: str
    source: str
    severity: str = WARNING
    ruled_out: str = ""
    absent: Mapping[str, str] = field(default_factory=dict)
    explains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rests_on: tuple[str, ...] = ()
    of_payloads: bool = False


def finding_of(
    rule: Rule, row: Mapping[str, Any], files: str, addresses: Mapping[str, Addresses] | None = None
) -> Finding:
    """Make the finding of a row of a rule's query. addresses: the addresses of clients, by client id."""
    row = {name: in_order(value) for name, value in row.items()}
    alike: Sequence[Mapping[str, Any]] = row.get("alike") or ()
    clients = clients_of(rule, row)
    known = {each: addresses[each] for each in clients if each in addresses} if addresses else {}
    at = Addresses(row["ends"][:LISTED], len(row["ends"])) if row.get("ends") else joined(list(known.values()))
    times = {name: instant(int(row[name])) for name in row if name.endswith("_at") and row[name] is not None}
    row |= times
    at_day = {name: f"{time[11:19]}Z" for name, time in times.items()}
    texts = ColumnTexts({name: worded(value) for name, value in row.items()} | at_day | {"files": files})
    names = {column for kind, column in rule.subject.items() if kind in NAMES}
    named_texts = ColumnTexts(texts | {name: worded(distinct(row[name])) for name in names if name in row})
    words = ColumnTexts({name: Name(text) if isinstance(text, str) else text for name, text in named_texts.items()})
    subject = {kind: plain(name) for kind in rule.subject if (name := named_by(rule, kind, row, alike)) is not None}
    return Finding(
        rule.finding,
        row.get("severity") or rule.severity,
        subject,
        {name: plain(row[name]) for name in rule.evidence if row.get(name) is not None}
        | times_of(row)
        | at.as_evidence()
        | ({"alike": [figures_of(rule, each) for each in alike[:LISTED]]} if alike else {}),
        in_number(row.get("advised") or rule.advice, row, texts).format_map(words),
        in_number(
            row.get("sentence") or (rule.text if row.get("ends") else located(rule, clients, known)), row, texts
        ).format_map(named_texts),
        in_number(rule.ruled_out, row, texts).format_map(named_texts),
        command(row.get("look") or rule.see, texts) if rule.see else "",
        rule.source,
        float(row.get("weight") or 0),
        spares=tuple(row["spares"].split(",")) if row.get("spares") else (),
        stands=tuple(row["stands"].split(",")) if row.get("stands") else (),
    )


def named_by(rule: Rule, kind: str, row: Mapping[str, Any], alike: Sequence[Mapping[str, Any]]) -> Any:
    """Return the name of a kind in a row, or a list of the names in all rows of one cause; None without a name."""
    column = rule.subject[kind]
    own = row.get(column)
    names = [own, *(each.get(column) for each in alike)]
    every = [*dict.fromkeys(one for name in names for one in (name if isinstance(name, list) else [name]) if one)]
    if isinstance(own, list) or len(every) > 1:
        return every or None
    return every[0] if every else None


def figures_of(rule: Rule, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names and figures of one of the rows that are told together."""
    columns = dict.fromkeys((*rule.subject.values(), *rule.evidence))
    return {column: plain(in_order(row[column])) for column in columns if row.get(column) not in (None, [], "")}


def distinct(name: Any) -> Any:
    """Return a name, or several, quoted if a reader could take it for other words of the sentence."""
    if isinstance(name, list):
        return [distinct(each) for each in name]
    return f'"{name}"' if isinstance(name, str) and " " in name else name


def in_number(text: str, row: Mapping[str, Any], texts: Mapping[str, Any]) -> str:
    """Return a rule's text that fits its numbers: the singular after 1 ("{answers} answer"), milliseconds instead of
    small parts of a second, and no "in 0 s".
    """

    def noun(found: re.Match[str]) -> str:
        is_one = isinstance(row.get(found[1]), (int, float)) and texts[found[1]] == "1"
        return f"{{{found[1]}}} {singular(found[2])}" if is_one else found[0]

    def time(found: re.Match[str]) -> str:
        seconds, before = row.get(found[2]), found[1] or ""
        if isinstance(seconds, float) and 0 < seconds < SHORT_S:
            return f"{before}{worded(seconds * 1e3)} ms"
        return "" if before and seconds == 0 else found[0]

    return SECONDS.sub(time, COUNTED.sub(noun, text))


def command(see: str, texts: Mapping[str, Any]) -> str:
    """Return the command that shows more. A name from the capture stays one word of the command, or a literal of its
    SQL.
    """
    literals = ColumnTexts(
        {name: text.replace("'", "''") if isinstance(text, str) else text for name, text in texts.items()}
    )
    words = [
        texts["files"] if word == FILES else quoted(word.format_map(literals if " " in word else texts))
        for word in shlex.split(see)
    ]
    return " ".join(["kcli", *words])


def clients_of(rule: Rule, row: Mapping[str, Any]) -> list[str]:
    """Return the clients in the subject of a row."""
    named = row.get(rule.subject.get("client", ""))
    return [each for each in (named if isinstance(named, list) else [named]) if each]


def located(rule: Rule, clients: Sequence[str], known: Mapping[str, Addresses]) -> str:
    """Return the sentence of a rule, with addresses after the first mention of its clients."""
    if not known or len(clients) > PLACED:
        return rule.text
    placed = ", ".join(f"{each} ({known[each]})" if each in known else each for each in clients)
    return rule.text.replace(f"{{{rule.subject['client']}}}", placed.replace("{", "{{").replace("}", "}}"), 1)


def times_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the start and end of a row's evidence as text, if the row has them."""
    first, last = row.get("first_ns"), row.get("last_ns")
    return {} if first is None or last is None else {"from": instant(int(first)), "to": instant(int(last))}


def in_order(value: Any) -> Any:
    """Sort a list, as an engine collects values in any order."""
    return sorted(value, key=str) if isinstance(value, list) else value


class Name(str):
    """A text that `{column:word}` quotes for a shell."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return quoted(str(self)) if spec == "word" else super().__format__(spec)


class ColumnTexts(dict[str, Any]):
    """The words of a row, by column."""

    def __missing__(self, key: str) -> str:
        raise KeyError(f"a rule names the column {key}, which its query has not")


def worded(value: Any) -> Any:
    """Return a value as text: a list with commas, a number with its significant digits."""
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
    """Return a value for JSON, with numbers rounded to three decimals."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, float):
        return round(value, 3)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return float(value) if hasattr(value, "as_tuple") else str(value)
