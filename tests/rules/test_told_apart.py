"""Causes that look like others, or like nothing at all."""

from pathlib import Path

import pytest

from kcli.diagnose import diagnose
from tests.capture.messages import request
from tests.capture.wires import ACK, FIN, SYN, Wire, pcap
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, beat_and_write, found, produced, rounds, told
from tests.rules.test_sharing import later


def script(number: int, *, topic: str, error: int) -> Wire:
    """A connection that asks for one topic and is over."""
    made = later(Talk("cron", 42000 + number), number * SECOND // 2)
    told = {"errorCode": error, "name": topic, "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "partitions": []}
    made.call(3, 12, {"topics": [{"name": topic}]}, {"brokers": [], "topics": [told]}, SECOND // 100)
    made.wire.add(0, FIN)
    return made.wire


@pytest.mark.parametrize("own", [True, False])
def test_a_missing_topic_explains_new_connections_that_ask_for_it(own: bool, tmp_path: Path) -> None:
    """A process that asks for what is not there may share its client id with a script that starts for each line."""
    asker = Talk("cron", 41000)
    for _ in range(12):
        missing = {"errorCode": 3, "name": "nosuch", "topicId": "AAAAAAAAAAAAAAAAAAAAAA", "partitions": []}
        asker.call(3, 12, {"topics": [{"name": "nosuch"}]}, {"brokers": [], "topics": [missing]})
    scripts = [script(each, topic="nosuch" if own else "orders", error=3 if own else 0) for each in range(20)]
    causes = {each.finding for each in found(tmp_path, asker, *scripts)}
    assert causes == ({"unknown-topic"} if own else {"unknown-topic", "connection-churn"})


@pytest.mark.parametrize("answered", [True, False])
def test_an_address_that_never_answers_is_asked_about_once(answered: bool, tmp_path: Path) -> None:
    """Who waits for a connection does not ask Metadata again."""
    asker = Talk("van", 41000)
    brokers = [{"nodeId": 1, "host": "10.0.0.3", "port": 9092, "rack": None}]
    asker.call(3, 12, {"topics": []}, {"brokers": brokers, "topics": []})
    tried = [
        Wire(client=("10.0.0.1", 46000), server=("10.0.0.3", 9092), seq=(46000, 0), start=asker.wire.now + at * SECOND)
        for at in (0, 1, 3, 7)
    ]
    for again in tried:
        again.add(0, SYN, ack=0)
    if answered:
        others = Talk("others", 43000, broker=3)
        for _ in range(16):
            others.call(3, 12, {"topics": []}, {"brokers": [], "topics": []})
        assert not found(tmp_path, asker, *tried, others), "one connection is lost to an address that takes others"
    else:
        finding = told(found(tmp_path, asker, *tried), "wrong-advertised-listener", client=["van"])
        assert "no attempt to connect there was answered (1)" in finding.text


@pytest.mark.parametrize("isolation", [0, 1])
def test_who_reads_what_is_committed_does_not_fall_behind_an_open_transaction(isolation: int, tmp_path: Path) -> None:
    """The last stable offset hardly moves, and the end goes on."""
    reader = Talk("reader", 41000)
    for at in range(24):
        asked = {
            "maxWaitMs": 500, "minBytes": 1, "isolationLevel": isolation, "sessionEpoch": -1,
            "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": 40}]}],
        }  # fmt: skip
        part = {"partitionIndex": 0, "highWatermark": 40 + 30 * at, "lastStableOffset": 40 + at}
        reader.call(1, 11, asked, {"responses": [{"topic": "orders", "partitions": [part]}]})
        if at % 4 == 0:
            parts = [{"partitionIndex": 0, "committedOffset": 20 + at}]
            commit = {"groupId": "g", "generationIdOrMemberEpoch": 1, "memberId": "reader-1",
                      "topics": [{"name": "orders", "partitions": parts}]}  # fmt: skip
            taken = {"topics": [{"name": "orders", "partitions": [{"partitionIndex": 0, "errorCode": 0}]}]}
            reader.call(8, 7, commit, taken)
    causes = {each.finding for each in found(tmp_path, reader)}
    assert causes == (set() if isolation else {"lagging-consumer"})


def member(stops: list[int], goes_on: int) -> list[Talk]:
    """A member that beats, fetches for as many seconds before and behind each stop, and a producer that goes on."""
    reader, beats, source = Talk("jam", 50000), Talk("jam", 50001), Talk("source", 50002)
    asked = [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": 1}]}]
    seconds = goes_on
    for stop in [*stops, 0]:
        for _ in range(2 * goes_on):
            part = {"partitionIndex": 0, "highWatermark": 99}
            answer = {"responses": [{"topic": "orders", "partitions": [part]}]}
            reader.call(1, 11, {"maxWaitMs": 500, "minBytes": 1, "sessionEpoch": -1, "topics": asked}, answer)
        reader.wire.now += stop * SECOND
        seconds += stop + goes_on
    beat_and_write(beats, source, "jam-1", seconds - goes_on)
    return [reader, beats, source]


def test_a_member_may_be_stuck_twice_and_one_that_polls_seldom_is_not(tmp_path: Path) -> None:
    finding = told(found(tmp_path, *member([14, 13], goes_on=12)), "consumer-stuck", client="jam", group="g")
    assert finding.evidence["resumed"] and finding.severity == "warning"
    assert not found(tmp_path, *member([13, 13], goes_on=1)), "a batch each 13 s is its way of work"


def leaving(talk: Talk, member_id: str) -> Talk:
    left = {"groupId": "g", "members": [{"memberId": member_id, "groupInstanceId": None, "reason": ""}]}
    return talk.call(13, 5, left, {"errorCode": 0, "members": []})


@pytest.mark.parametrize("flaps", [True, False])
def test_members_that_come_and_go_together_cost_a_round_each_time(flaps: bool, tmp_path: Path) -> None:
    """All start at once and end at once; one of another id comes and goes."""
    last = 9 if flaps else 3
    staying = [rounds(name, 40000 + at, [*range(1, last + 1)], "") for at, name in enumerate("abcd")]
    flapping = []
    for number in range(last // 2):
        talk = later(Talk("flap", 41000 + number), 4 * number * SECOND + SECOND)
        member_id = f"flap-{number}"
        asked = {
            "groupId": "g", "sessionTimeoutMs": 45000, "rebalanceTimeoutMs": 60000, "memberId": member_id,
            "protocolType": "consumer", "protocols": [{"name": "range", "metadata": b""}],
        }  # fmt: skip
        answer = {
            "generationId": 2 * number + 2, "protocolName": "range", "protocolType": "consumer", "leader": "a",
            "memberId": member_id, "members": [],
        }  # fmt: skip
        flapping.append(leaving(talk.call(11, 9, asked, answer, SECOND), member_id))
    findings = found(tmp_path, *(leaving(each, f"{each.client}-1") for each in staying), *flapping)
    if flaps:
        assert told(findings, "rebalance-storm", group="g").evidence["most_leaves"] == 4
    else:
        assert not findings


def filling(
    partitions: list[int],
    size: int = 90,
    port: int = 41000,
    client: str = "writer",
    topic: str = "orders",
    error: int = 0,
) -> Talk:
    """A producer that sends a record to these partitions in turn, 20 a second."""
    talk = Talk(client, port)
    for number in range(280):
        at = partitions[number % len(partitions)]
        asked = {"acks": 1, "timeoutMs": 1000, "topicData": [
            {"name": topic, "partitionData": [{"index": at, "records": batch_bytes([(b"k", b"v" * size)])}]},
        ]}  # fmt: skip
        part = {"index": at, "errorCode": error, "baseOffset": -1 if error else number}
        talk.call(0, 9, asked, {"responses": [{"name": topic, "partitionResponses": [part]}]}, SECOND // 20)
    return talk


@pytest.mark.parametrize(("hot", "told_of"), [(7, False), (8, True)])
def test_of_three_partitions_one_is_hot_with_three_quarters(hot: int, told_of: bool, tmp_path: Path) -> None:
    findings = found(tmp_path, filling([0] * hot + [1, 2, 1] + [2] * (8 - hot)))
    assert [each.subject.get("partition") for each in findings] == ["orders-0"] * told_of


def test_what_is_refused_again_and_again_is_no_hot_partition(tmp_path: Path) -> None:
    refused = filling([0], 900, 41001, error=45)
    findings = found(tmp_path, filling([0, 1, 2]), refused)
    assert "hot-partition" not in {each.finding for each in findings}


@pytest.mark.parametrize("case", ["all", "few bytes", "one partition", "a producer each"])
def test_a_key_that_all_records_have_leaves_the_other_partitions_empty(case: str, tmp_path: Path) -> None:
    sent = [filling([0], 90 if case == "few bytes" else 2000)]
    if case == "a producer each":
        sent.append(filling([1], 2000, 41001))
    findings = found(tmp_path, *sent, asks_for_leaders([2] if case == "one partition" else [2, 2, 2]))
    assert [each.subject.get("partition") for each in findings] == ["orders-0"] * (case == "all")


@pytest.mark.parametrize("suffix", ["repartition", "changelog", "report"])
@pytest.mark.parametrize("constant", [True, False])
def test_one_key_is_the_design_of_an_application_that_counts_all(suffix: str, constant: bool, tmp_path: Path) -> None:
    """Of Kafka Streams, in its internal topics; a key that only most records have may be nobody's intention."""
    topic, client = f"bills-total-{suffix}", "bills-7-StreamThread-1-producer"
    sent = filling([0] if constant else [0] * 8 + [1, 2, 1], 2000, client=client, topic=topic)
    path = tmp_path / "streams.pcap"
    path.write_bytes(pcap(sorted([*sent.wire.packets, *asks_for_leaders([2, 2, 2], topic=topic).wire.packets])))
    [finding] = [each for each in diagnose([str(path)]).findings if each.finding == "hot-partition"]
    is_internal = suffix != "report"
    assert finding.severity == ("info" if is_internal and constant else "warning")
    assert ("stream thread" in finding.advice) == is_internal
    assert ("all records under one key" in finding.advice) == (is_internal and constant)


def asks_for_leaders(leaders: list[int], broker: int = 2, port: int = 41500, topic: str = "orders") -> Talk:
    """A client to which a broker says who leads the partitions of a topic."""
    brokers = [{"nodeId": node, "host": f"10.0.0.{node}", "port": 9092} for node in sorted({*leaders})]
    parts = [{"partitionIndex": at, "leaderId": node, "replicaNodes": [node], "isrNodes": [node]}
             for at, node in enumerate(leaders)]  # fmt: skip
    answer = {"brokers": brokers, "controllerId": broker, "clusterId": f"cluster of {broker}",
              "topics": [{"name": topic, "partitions": parts}]}  # fmt: skip
    return Talk("looker", port, broker).call(3, 8, {"topics": [{"name": topic}]}, answer)


def test_a_capture_without_a_leader_does_not_tell_how_even_its_topic_is(tmp_path: Path) -> None:
    """That is told. What a leader of the same topic's name in another cluster leads is no matter."""
    hot = filling([0] * 8 + [1, 2, 1])
    partial = tmp_path / "partial.pcap"
    partial.write_bytes(pcap(sorted([*hot.wire.packets, *asks_for_leaders([2, 2, 2, 5]).wire.packets])))
    made = diagnose([str(partial)])
    assert not [each for each in made.findings if each.finding == "hot-partition"]
    [unjudged] = [each for each in made.unjudged if "evenly" in each.what]
    assert "writer writes to orders: no connection to broker 5" in unjudged.what and "ports" in unjudged.remedy
    elsewhere = asks_for_leaders([6, 7], 6, 41600)
    findings = found(tmp_path, hot, asks_for_leaders([2, 2, 2]), elsewhere)
    assert [each.subject.get("partition") for each in findings] == ["orders-0"]


@pytest.mark.parametrize("hot", [True, False])
def test_less_than_half_of_the_bytes_is_much_where_others_get_little(hot: bool, tmp_path: Path) -> None:
    """Of eight partitions the one gets 45 in 100, the others 8 each; or two 40 and 30, and one the rest."""
    rest = [[2 + cycle] * 11 for cycle in range(7)] if hot else [[2] * 6 + [4] * 6] * 7
    findings = found(tmp_path, filling([place for each in rest for place in [1] * (20 - len(each)) + each]))
    if hot:
        assert told(findings, "hot-partition", partition="orders-1", client="writer").evidence["share"] == 0.45
    else:
        assert not findings


@pytest.mark.parametrize("alone", [True, False])
def test_a_job_that_starts_again_and_again_disturbs_nobody(alone: bool, tmp_path: Path) -> None:
    """Each run is a new member, which leaves at its end; beside another member it makes a storm."""
    runs = []
    for run in range(7):
        joined = rounds("job", 41000 + run, [2 * run + 1], "", member=f"job-{run}")
        runs.append(leaving(later(joined, 6 * run * SECOND), f"job-{run}"))
    beside = rounds("stays", 40000, [*range(1, 15)], "")
    findings = found(tmp_path, *runs, *([] if alone else [beside]))
    assert [each.finding for each in findings] == ([] if alone else ["rebalance-storm"])


@pytest.mark.parametrize("ends", [True, False])
def test_a_process_that_ends_while_it_joins_has_no_short_timeout(ends: bool, tmp_path: Path) -> None:
    """It waits for the other members; its idle connection is closed with it, or lives on."""
    runs = []
    for run in range(4):
        joins, idle = (produced(Talk("cron", 42000 + 2 * run + side), 1, 0) for side in (0, 1))
        joins.wire.client(request(11, 5, 2, {"groupId": "g"}, "cron")).add(1, ACK)
        for talk in (joins, idle) if ends else (joins,):
            talk.wire.now = joins.wire.now + (talk is joins) * SECOND
            talk.wire.add(0, FIN)
        runs += [later(talk, 4 * run * SECOND) for talk in (joins, idle)]
    findings = {each.finding for each in found(tmp_path, produced(Talk("others"), 40, 0), *runs)}
    assert ("request-timeout-too-short" in findings) is not ends


@pytest.mark.parametrize("again", [True, False])
def test_leaders_that_move_while_a_client_asks_the_old_one_all_the_time(again: bool, tmp_path: Path) -> None:
    """Its errors make two waves; of a reassignment, which moves each partition once, Metadata shows no more."""
    moves = [[2, 3], [3, 3], [3, 1], [1, 1] if again else [3, 1]]
    told_of = [later(asks_for_leaders(each, port=41500 + at), 3 * at * SECOND) for at, each in enumerate(moves)]
    asks = produced(produced(produced(Talk(), 12, 6), 4, 0), 12, 6)
    assert [each.finding for each in found(tmp_path, asks, *told_of)] == ["leader-moves" if again else "errors-again"]
