"""Whatever is lost, repeated, late or interleaved, client and broker never disagree without noticing.

Random histories of `world`; and each rule of the tables broken on purpose, which these histories find.
"""

import os
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcli.sessions.broker import BrokerSessions
from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.rules import BROKER, CLIENT, INCLUDE, RULES, Action, Came, Found, Kind, Rules, SessionState
from kcli.sessions.values import Position
from tests.sessions.world import EVICTION_MS, DisagreementError, History

HISTORIES = int(os.environ.get("KCLI_HISTORIES", "1000"))  # `make soak` plays more
BROKEN_HISTORIES = 4000
STEPS = 60


class Ones(random.Random):
    """Chance that has run out, as where a search has made its example as small as it can."""

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return start


def play(seed: int, rules: Rules = RULES, steps: int = STEPS) -> None:
    History(random.Random(seed), rules).run(steps)


def test_histories_without_a_disagreement() -> None:
    for seed in range(HISTORIES):
        play(seed)


@given(st.randoms(use_true_random=False), st.integers(1, 200))
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_histories_that_hypothesis_looks_for(rng: random.Random, steps: int) -> None:
    History(rng).run(steps)


def test_a_displaced_session_is_gone_even_if_its_id_is_given_again() -> None:
    history = History(random.Random(1))
    history.broker = BrokerSessions(FetchSessionCache(1, shards=1, eviction_ms=EVICTION_MS, rng=Ones()))
    first, second = history.clients[:2]
    for number, client in enumerate((first, second)):
        client.session.want(("t", number), Position(0))
        history.exchange(client)
        history.now += EVICTION_MS + 1
    (held,) = history.broker.cache
    assert held.id == first.session.session_id == second.session.session_id == 1
    assert history.broker.cache.evictions == 1 and not held.privileged
    with pytest.raises(DisagreementError, match="positions differ"):
        history.exchange(first)  # the world sees that a session answers to two


# For each entry of the client's table, a state in which it must not end.
WRONG_STATES: Mapping[tuple[SessionState, Came], SessionState] = {
    (SessionState.OPENING, Came.GRANTED): SessionState.OPENING,
    (SessionState.OPENING, Came.NOT_GRANTED): SessionState.LIVE,
    (SessionState.OPENING, Came.THROTTLED): SessionState.LIVE,
    (SessionState.OPENING, Came.MALFORMED): SessionState.OPENING,
    (SessionState.OPENING, Came.NOT_FOUND): SessionState.LIVE,
    (SessionState.OPENING, Came.FAILED): SessionState.LIVE,
    (SessionState.OPENING, Came.LOST): SessionState.LIVE,
    (SessionState.REOPENING, Came.GRANTED): SessionState.OPENING,
    (SessionState.REOPENING, Came.NOT_GRANTED): SessionState.LIVE,
    (SessionState.REOPENING, Came.THROTTLED): SessionState.LIVE,
    (SessionState.REOPENING, Came.MALFORMED): SessionState.OPENING,
    (SessionState.REOPENING, Came.NOT_FOUND): SessionState.LIVE,
    (SessionState.REOPENING, Came.FAILED): SessionState.OPENING,
    (SessionState.REOPENING, Came.LOST): SessionState.OPENING,
    (SessionState.LIVE, Came.CONTINUED): SessionState.OPENING,
    (SessionState.LIVE, Came.ENDED): SessionState.LIVE,
    (SessionState.LIVE, Came.MALFORMED): SessionState.OPENING,
    (SessionState.LIVE, Came.NOT_FOUND): SessionState.LIVE,
    (SessionState.LIVE, Came.FAILED): SessionState.OPENING,
    (SessionState.LIVE, Came.LOST): SessionState.LIVE,
}

WRONG_ACTIONS: Mapping[tuple[Kind, Found], Action] = {
    (Kind.FULL, Found.NOTHING): Action.SERVE,
    (Kind.FULL, Found.CURRENT): Action.OPEN,
    (Kind.FINAL, Found.NOTHING): Action.OPEN,
    (Kind.FINAL, Found.CURRENT): Action.SERVE,
    (Kind.INCREMENTAL, Found.NOTHING): Action.SERVE,
    (Kind.INCREMENTAL, Found.OTHER_EPOCH): Action.CONTINUE,
    (Kind.INCREMENTAL, Found.OTHER_NAMING): Action.CONTINUE,
    (Kind.INCREMENTAL, Found.CURRENT): Action.REFUSE_EPOCH,
    (Kind.INCREMENTAL, Found.EMPTIED): Action.OPEN,
}

BENT_RULES: Mapping[str, Any] = {
    "the epoch does not count": {"next_epoch": lambda epoch: epoch},
    "the epoch does not wrap": {"next_epoch": lambda epoch: epoch + 1},
    "big sessions go first": {"worth": lambda privileged, size, number: (int(privileged), -size, number)},
    "followers are nothing special": {"worth": lambda privileged, size, number: (0, size, number)},
    "young sessions may go": {"keep_young": False},
    "an error is not forgotten": {"forgive": None},
    "no rotation": {"rotate": False},
    "full responses go unchecked": {"check_full": False},
    "foreign partitions go unnoticed": {"check_known": False},
    "an empty session stays": {"forget_last": False},
}


def without(name: str) -> Rules:
    return replace(RULES, include={key: rule for key, rule in INCLUDE.items() if key != name})


def broken_action(kind: Kind, found: Found, wrong: Action) -> Rules:
    """One entry of the broker's table; the epoch is looked at twice, so both looks have to fail to do harm."""
    return replace(RULES, broker={**BROKER, (kind, found): wrong}, recheck=found is not Found.OTHER_EPOCH)


MUTATIONS: dict[str, Rules] = {
    **{
        f"client: {state.name} + {came.name} -> {wrong.name}": replace(RULES, client={**CLIENT, (state, came): wrong})
        for (state, came), wrong in WRONG_STATES.items()
    },
    **{
        f"broker: {kind.name} + {found.name} -> {wrong.name}": broken_action(kind, found, wrong)
        for (kind, found), wrong in WRONG_ACTIONS.items()
    },
    **{f"not reported: {name}": without(name) for name in INCLUDE},
    **{name: replace(RULES, **bent) for name, bent in BENT_RULES.items()},
}


# Histories that find what few of them do; they are played first, as to search takes longer than all the rest.
RARE = {
    "client: REOPENING + MALFORMED -> OPENING": 3731,
    "client: REOPENING + NOT_FOUND -> LIVE": 1098,
    "client: REOPENING + THROTTLED -> LIVE": 928,
    "client: REOPENING + FAILED -> OPENING": 910,
    "broker: INCREMENTAL + OTHER_NAMING -> CONTINUE": 604,
    "client: OPENING + THROTTLED -> LIVE": 426,
    "an error is not forgotten": 213,
}


def test_each_rule_of_the_tables_is_broken_once() -> None:
    assert WRONG_STATES.keys() == CLIENT.keys()
    assert WRONG_ACTIONS.keys() == BROKER.keys()
    assert all(CLIENT[key] is not wrong for key, wrong in WRONG_STATES.items())
    assert all(BROKER[key] is not wrong for key, wrong in WRONG_ACTIONS.items())


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_rule_is_found(name: str) -> None:
    found = 0
    for seed in (RARE.get(name, 0), *range(BROKEN_HISTORIES)):
        try:
            play(seed, MUTATIONS[name])
        except (AssertionError, KeyError):
            found += 1
            break
    assert found, "the histories do not notice this broken rule"
