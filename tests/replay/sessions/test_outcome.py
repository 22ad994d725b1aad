from kcli.jsontext import dumps
from kcli.replay.sessions.live_fetch import LiveFetch
from kcli.replay.sessions.outcome import pairs, take_out_internal
from kcli.replay.sessions.plan import make_plan
from kcli.replay.sessions.runner import Replayed
from tests.replay.sessions.made import fetch

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


def test_what_brokers_keep_for_themselves_is_no_difference_of_a_live_cluster() -> None:
    own = ("__consumer_offsets", 2)
    plan = make_plan([fetch(0, {T0: 0, own: 0}, {T0: 100, own: 50})])
    (fetcher,) = plan.fetchers
    nothing = fetch(0, {T0: 0, own: 0}, {T0: 0, own: 0})
    found = list(pairs(Replayed([(fetcher, [LiveFetch(fetcher.steps[0], nothing)])]), {}, "shape"))
    assert [each.what for each in found[0].differences] == ["records of t[0]", "records of __consumer_offsets[2]"]
    assert take_out_internal(found) == ["__consumer_offsets[2]"]
    assert [each.what for each in found[0].differences] == ["records of t[0]"]
