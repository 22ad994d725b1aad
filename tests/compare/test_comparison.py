"""Comparisons of captures of real brokers: cuts of some seconds, on a machine that was busy with other things.

old, new: Kafka 3.9.1 and 4.4.0; twin-a, twin-b: the same load twice; linger-0, linger-20: linger.ms of its producers;
line-0, line-20: the same through a proxy that delivers at once, and 10 ms later each way;
far-0, far-20: the same over a line of its own, captured at its clients' end.
"""

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy
import pytest

from kcli.compare import BETTER, SAME, UNLIKE, WORSE, Comparison, compare
from kcli.compare.capture_side import MOST_BLOCKS, STEPS, block_seconds, slow_limits
from kcli.compare.comparison import CHANGED, Change, changes_of, excuse, findings_of, judge, too_short_beside
from kcli.compare.measures import KEYS, MEASURES
from kcli.diagnose import Finding, Scope
from kcli.diagnose.scope import ALL
from kcli.errors import InputError
from tests.capture.wires import packets_of, pcap, rotated
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk
from tests.rules.test_clusters import clusters, elsewhere

DATA = Path(__file__).parent / "data"
HOUR = 3600.0
STEADY = ((1.0, 1.1), (9.0, 9.1))  # ranges of both sides


@cache
def made(before: str, after: str) -> Comparison:
    one, other = ([str(DATA / f"{name}.pcap.zst")] for name in (before, after))
    return compare(one, other)


def of(**known: str) -> tuple[str | None, ...]:
    """Return what a measure is of."""
    return tuple(known.get(kind) for kind in KEYS)


def verdicts(found: Comparison, measure: str) -> set[str]:
    return {each.verdict for each in found.changes if each.measure.name == measure}


def test_the_same_load_twice_is_no_change() -> None:
    found = made("twin-a", "twin-b")
    assert {each.verdict for each in found.changes} == {SAME} and len(found.changes) > 12
    assert not found.is_worse and found.compared and not found.unlike


def test_a_finding_that_a_measure_judges_is_told_and_not_worse() -> None:
    [new] = [each for each in made("twin-a", "twin-b").differences if each.kind == "finding"]
    assert (new.verdict, new.grave) == ("new", False) and new.name.startswith("slow-broker")


def test_a_longer_linger_makes_larger_batches() -> None:
    found = made("linger-0", "linger-20")
    assert verdicts(found, "batching") == {BETTER} and not found.is_worse
    assert verdicts(made("linger-20", "linger-0"), "batching") == {WORSE}
    [orders] = [each for each in found.changes if each.measure.name == "batching" and "orders" in each.title]
    assert orders.title == "records of a Produce to orders" and orders.before < 1.2 and orders.after > 2.5


def test_a_longer_line_is_worse_for_every_kind_of_answer() -> None:
    found = made("line-0", "line-20")
    assert found.is_worse and WORSE in verdicts(found, "latency")
    assert BETTER in verdicts(made("line-20", "line-0"), "latency")


def test_the_round_trip_is_the_line_s_for_every_role() -> None:
    """At the clients' end their own acknowledgements say nothing of the line; waits of up to 40 ms hide it."""
    for found, verdict, low, high in (
        (made("far-0", "far-20"), WORSE, 0, 20),
        (made("far-20", "far-0"), BETTER, 20, 0),
    ):
        trips = {each.key[1]: each for each in found.changes if each.measure.name == "round-trip"}
        assert {*trips} == {"producer", "consumer"} and {each.verdict for each in trips.values()} == {verdict}
        for each in trips.values():
            assert each.before == pytest.approx(low, abs=1) and each.after == pytest.approx(high, abs=1)
    assert verdicts(made("line-0", "line-20"), "round-trip") <= {SAME}  # the proxy's own, on both sides


def test_an_upgrade_shows_in_versions() -> None:
    found = made("old", "new")
    assert not found.is_worse
    names = {(each.verdict, each.kind): each.name for each in found.differences}
    assert "METADATA of consumers 12 -> 13" in {each.name for each in found.differences if each.kind == "version"}
    assert names["new", "offer"].startswith("ADD_RAFT_VOTER 1, ") and "API_VERSIONS 4" in names["gone", "offer"]


def test_other_topics_and_another_load_are_said() -> None:
    incidents = DATA.parent.parent / "diagnose" / "data"
    one, other = ([str(incidents / f"{name}.pcap.zst")] for name in ("tiny-batches-clickstream", "busy-fetch-pricing"))
    found = compare(one, other)
    assert any("other topics" in text for text in found.unlike) and any("the load is" in text for text in found.unlike)
    assert WORSE not in verdicts(found, "latency") and verdicts(found, "latency") <= {SAME, UNLIKE, BETTER}
    latency = next(each for each in MEASURES if each.name == "latency")
    before, after = (cast(Any, SimpleNamespace(load=each, sizes={}, topics={})) for each in (10.0, 100.0))
    for measure, said in ((latency, True), (replace(latency, excuse=()), False)):
        change = Change(measure, of(api="FETCH", role="consumer", topic="t"), 1.0, 9.0, STEADY, 0.01, (9, 9))
        assert excuse(before, after, change).startswith("the load is 10.0 times as large") == said


def test_batches_that_shrink_with_the_records_of_their_topic_are_no_change() -> None:
    batching = next(each for each in MEASURES if each.name == "batching")
    before, after = (
        cast(Any, SimpleNamespace(load=1.0, seconds=10.0, topics={"t": n}, sizes={})) for n in (2400, 1200)
    )
    for records, said in ((1.1, True), (0.5, False)):
        change = Change(batching, of(topic="t"), 2.0, records, STEADY, 0.01, (9, 9))
        assert excuse(before, after, change).startswith("the topic gets 240 records a second") == said


def test_a_broker_that_gets_no_more_requests_is_told_and_software_only_where_clients_connect(tmp_path: Path) -> None:
    talks = [Talk(f"shop-{broker}", 40000 + broker, broker) for broker in (1, 2)]
    for talk in talks:
        talk.call(18, 3, {"clientSoftwareName": talk.client, "clientSoftwareVersion": "1"}, {"apiKeys": []})
        for _ in range(20):
            talk.call(3, 9, {"topics": []}, {"brokers": [], "topics": []})
    sides = {"both": talks, "one": talks[:1]}
    for name, of_side in sides.items():
        packets = sorted(packet for talk in of_side for packet in talk.wire.packets)
        (tmp_path / f"{name}.pcap").write_bytes(pcap(packets))
        (tmp_path / f"{name}-later.pcap").write_bytes(pcap(packets[len(packets) // 4 :]))

    def gone(after: str) -> Comparison:
        return compare([str(tmp_path / "both.pcap")], [str(tmp_path / after)])

    found = {after: gone(after) for after in ("one.pcap", "one-later.pcap")}
    names = {after: {each.kind: each.name for each in one.differences} for after, one in found.items()}
    assert names["one.pcap"]["broker"] == "10.0.0.2:9092" and names["one.pcap"]["software"] == "shop-2 1"
    assert "software" not in names["one-later.pcap"] and found["one-later.pcap"].unnamed == ("after",)


def test_a_clock_that_is_set_back_is_told(tmp_path: Path) -> None:
    """What seems to be before the first packet is in no block."""
    well = answered(tmp_path / "well.pcap", 0)
    packets = packets_of(Path(well[0]))
    late = len(packets) // 2
    back = packets[:late] + [each._replace(ns=each.ns - 3600 * SECOND) for each in packets[late:]]
    (path := tmp_path / "back.pcap").write_bytes(pcap(back))
    [told] = compare(well, [str(path)]).unlike
    assert told == "after: 800 exchanges before its first packet left out: its clock was set back"


def test_a_short_capture_beside_a_long_one_is_cut_in_enough_blocks() -> None:
    """A minute behind an upgrade, and an hour, a day and a month before it."""
    for before, blocks in ((HOUR, 32), (24 * HOUR, 1), (720 * HOUR, 0)):
        seconds = block_seconds(before, 60.0)
        assert int(60.0 / seconds) == blocks and before / seconds <= MOST_BLOCKS + 1
    sides = [cast(Any, SimpleNamespace(seconds=each)) for each in (2.7, 60.0, 24.0 * HOUR)]
    assert too_short_beside(sides[0], sides[2]) == "too short to tell changes from noise"
    assert too_short_beside(sides[1], sides[2]).startswith("too short beside 24.0 h; --since")


def test_what_is_no_capture_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"GIF89a")
    with pytest.raises(InputError):
        compare([str(path)], [str(path)])


def test_a_few_steady_values_suffice_where_none_comes_near_the_others() -> None:
    """Round trips of each connection are the best of hundreds; of latencies, a block each, twelve may be chance."""
    by_name = {each.name: each for each in MEASURES}
    trips, latency = by_name["round-trip"], by_name["latency"]
    key = of(role="consumer")
    like = Change(latency, key, 1.0, 1.0, ((1.0, 1.0), (1.0, 1.0)), 1.0, (9, 9))
    for measure, apart, highest, verdict in (
        (trips, True, 1.0, WORSE), (trips, False, 1.0, SAME), (trips, True, 30.0, SAME), (latency, True, 1.0, UNLIKE),
    ):  # fmt: skip
        change = Change(measure, key, 0.4, 24.0, ((0.4, highest), (23.0, 25.0)), 0.008, (6, 6), apart)
        judge([change, *(replace(like) for _ in range(30))], lambda each: "")
        assert change.verdict == verdict
        assert change.reason.startswith("too short to tell: 6 and 6 blocks of time") == (verdict == UNLIKE)


@pytest.mark.parametrize(
    ("verdict", "api", "grave"),
    [(SAME, "METADATA", False), (CHANGED, "METADATA", True), (SAME, "FETCH", True), (UNLIKE, "METADATA", True)],
)
def test_a_rate_that_just_passes_a_limit_is_no_worse(verdict: str, api: str, grave: bool) -> None:
    """What both sides ask as often is a finding of one by chance; without that rate the finding counts."""
    rate = next(each for each in MEASURES if each.name == "rate")
    change = Change(rate, of(api=api, role="other"), 9.8, 10.1, STEADY, 0.5, (9, 9), verdict=verdict)
    storm = Finding("metadata-storm", "warning", {"client": "a"}, {"n": 1}, "cache it", "a asks", "", "", "", 1.0)
    one, other = (cast(Any, SimpleNamespace(diagnosis=SimpleNamespace(findings=each))) for each in ([], [storm]))
    [found] = findings_of(one, other, [change])
    assert (found.verdict, found.grave) == ("new", grave)


@pytest.mark.parametrize(
    ("verdicts", "grave"), [({SAME}, False), ({WORSE}, True), ({UNLIKE}, True), (set(), True), ({SAME, UNLIKE}, False)]
)
def test_a_finding_without_its_measure_counts(verdicts: set[str], grave: bool) -> None:
    """Where the topics differ, no measure says whether the batches became smaller."""
    batching = next(each for each in MEASURES if each.name == "batching")
    changes = [Change(batching, of(topic="a"), 9.8, 10.1, STEADY, 0.5, (9, 9), verdict=each) for each in verdicts]
    tiny = Finding("tiny-batches", "warning", {"client": "a"}, {"n": 1}, "linger", "a sends", "", "", "", 1.0)
    one, other = (cast(Any, SimpleNamespace(diagnosis=SimpleNamespace(findings=each))) for each in ([], [tiny]))
    assert [each.grave for each in findings_of(one, other, changes)] == [grave]


UNSTEADY = (2.1, 30.0, 5.0, 48.0, 3.3, 12.0, 70.0, 4.0)  # ms
DRIFT = (*(1.0,) * 12, *(1.2,) * 12, *(3.0,) * 12)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ((1.0, 1.2), UNSTEADY, WORSE),  # each part of it is beyond all that was before
        (UNSTEADY, (1.0, 1.2), BETTER),
        ((1.0, 1.2), (1.0, 30.0, 1.1, 48.0, 1.2, 1.0), SAME),  # some of it is as it was
        (UNSTEADY, (3.0, 40.0, 9.0, 25.0), SAME),
        (DRIFT, (3.5, 3.8), SAME),  # beyond, and by less than half of what before differs from itself
    ],
)
def test_a_change_that_makes_things_unsteady_is_no_smaller_for_it(
    before: tuple[float, ...], after: tuple[float, ...], verdict: str
) -> None:
    """The noise that counts is that of the better side; what the other shows by itself is a part of the change."""
    latency = next(each for each in MEASURES if each.name == "latency")
    key = of(api="PRODUCE", role="producer", topic="orders")
    values = [numpy.array([each[at % len(each)] for at in range(36)]) for each in (before, after)]
    sides = [
        cast(Any, SimpleNamespace(samples=lambda of, v=each: {key: v} if of is latency else {}, known={}, blocks=36))
        for each in values
    ]
    [change] = changes_of(latency, *sides)
    judge([change], lambda each: "")
    assert change.verdict == verdict
    assert change.as_json()["ranges"] == [[*map(float, each)] for each in change.ranges]


def written(path: Path, weight: int) -> list[str]:
    """Produce requests to four partitions over 24 s, of which one gets so many of ten."""
    talk = Talk("shop")
    for number in range(240):
        partition = 1 if number % 10 < weight else number % 4
        parts = [{"index": partition, "records": batch_bytes([(b"k", b"v" * 90)])}]
        answer = {"name": "orders", "partitionResponses": [{"index": partition, "baseOffset": number}]}
        asked = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": parts}]}
        talk.call(0, 9, asked, {"responses": [answer]}, SECOND // 10)
    path.write_bytes(pcap(talk.wire.packets))
    return [str(path)]


def test_a_partition_that_gets_more_than_its_share_is_worse(tmp_path: Path) -> None:
    even, hot = written(tmp_path / "even.pcap", 0), written(tmp_path / "hot.pcap", 8)
    assert verdicts(compare(even, even), "partition-share") == {SAME}
    found = compare(even, hot)
    assert verdicts(found, "partition-share") == {WORSE} and found.is_worse
    assert verdicts(compare(hot, even), "partition-share") == {BETTER}


def answered(path: Path, stalls: int) -> list[str]:
    """Two brokers, asked ten times a second for 80 s: each of the second's answers that this divides is late."""
    talks = [Talk(f"shop-{broker}", 40000 + broker, broker) for broker in (1, 2)]
    if stalls:  # only this side tells node ids
        brokers = [{"nodeId": broker, "host": f"10.0.0.{broker}", "port": 9092} for broker in (1, 2)]
        talks[0].call(3, 9, {"topics": []}, {"brokers": brokers, "controllerId": 1, "topics": []})
    for number in range(1, 800):
        for talk in talks:
            wait = SECOND // 11 if stalls and talk is talks[1] and number % stalls == 0 else 0
            asked = {"groupId": talk.client, "generationId": 1, "memberId": "m"}
            talk.call(12, 3, asked, {}, SECOND // 10 - wait, wait)
    path.write_bytes(pcap(sorted(packet for talk in talks for packet in talk.wire.packets)))
    return [str(path)]


def test_a_broker_that_stalls_now_and_then_is_worse(tmp_path: Path) -> None:
    """One late answer of 25 is in each block, and moves neither its median nor its 95th percentile."""
    well, stalls = answered(tmp_path / "well.pcap", 0), answered(tmp_path / "stalls.pcap", 25)
    found = compare(well, stalls)
    [change] = [each for each in found.changes if each.verdict != SAME]
    assert (change.verdict, change.key) == (WORSE, of(broker="2")) and found.is_worse
    assert change.before == 0 and change.after == pytest.approx(40, abs=2)
    assert change.as_json()["slow_over_ms"] == {"HEARTBEAT": 10.0}


def test_slow_answers_of_all_brokers_follow_from_a_latency() -> None:
    """What slows all of them is told once; of one of them it names the broker."""
    by_name = {each.name: each for each in MEASURES}
    for others, told in ((1.0, {"2"}), (90.0, set())):
        changes = [
            Change(by_name["slow-answers"], of(broker=broker), 1.0, after, ((1, 1), (after, after)), 1e-9, (9, 9))
            for broker, after in (("1", others), ("2", 90.0))
        ]
        latency = Change(by_name["latency"], of(api="FETCH"), 1.0, 9.0, ((1, 1), (9, 9)), 1e-9, (9, 9))
        judge([latency, *changes], lambda each: "")
        assert latency.verdict == WORSE and {each.key[-1] for each in changes if each.verdict == WORSE} == told


def test_an_answer_is_slow_by_what_both_sides_need() -> None:
    bucket = round(STEPS * 5)  # 32 ms
    one, other = {"FETCH": Counter({0: 90, bucket: 4})}, {"FETCH": Counter({bucket: 2, 2 * bucket: 4})}
    assert slow_limits(one, other) == {"FETCH": 32.0}
    assert slow_limits({"FETCH": Counter({bucket: 100})}, {}) == {"FETCH": 96.0}  # three times the median
    assert slow_limits({"FETCH": Counter({0: 100})}, {"PRODUCE": Counter({bucket: 3})}) == {"FETCH": 10.0}


def committed(path: Path, share: float) -> list[str]:
    """A producer that writes ten records a second for 30 s, and a group that commits that share of them each 2 s."""
    writer, reader = Talk("shop"), Talk("billing", 41000)
    for number in range(300):
        parts = [{"index": 0, "records": batch_bytes([(b"k", b"v")])}]
        answer = {"name": "orders", "partitionResponses": [{"index": 0, "baseOffset": number}]}
        asked = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": parts}]}
        writer.call(0, 9, asked, {"responses": [answer]}, SECOND // 10)
    for second in range(0, 30, 2):
        parts = [{"partitionIndex": 0, "committedOffset": int(10 * second * share)}]
        asked = {"groupId": "bills", "memberId": "m", "topics": [{"name": "orders", "partitions": parts}]}
        taken = [{"name": "orders", "partitions": [{"partitionIndex": 0, "errorCode": 0}]}]
        reader.call(8, 7, asked, {"topics": taken}, 2 * SECOND)
    path.write_bytes(pcap(sorted(writer.wire.packets + reader.wire.packets)))
    return [str(path)]


def test_a_group_that_falls_behind_is_worse(tmp_path: Path) -> None:
    well, slow = committed(tmp_path / "well.pcap", 1.0), committed(tmp_path / "slow.pcap", 0.4)
    assert verdicts(compare(well, well), "lag-growth") == {SAME}
    [change] = [each for each in compare(well, slow).changes if each.measure.name == "lag-growth"]
    assert (change.verdict, change.title) == (
        WORSE, "records a second that are written to orders and not committed by bills",
    )  # fmt: skip
    assert change.before == pytest.approx(0, abs=0.5) and change.after == pytest.approx(6, abs=1)
    assert verdicts(compare(slow, well), "lag-growth") == {BETTER}
    assert change.values == (14, 14)  # of 31 blocks; the two or three between commits have one value


def test_what_clients_meet_as_they_start_is_not_new() -> None:
    """Members of the one are asked for their ids, and librdkafka's first version is refused."""
    incidents = DATA.parent.parent / "diagnose" / "data"
    names = {
        each.name
        for name in ("rebalance-storm-shipping", "healthy-growing-group")
        for each in compare([str(incidents / f"{name}.pcap.zst")], [str(DATA / "old.pcap.zst")]).differences
        if each.kind == "error"
    }
    assert "HEARTBEAT: REBALANCE_IN_PROGRESS" in names
    assert not names & {"JOIN_GROUP: MEMBER_ID_REQUIRED", "API_VERSIONS: UNSUPPORTED_VERSION"}


def test_the_time_between_rotated_files_is_in_no_block(tmp_path: Path) -> None:
    """An hour without packets is no hour without requests."""
    whole, halves = [str(DATA / "twin-a.pcap.zst")], rotated(DATA / "twin-a.pcap.zst", tmp_path / "halves", 3600)
    found = compare(whole, halves)
    assert found.block_seconds < 1 and not found.unlike
    for each in found.changes:
        assert each.verdict == SAME and each.values[1] >= each.values[0] - 1, each.title
    assert found.after.overview.time.seconds() == pytest.approx(found.before.overview.time.seconds(), rel=0.02)


def test_a_time_of_both_sides_is_compared_as_if_there_were_no_more() -> None:
    """The last three quarters of each, by the times of its own."""
    before, after = ([str(DATA / f"linger-{ms}.pcap.zst")] for ms in (0, 20))
    whole = made("linger-0", "linger-20")
    ends = [each.overview.time for each in (whole.before, whole.after)]
    since = [(each.first_ns or 0) + (each.last_ns - (each.first_ns or 0)) // 4 for each in ends]
    found = compare(before, after, scopes=(Scope(since=since[0]), Scope(since=since[1])))
    for part, side in ((found.before, whole.before), (found.after, whole.after)):
        assert part.overview.time.seconds() == pytest.approx(side.overview.time.seconds() * 0.75, rel=0.01)
        assert 0.55 < part.overview.exchanges / side.overview.exchanges < 0.9
    of_whole = {(each.measure.name, each.key): each for each in whole.changes}
    steady = [each for each in found.changes if each.measure.name in ("batching", "written", "rate")]
    for each in steady:  # rates are of the time, not of the capture
        if of_whole[each.measure.name, each.key].before > 1:
            assert each.before == pytest.approx(of_whole[each.measure.name, each.key].before, rel=0.4), each.title
    assert {each.measure.name for each in steady} == {"batching", "written", "rate"}


def test_a_time_that_one_side_has_not_is_told() -> None:
    path = str(DATA / "twin-a.pcap.zst")
    found = compare([path], [path], scopes=(Scope(since=2 * 10**18), ALL))
    assert not found.compared and found.unlike[0].startswith("before: no packet since 2033-")


def test_captures_of_two_clusters_are_compared(tmp_path: Path) -> None:
    """Each cluster is judged alone; what both sides are compared by is of all."""
    here, there = DATA.parent.parent / "diagnose" / "data" / "duplicates-seats.pcap.zst", tmp_path / "there.pcap"
    [cluster] = clusters(here)
    there.write_bytes(pcap([*elsewhere(packets_of(here), cluster)]))
    both = [str(here), str(there)]
    found = compare(both, both)
    assert found.compared and {each.verdict for each in found.changes} == {SAME} and not found.differences
