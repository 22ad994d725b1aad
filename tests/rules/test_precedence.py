"""Causes before consequences."""

import random
import time
from collections.abc import Mapping, Sequence

import pytest

from kcli.rules import RULES
from kcli.rules.precedence import Explains, may_share, names_of, without_consequences
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


def test_a_consequence_may_be_too_grave_for_a_cause_of_others_of_its_kind() -> None:
    slow, lag, more = finding("slow"), finding("lag"), finding("lag")
    more.stands = ("slow",)
    assert without_consequences([slow, lag, more], [rule("slow", {"lag": ()}), rule("lag", {})]) == (
        [slow, more],
        [lag],
    )


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


@pytest.mark.parametrize("cause", ["slow-broker", "silent-broker"])
def test_a_slow_broker_beside_one_that_is_missing_explains_no_writes_refused_for_want_of_that_one(cause: str) -> None:
    ill = finding(cause, broker=["1", "10.0.0.1:9092"])
    its, unsaid = finding("under-min-isr", topic="a", broker=["1"]), finding("under-min-isr", topic="b")
    others = finding("under-min-isr", topic="c", broker=["100000"])
    assert without_consequences([ill, its, unsaid, others], RULES) == ([ill, others], [its, unsaid])


def test_many_findings_are_not_compared_with_each_other() -> None:
    """A capture may name brokers and clients without end, each with a finding of its own."""
    rules = [
        rule("login", {"churn": ("client", "topic"), "storm": ()}),
        rule("churn", {"load": ("client",)}),
        rule("load", {"churn": ("client",)}),
        rule("storm", {}),
    ]

    def spent(count: int) -> float:
        logins = [finding("login", client=str(number), topic=["x", str(number)]) for number in range(count)]
        churns = [finding("churn", client=str(number + count // 2), topic="x") for number in range(count)]
        loads = [finding("load", client=str(number)) for number in range(count)]
        storms = [finding("storm", client=str(number)) for number in range(count)]
        begun = time.process_time()
        _, explained = without_consequences([*storms, *churns, *loads, *logins], rules)
        took = time.process_time() - begun
        assert explained == [*storms, *churns[: count // 2]]
        return took

    assert min(spent(8_000) for _ in range(3)) < 20 * min(spent(1_000) for _ in range(3))


def test_each_finding_has_the_first_of_its_causes() -> None:
    """By all pairs, of findings whose names and rules are drawn."""
    draw = random.Random(11)
    for _ in range(300):
        ids = "abcd"
        rules = [
            rule(each, {other: draw.choice([(), ("x",), ("y",), ("x", "y")]) for other in ids if draw.random() < 0.4})
            for each in ids
        ]
        explains = {each.finding: each.explains for each in rules}
        found = []
        for _ in range(draw.randrange(1, 12)):
            subject = {kind: draw.choice(["1", "2", ["1", "2"], ["3"]]) for kind in "xy" if draw.random() < 0.7}
            made = Finding(draw.choice(ids), "warning", subject, draw.choice([{}, {"xs": ["2", "3"]}, {"ys": 4}]), "")
            made.spares = tuple(each for each in ids if draw.random() < 0.2)
            found.append(made)

        def is_cause(cause: Finding, each: Finding, explains: Explains = explains) -> bool:
            kinds = explains[cause.finding].get(each.finding)
            if kinds is None or cause is each or each.finding in cause.spares:
                return False
            return all(may_share(names_of(cause, kind), names_of(each, kind)) for kind in kinds)

        expected = [
            next((cause.finding for cause in found if is_cause(cause, each) and not is_cause(each, cause)), None)
            for each in found
        ]
        without_consequences(found, rules)
        assert [each.explained_by for each in found] == expected
