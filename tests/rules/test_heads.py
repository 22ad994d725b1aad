"""The first parts of rules' queries, which are asked alone."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.diagnose.diagnosis import read_facts
from kcli.diagnose.store import FactStore
from kcli.rules import RULES
from kcli.rules.clusters import judge_clusters
from kcli.rules.heads import first_of, parts_of, rest_of
from kcli.rules.rule import Rule
from tests.diagnose.captured import DATA

WITH_HEADS = [each for each in RULES if each.rests_on]
NAMES = sorted(each.name for each in DATA.glob("*.pcap*"))
CAPTURES = 2  # for each rule: those whose names have most of its words


def words_of(name: str) -> set[str]:
    return {each[:5] for each in name.partition(".")[0].split("-") if len(each) > 2}


def captures_like(rule: Rule) -> list[str]:
    words = words_of(rule.finding)
    return sorted(NAMES, key=lambda name: -len(words & words_of(name)))[:CAPTURES]


LIKE = {each.finding: captures_like(each) for each in WITH_HEADS}
RULES_OF = {name: [each for each in WITH_HEADS if name in LIKE[each.finding]] for name in NAMES}
SQL = """
WITH one AS (SELECT ' (it''s' AS a), -- isn't ( closed
-- two needs it
two AS (
  SELECT a, 'x)' AS two FROM one
),
three AS (SELECT 3 AS a),
four AS (SELECT t.a FROM three JOIN two t ON t.a = three.a)
SELECT a FROM four WHERE a IN (1, 2)
"""


def test_queries_are_told_apart_by_their_parentheses_but_for_those_in_texts_and_comments() -> None:
    found, last = parts_of(SQL)
    assert [*found] == ["one", "two", "three", "four"]
    assert found["one"] == "SELECT ' (it''s' AS a" and found["three"] == "SELECT 3 AS a"
    assert last == "SELECT a FROM four WHERE a IN (1, 2)"
    assert parts_of("SELECT 1 FROM one") == ({}, "SELECT 1 FROM one")


def test_the_rest_reads_the_rows_that_were_kept_and_lacks_what_they_were_made_of() -> None:
    assert first_of(SQL, "two") == (
        "CREATE TABLE first_two AS WITH one AS (SELECT ' (it''s' AS a)\n\n  SELECT a, 'x)' AS two FROM one\n"
    )
    assert rest_of(SQL, "two") == (
        "WITH two AS (SELECT * FROM first_two),\nthree AS (SELECT 3 AS a),\n"
        "four AS (SELECT t.a FROM three JOIN two t ON t.a = three.a)\nSELECT a FROM four WHERE a IN (1, 2)"
    )
    with pytest.raises(KeyError):
        first_of(SQL, "five")


def test_a_later_part_reads_the_rows_of_an_earlier_one() -> None:
    rest = rest_of(SQL, "three")
    assert first_of(rest, "four").startswith("CREATE TABLE first_four AS WITH one AS")
    assert "three AS (SELECT * FROM first_three)" in first_of(rest, "four")
    assert rest_of(rest, "four") == "WITH four AS (SELECT * FROM first_four)\nSELECT a FROM four WHERE a IN (1, 2)"


def test_a_parenthesis_that_nothing_closes_is_told() -> None:
    with pytest.raises(ValueError, match=r"nothing closes: SELECT \(1"):
        parts_of("WITH one AS (SELECT (1)")


@pytest.mark.parametrize("name", [name for name, rules in RULES_OF.items() if rules])
def test_a_rule_that_is_asked_in_stages_finds_the_same(name: str) -> None:
    with FactStore() as store:
        read_facts([str(DATA / name)], store, lambda _count: None, {})
        store.choose_optimizer()
        for rule in RULES_OF[name]:
            in_stages, at_once = (sorted(map(str, store.ask(rule.sql, first))) for first in (rule.rests_on, ()))
            assert in_stages == at_once


def test_a_rule_whose_head_finds_nothing_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answer = FactStore.answer

    def noted(store: FactStore, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        asked.append(sql)
        return answer(store, sql)

    monkeypatch.setattr(FactStore, "answer", noted)
    with FactStore() as store:
        read_facts([str(DATA / "rebalance-storm-shipping.pcap.zst")], store, lambda _count: None, {})
        store.choose_optimizer()
        judged = judge_clusters(store, "FILE")
        found = {each.finding for each in (*judged.kept, *judged.explained)}
    heads = {each.finding: first_of(each.sql, each.rests_on[0]) for each in WITH_HEADS}
    tried = {name for name, head in heads.items() if head in asked}
    whole = {each.finding for each in WITH_HEADS if rest_behind(each) in asked}
    assert found & heads.keys() <= whole < tried


def rest_behind(rule: Rule) -> str:
    """Return what is asked of a rule behind all its first parts."""
    rest = rule.sql
    for name in rule.rests_on:
        rest = rest_of(rest, name)
    return rest
