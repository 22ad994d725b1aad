"""The first parts of rules' queries, which are asked alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kcli.diagnose.diagnosis import read_facts
from kcli.diagnose.store import FactStore
from kcli.rules import RULES
from kcli.rules.heads import head_of, with_of
from kcli.rules.judgement import judge
from tests.diagnose.captured import DATA

WITH_HEADS = [each for each in RULES if each.rests_on]
# Of what these rules find, and of what is like it.
LIKE = re.compile("lagging|rebalance|stuck|storm|timeout|poll")
NAMES = sorted(each.name for each in DATA.glob("*.pcap*") if LIKE.search(each.name))
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
    found = with_of(SQL)
    assert [*found] == ["one", "two", "three", "four"]
    assert found["one"] == "SELECT ' (it''s' AS a" and found["three"] == "SELECT 3 AS a"
    assert with_of("SELECT 1 FROM one") == {}


def test_a_head_has_what_it_reads_and_nothing_more() -> None:
    assert head_of(SQL, ("three",)) == (
        "WITH three AS (SELECT 3 AS a)\nSELECT count(*) > 0 AS found FROM (SELECT 1 AS one FROM three) AS given"
    )
    assert [*with_of(head_of(SQL, ("two", "three")))] == ["one", "two", "three"]
    with pytest.raises(KeyError):
        head_of(SQL, ("five",))


def test_a_parenthesis_that_nothing_closes_is_told() -> None:
    with pytest.raises(ValueError, match=r"nothing closes: SELECT \(1"):
        with_of("WITH one AS (SELECT (1)")


@pytest.mark.parametrize("name", NAMES)
def test_where_a_head_finds_nothing_the_rule_finds_nothing(name: str) -> None:
    with FactStore() as store:
        read_facts([str(DATA / name)], store, lambda _count: None, {})
        store.suit()
        for rule in WITH_HEADS:
            [row] = store.ask(head_of(rule.sql, rule.rests_on))
            assert row["found"] or not [*store.ask(rule.sql)]


def test_a_rule_whose_head_finds_nothing_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answer = FactStore.answer

    def noted(store: FactStore, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        asked.append(sql)
        return answer(store, sql)

    monkeypatch.setattr(FactStore, "answer", noted)
    with FactStore() as store:
        read_facts([str(DATA / "rebalance-storm-shipping.pcap.zst")], store, lambda _count: None, {})
        store.suit()
        found = {each.finding for kept in judge(store, "FILE") for each in kept}
    heads = {each.finding: head_of(each.sql, each.rests_on) for each in WITH_HEADS}
    whole = {each.finding for each in WITH_HEADS if each.sql in asked}
    tried = {name for name, head in heads.items() if head in asked}
    assert found & heads.keys() <= whole < tried
