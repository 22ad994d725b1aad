"""Causes before consequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcli.rules.precedence import without_consequences
from kcli.rules.rule import Finding, Rule


def rule(name: str, explains: Mapping[str, Sequence[str]]) -> Rule:
    return Rule(name, name, "true", "", {}, (), "", "", "", "", explains=explains)


def finding(name: str, **subject: object) -> Finding:
    return Finding(name, "warning", dict(subject), {}, "", "")


def test_a_consequence_of_the_same_client_goes_and_anothers_stays() -> None:
    login, own, other = finding("login", client="a"), finding("churn", client="a"), finding("churn", client=["b"])
    kept, explained = without_consequences(
        [login, own, other], [rule("login", {"churn": ("client",)}), rule("churn", {})]
    )
    assert kept == [login, other] and explained == [own] and own.explained_by == "login"


def test_a_chain_has_one_beginning_and_two_that_explain_each_other_stand() -> None:
    first, second, third = finding("x"), finding("y"), finding("z")
    chain = [rule("x", {"y": ()}), rule("y", {"z": ()}), rule("z", {})]
    assert without_consequences([third, second, first], chain)[0] == [first]
    first, second = finding("x"), finding("y")
    assert without_consequences([first, second], [rule("x", {"y": ()}), rule("y", {"x": ()})])[0] == [first, second]


def test_a_cause_may_be_too_slight_for_what_others_of_its_kind_explain() -> None:
    slight, storm, lag = finding("slow"), finding("storm"), finding("lag")
    slight.spares = ("storm",)
    kept, explained = without_consequences(
        [slight, storm, lag], [rule("slow", {"storm": (), "lag": ()}), rule("storm", {}), rule("lag", {})]
    )
    assert kept == [slight, storm] and explained == [lag]


def test_names_that_the_evidence_lists_tell_findings_apart() -> None:
    """A member that is stuck over one topic is no consequence of a transaction that hangs in another."""
    hanging = finding("hanging", topic="payments")
    own, other = finding("stuck", client="a"), finding("stuck", client="b")
    own.evidence, other.evidence = {"topics": ["payments", "orders"]}, {"topics": ["invoices"]}
    unsaid, counted = finding("stuck", client="c"), finding("stuck", client="d")
    counted.evidence = {"topics": 2}
    rules = [rule("hanging", {"stuck": ("topic",)}), rule("stuck", {})]
    kept, explained = without_consequences([hanging, own, other, unsaid, counted], rules)
    assert kept == [hanging, other] and explained == [own, unsaid, counted]
