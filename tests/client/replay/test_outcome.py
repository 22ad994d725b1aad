from kcli.client.replay.live_fetch import LiveFetch
from kcli.client.replay.outcome import pairs
from kcli.client.replay.plan import make_plan
from kcli.client.replay.runner import Replayed
from kcli.jsontext import dumps
from tests.client.replay.made import fetch

T0 = ("t", 0)


def test_each_run_has_its_pair_with_what_differs() -> None:
    plan = make_plan([fetch(0, {T0: 0}, {T0: 100}, granted=7), fetch(1, {T0: 5}, {T0: 0}, session=(7, 1), granted=7)])
    (fetcher,) = plan.fetchers
    good = [LiveFetch(step, step.captured) for step in fetcher.steps]
    silent = fetch(0, {T0: 0}, {T0: 0}, granted=9)
    bad = [LiveFetch(fetcher.steps[0], silent, "odd"), good[1]]
    first, second = pairs(Replayed([(fetcher, good), (fetcher, bad)]), {"t": "orders"}, "shape")
    assert (first.run, first.differences, first.problems) == (1, [], [])
    assert (second.run, second.problems) == (2, [(0, "odd")])
    assert [str(each) for each in second.differences] == [
        "c s:1-c:1: records of orders[0]: captured 100, live 0",
    ]
    line = second.as_dict()
    assert (line["session"], line["run"]) == ("c s:1-c:1", 2)
    assert (line["captured"]["recordsBytes"], line["live"]["recordsBytes"]) == (100, 0)
    assert line["problems"] == [{"fetch": 0, "problem": "odd"}]
    assert "responses" not in line["captured"]
    assert dumps(line)


def test_no_comparison_no_differences() -> None:
    plan = make_plan([fetch(0, {T0: 0}, {T0: 100}, granted=7)])
    (fetcher,) = plan.fetchers
    live = [LiveFetch(fetcher.steps[0], fetch(0, {T0: 0}, {T0: 0}))]
    replayed = Replayed([(fetcher, live)])
    assert [pair.differences for pair in pairs(replayed, {}, "none")] == [[]]
    assert [len(pair.differences) for pair in pairs(replayed, {}, "shape")] == [2]
    assert [len(pair.differences) for pair in pairs(replayed, {}, "strict")] == [3]
