"""Rules as values."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from kcli.diagnose.store import FactStore
from kcli.finding import SEVERITIES, Finding
from kcli.rules import RULES
from kcli.rules.judgement import checks, forget_ids, heaviest_first, rules_to_ask
from kcli.rules.prepared import PREPARED
from kcli.rules.rule import KINDS, Addresses, ColumnTexts, Rule, command, finding_of, in_number, worded

# Their facts are sums over connections, or over records, that have no times of their own.
TIMELESS = {"packet-loss", "slow-network", "slow-reader", "poison-records"}


def test_no_two_rules_have_one_name_and_what_they_explain_is_there() -> None:
    names = [each.finding for each in RULES]
    assert len(set(names)) == len(names)
    assert {other for each in RULES for other in each.explains} <= set(names)


def test_the_page_lists_every_rule_and_the_readme_counts_them() -> None:
    root = Path(__file__).parents[2]
    table = (root / "docs/how-to/diagnose.md").read_text().partition("## What it finds")[2]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    listed = set(re.findall(r"[a-z][a-z-]+", re.sub(r"\(\[.*?\)\)", "", " ".join(rows))))
    assert listed == {rule.finding for rule in RULES}
    assert f"[{checks()} causes]" in (root / "README.md").read_text()
    assert f"`{checks()} checks" in (root / "docs/how-to/diagnose.md").read_text()


@pytest.fixture(scope="module")
def empty() -> Iterator[FactStore]:
    """A store without a row."""
    with FactStore() as store:
        for name in PREPARED:
            store.make(name)
        yield store


@pytest.mark.parametrize("sql", [*(each.sql for each in RULES), *PREPARED.values()])
def test_nothing_looks_into_a_connection_which_is_a_number_where_there_are_many_rows(sql: str) -> None:
    looks = r"\b(split\w*|substring|replace|regexp\w*|translate|lower|length|position)\((\w+\.)?connection\b"
    assert sql == PREPARED["link_ends"] or not re.search(looks, sql)
    assert not re.search(r"\bconnection (NOT )?LIKE\b", sql)


def test_without_a_row_no_rule_is_asked(empty: FactStore) -> None:
    assert not rules_to_ask(empty)


@pytest.mark.parametrize("rule", RULES, ids=[each.finding for each in RULES])
def test_a_rule_names_columns_that_its_query_has(rule: Rule, empty: FactStore) -> None:
    """Over tables without a row, which every query has to bear."""
    empty.provide(rule.sql)
    made = empty.execute(rule.sql)
    columns = {each[0] for each in made.description}
    assert not made.fetchall()
    texts = (rule.text, rule.advice, rule.ruled_out, rule.see)
    asked = {name for text in texts for _, name, _, _ in Formatter().parse(text) if name} - {"files"}
    assert asked | set(rule.subject.values()) | set(rule.evidence) <= columns
    assert ({"first_ns", "last_ns"} <= columns) == (rule.finding not in TIMELESS)
    assert set(rule.subject) <= set(KINDS) and rule.severity in SEVERITIES
    assert re.fullmatch("[a-z0-9-]+", rule.finding) and rule.advice and rule.source


@pytest.mark.parametrize("hostile", ["$(touch canary)", "`touch canary`", "'; touch canary; '", '"; touch canary; "'])
def test_names_of_a_capture_are_words_of_the_command_that_shows_more(hostile: str, tmp_path: Path) -> None:
    """Whoever chose a client's id or a topic's name does not choose what a shell runs, nor what SQL asks."""
    texts = ColumnTexts({name: hostile for each in RULES for _, name, _, _ in Formatter().parse(each.see) if name})
    texts["files"] = "x.pcap"
    commands = [command(each.see, texts) for each in RULES if each.see]
    assert any("touch" in each for each in commands)
    shell = "kcli() { printf '%s\\0' \"$@\"; }\n" + "\n".join(commands)
    made = subprocess.run(["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert made.stdout.count("\0") == sum(len(shlex.split(each.see)) for each in RULES)
    assert not list(tmp_path.iterdir())
    for query in re.findall("SELECT[^\0]+", made.stdout):
        assert re.sub("'(?:[^']|'')*'", "", query).count("touch") == 0


def test_a_finding_has_what_its_row_says_and_sorted_lists() -> None:
    rule = Rule(
        "f", "", "true", "", {"client": "who", "host": "none"}, ("n",), "{who}: {n}", "do {n}", "stats {files}", ""
    )
    found = finding_of(rule, {"who": ["b", "a"], "none": None, "n": 1234.5}, "x.pcap")
    assert found.as_json() == {
        "finding": "f", "severity": "warning", "subject": {"client": ["a", "b"]}, "evidence": {"n": 1234.5},
        "text": "a, b: 1,234", "advice": "do 1,234", "see": "kcli stats x.pcap",
    }  # fmt: skip


def test_a_finding_says_when_what_it_counts_began_and_ended() -> None:
    rule = Rule("f", "", "true", "", {}, ("n",), "", "", "", "")
    row = {"n": 2, "first_ns": 1_763_814_797_872_020_999, "last_ns": 1_763_814_802_000_000_000}
    times = {"from": "2025-11-22T12:33:17.872020Z", "to": "2025-11-22T12:33:22.000000Z"}
    assert finding_of(rule, row, "x.pcap").evidence == {"n": 2} | times
    assert finding_of(rule, row | {"first_ns": None}, "x.pcap").evidence == {"n": 2}


def test_a_finding_says_where_its_client_is() -> None:
    rule = Rule("f", "", "true", "", {"client": "who"}, (), "{who}: {n} by {who}", "", "", "")
    at = {"a": Addresses(["10.0.0.1:1", "10.0.0.1:2"], 2), "b": Addresses([f"10.0.0.2:{n}" for n in range(20)], 30)}
    one = finding_of(rule, {"who": "a", "n": 3}, "x.pcap", at)
    assert one.text == "a (10.0.0.1:1 and 1 more): 3 by a"
    assert one.evidence == {"addresses": ["10.0.0.1:1", "10.0.0.1:2"]} and one.subject == {"client": "a"}
    two = finding_of(rule, {"who": ["b", "a"], "n": 3}, "x.pcap", at)
    assert two.text == "a (10.0.0.1:1 and 1 more), b (10.0.0.2:0 and 29 more): 3 by a, b"
    many = finding_of(rule, {"who": ["b", "a", "c", "d"], "n": 3}, "x.pcap", at)
    assert many.text == "a, b, c, d: 3 by a, b, c, d"
    assert two.evidence["addresses"][:4] == ["10.0.0.1:1", "10.0.0.2:0", "10.0.0.1:2", "10.0.0.2:1"]
    assert len(two.evidence["addresses"]) == 20 and two.evidence["addresses_left_out"] == 12
    assert finding_of(rule, {"who": "c", "n": 3}, "x.pcap", at).text == "c: 3 by c"
    counted = finding_of(rule, {"who": "b", "n": 3, "ends": ["10.0.0.2:7"]}, "x.pcap", at)
    assert counted.evidence == {"addresses": ["10.0.0.2:7"]} and counted.text == "b: 3 by b"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0421, "0.042"),
        (3.26, "3.3"),
        (1234567, "1,234,567"),
        (True, True),
        ([*"abcdefgh"], "a, b, c, d, e, f, 2 more"),
    ],
)
def test_values_in_words(value: object, text: object) -> None:
    assert worded(value) == text


def test_findings_of_one_weight_are_in_the_order_of_their_subjects() -> None:
    rule = next(each for each in RULES if each.finding == "tiny-batches")
    rows = [{"client_id": name, "weight": weight} for name, weight in (("b", 1), ("c", 2), ("a", 1))]
    rows = [{**dict.fromkeys(rule.subject.values()), **row} for row in rows]
    assert [row["client_id"] for row in heaviest_first(rule, rows)] == ["c", "a", "b"]


def test_numbers_have_their_singular_and_short_times_their_unit() -> None:
    row = {"answers": 1, "batches": 1, "records": 1.0, "names": "1", "took_s": 0.0049, "long_s": 2.5, "wait_ms": 1}
    texts = ColumnTexts({name: worded(value) for name, value in row.items()})
    said = "{answers} answers, {batches} batches with {records} records of {names} says it in {took_s} s or {long_s} s"
    assert in_number(said, row, texts).format_map(texts) == (
        "1 answer, 1 batch with 1 record of 1 says it in 4.9 ms or 2.5 s"
    )
    assert in_number("{wait_ms} ms, {answers} of", row, texts) == "{wait_ms} ms, {answers} of"
    assert in_number("once in {no_s} s", {"no_s": 0.0}, texts) == "once"
    row["answers"] = 2
    assert in_number("{answers} answers", row, ColumnTexts({"answers": "2"})) == "{answers} answers"


def test_a_name_of_several_words_stands_in_quotes() -> None:
    rule = next(each for each in RULES if each.finding == "unknown-topic")
    row = dict.fromkeys(
        each for _, each, _, _ in Formatter().parse(rule.text + rule.advice + rule.see + rule.ruled_out) if each
    )
    found = finding_of(rule, row | {"topic": "no topic !", "client_id": "a"}, "F")
    assert ' asks for "no topic !", ' in found.text and 'topic "no topic !"' in found.advice
    assert found.subject["topic"] == "no topic !" and found.see.endswith(" --topic 'no topic !'")


def test_a_row_has_times_of_day_and_advice_of_its_own_with_words_for_a_shell() -> None:
    rule = Rule("f", "", "true", "", {}, ("ends_at",), "ends at {ends_at}", "none", "", "")
    row = {"ends_at": 1_763_814_797_872_020_999, "name": "a; touch b", "n": 1, "advised": "run x {name:word} {n} times"}
    found = finding_of(rule, row, "x.pcap")
    assert found.evidence == {"ends_at": "2025-11-22T12:33:17.872020Z"} and found.text == "ends at 12:33:17Z"
    assert found.advice == 'run x "a; touch b" 1 time'
    assert finding_of(rule, row | {"advised": None, "ends_at": None}, "x.pcap").advice == "none"


def test_no_command_has_the_id_of_a_topic_for_its_name() -> None:
    """A capture that begins in mid-stream may know a topic by id alone."""
    some, other = (
        Finding("hanging-transaction", "critical", {"topic": name}, {}, f"abort --topic {name} --partition 0")
        for name in ("AAAAAAAAAAAAAAAAAAAAAQ", "orders")
    )
    forget_ids([some, other], {"AAAAAAAAAAAAAAAAAAAAAQ"})
    assert some.advice == (
        "abort --topic NAME --partition 0 "
        "(NAME is what kafka-topics.sh --describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ says)"
    )
    assert other.advice == "abort --topic orders --partition 0" and not some.subject
