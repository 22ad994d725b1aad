"""A broker rebuilt from a capture: from exchanges in memory, so that each rule has its own."""

import asyncio
from pathlib import Path

import pytest

from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.broker.rebuilt.captured_topics import SeenPartition, SpooledBatch
from kcli.broker.rebuilt.rebuild import RebuiltBroker, rebuild
from kcli.broker.rebuilt.session_capacity import FetchKey, SessionCapacity
from kcli.errors import InputError
from kcli.records import scan
from kcli.topic_names import lawful_name
from tests.broker.talk import batch, fetch_body, parts, produced, run, talking

TOPIC_ID = "Zm9vYmFyYmF6cXV4MTIzNA"
METADATA = {
    "brokers": [{"nodeId": 7}, {"nodeId": 8}],
    "topics": [
        {
            "errorCode": 0,
            "name": "t",
            "topicId": TOPIC_ID,
            "partitions": [
                {"partitionIndex": 0, "leaderId": 7, "leaderEpoch": 3},
                {"partitionIndex": 1, "leaderId": 8, "leaderEpoch": 5},
            ],
        }
    ],
}


def know_cluster(history: CaptureHistory) -> None:
    history.addresses.take(3, {}, METADATA)
    history.take_metadata({}, METADATA)


def fetched(records: bytes, high: int, *, start: int = 0, partition: int = 0) -> dict[str, object]:
    row: dict[str, object] = {
        "partitionIndex": partition,
        "errorCode": 0,
        "highWatermark": high,
        "lastStableOffset": high,
    }
    row |= {"logStartOffset": start, "records": records}
    return {"errorCode": 0, "sessionId": 5, "responses": [{"topicId": TOPIC_ID, "partitions": [row]}]}


def history() -> CaptureHistory:
    """Seen: offsets 4-5 fetched, 6 produced, the log ends at 9 and began at 2."""
    made = CaptureHistory()
    know_cluster(made)
    made.take_fetch({"sessionEpoch": 0}, fetched(batch("a", "b", base_offset=4, partition_leader_epoch=3), 6, start=2))
    request = {"topicData": [produced("t", 0, batch("c"))]}
    answer = {"name": "t", "partitionResponses": [{"index": 0, "errorCode": 0, "baseOffset": 6}]}
    made.take_produce(request, {"responses": [answer]})
    made.take_fetch({"sessionEpoch": 1}, fetched(b"", 9, start=2))
    made.settle()
    return made


def test_topics_leaders_and_records_are_as_they_were() -> None:
    async def work() -> None:
        async with talking(RebuiltBroker(history())) as talk:
            topic = talk.broker.topics.by_name["t"]
            assert topic.id == TOPIC_ID
            assert [(each.leader, each.epoch) for each in topic.partitions] == [(7, 3), (8, 5)]
            assert (topic.partitions[0].start_offset, topic.partitions[0].end_offset) == (2, 9)
            got = parts(await talk.fetch(12, ("t", 0, 4)))["t", 0]
            records = [(one.offset, one.value) for each in scan(got["records"]) for one in each.records()]
            assert records == [(4, b"a"), (5, b"b"), (6, b"c")]
            assert (await talk.fetch(12, ("t", 0, 8)))["errorCode"] == 0

    run(work())


def test_a_newer_magic_counts_where_both_were_seen() -> None:
    from kcli.records import build_message_set

    async def work() -> None:
        made = CaptureHistory()
        know_cluster(made)
        made.take_fetch({}, fetched(build_message_set([(1, None, b"old"), (1, None, b"old")], 0), 2))
        made.take_fetch({}, fetched(batch("new", "new"), 2))
        made.settle()
        async with talking(RebuiltBroker(made)) as talk:
            got = parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]["records"]
            assert [(each.magic, each.base_offset, each.last_offset) for each in scan(got)] == [(2, 0, 1)]

    run(work())


def test_the_last_leader_epoch_counts_and_who_was_told_of_it() -> None:
    made = CaptureHistory()
    know_cluster(made)
    hint = {"currentLeader": {"leaderId": 8, "leaderEpoch": 4}}
    moved = fetched(b"", -1)
    moved["responses"][0]["partitions"][0] |= {"errorCode": 74, **hint}  # type: ignore[index]
    made.take_fetch({}, moved)
    refused = {"name": "t", "partitionResponses": [{"index": 1, "errorCode": 6, "baseOffset": -1, **hint}]}
    made.take_produce({"topicData": [produced("t", 1, batch("c"))]}, {"responses": [refused]})
    made.settle()
    partitions = made.topics["t"].partitions
    assert [(each.leader, each.epoch) for each in partitions.values()] == [(8, 4), (8, 5)]
    assert partitions[1].leaders == {4: 8, 5: 8}
    made.close()


def test_leader_epochs_are_kept_in_order_in_whatever_order_they_are_seen() -> None:
    seen = SeenPartition(leaders={7: 1, 3: 2})
    for epoch, node in ((5, 1), (9, 2), (5, 3), (-1, 3), (11, -1)):
        seen.lead(epoch, node)
    assert seen.epochs == sorted(seen.leaders) == [3, 5, 7, 9]
    assert (seen.first_epoch, seen.epoch, seen.leader, seen.leaders[5]) == (3, 9, 2, 3)
    assert (SeenPartition().first_epoch, SeenPartition().epoch, SeenPartition().leader) == (0, 0, -1)


def test_where_a_fetcher_stands_there_is_a_log() -> None:
    made = CaptureHistory()
    know_cluster(made)
    made.take_fetch(fetch_body(15, (TOPIC_ID, 0, 7), (TOPIC_ID, 1, 5)), {"errorCode": 0, "responses": []})
    out_of_range = fetched(b"", -1)
    out_of_range["responses"][0]["partitions"][0]["errorCode"] = 1  # type: ignore[index]
    made.take_fetch(fetch_body(15, (TOPIC_ID, 0, 99)), out_of_range)
    made.settle()
    assert [each.end for each in made.topics["t"].partitions.values()] == [7, 5]
    made.close()


def test_a_set_of_messages_is_one_though_old_clients_got_them_one_by_one() -> None:
    from kcli.records import build_message_set

    wrapped = build_message_set([(1, None, b"a"), (1, None, b"b"), (1, None, b"c")], 0, magic=1, codec="gzip")
    single = build_message_set([(1, None, b"a"), (1, None, b"b"), (1, None, b"c")], 0, magic=0)
    made = CaptureHistory()
    know_cluster(made)
    made.take_fetch({}, fetched(single, 3), 1)
    made.take_fetch({}, fetched(wrapped, 3), 2)
    made.settle()
    (kept,) = made.topics["t"].partitions[0].in_order()
    assert (kept.first, kept.last, kept.magic, kept.certain) == (0, 2, 1, False)
    assert made.uncertain() == ["t[0]"]
    made.close()


def test_what_a_fetch_that_knows_all_magics_gets_is_as_it_was_stored() -> None:
    from kcli.records import build_message_set

    messages = [(1, None, b"a"), (1, None, b"b")]
    made = CaptureHistory()
    know_cluster(made)
    made.take_fetch({}, fetched(build_message_set(messages, 0, magic=1, codec="gzip"), 2), 2)
    made.take_fetch({}, fetched(build_message_set(messages, 0, magic=0), 2))
    made.settle()
    assert [each.magic for each in made.topics["t"].partitions[0].in_order()] == [0, 0]
    assert made.uncertain() == []
    made.close()


def test_as_many_sessions_as_there_was_room_for() -> None:
    made = CaptureHistory()
    know_cluster(made)
    slots = made.sessions.by_server.setdefault("s", SessionCapacity())
    slots.take(FetchKey("s-c", 1, 1), 2, {"sessionId": 0, "sessionEpoch": 0}, fetched(b"", 0) | {"sessionId": 0})
    assert RebuiltBroker(made).configs.int("max.incremental.fetch.session.cache.slots") == 0
    made.close()


def test_an_id_without_a_name_is_its_own() -> None:
    async def work() -> None:
        made = CaptureHistory()
        made.take_fetch({}, fetched(batch("a"), 1))
        made.settle()
        async with talking(RebuiltBroker(made)) as talk:
            assert parts(await talk.fetch(15, (TOPIC_ID, 0, 0)))[TOPIC_ID, 0]["highWatermark"] == 1
            assert talk.broker.topics.by_name[TOPIC_ID].id == TOPIC_ID

    run(work())


def test_a_file_that_is_no_capture(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(b"GIF89a" * 10)
    with pytest.raises(InputError, match="not a capture"):
        rebuild([str(path)])


def test_a_real_capture() -> None:
    samples = Path(__file__).parents[3] / "samples"
    captures = sorted(samples.rglob("*.pcap"))
    if not captures:
        pytest.skip("no sample captures here")
    for path in captures[:3]:
        broker = rebuild([str(path)])

        async def work(broker: RebuiltBroker = broker) -> None:
            async with broker:
                assert broker.bootstrap

        run(work())


def topic_row(name: str, *partitions: int) -> dict[str, object]:
    listed = [{"partitionIndex": index, "leaderId": 7, "leaderEpoch": 0} for index in partitions]
    return {"errorCode": 0, "name": name, "partitions": listed}


UNLAWFUL = [
    "../../above",
    "a/../../b",
    "/elsewhere",
    "nul\0",
    ".",
    "..",
    "x" * 300,
    "back\\slash",
]


def test_no_name_in_a_capture_leaves_the_folder(tmp_path: Path) -> None:
    """What it says of such a topic is kept under another name, and told in one line; the others are as they were."""
    made = history()
    seen = [*UNLAWFUL, "__cluster_metadata"]
    listed = [topic_row(name, 0) for name in seen]
    made.take_metadata({}, {"topics": listed})
    for name in seen:
        row = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 1, "records": batch("of an attacker")}
        made.take_fetch({"sessionEpoch": 0}, {"responses": [{"topic": name, "partitions": [row]}]}, 4)
    made.settle()
    data, notes = tmp_path / "a" / "data", list[str]()

    async def work() -> None:
        async with RebuiltBroker(made, data=data, note=notes.append) as broker:
            assert sorted(broker.topics.by_name) == sorted(["t", *map(lawful_name, UNLAWFUL)])
            assert {len(each.partitions) for each in broker.topics if each.name != "t"} == {1}
            kept = broker.topics.find((lawful_name("nul\0"), 0))
            assert kept is not None
            assert kept.end_offset == 1

    run(work())
    assert len(notes) == 1
    assert "'../../above' as _.._above-" in notes[0]
    assert "5 more" in notes[0]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["data"]


@pytest.mark.parametrize("end", [1 << 31, 1 << 40, (1 << 63) - 1])
def test_a_log_that_claims_to_be_endless(end: int) -> None:
    """Its end costs as little as any other, and records before it can be read."""
    made = history()
    made.take_fetch({"sessionEpoch": 1}, fetched(b"", end, start=2))
    made.settle()

    async def work() -> None:
        async with talking(RebuiltBroker(made)) as talk:
            log = talk.broker.topics.by_name["t"].partitions[0].log
            assert log is not None
            assert (log.start_offset, log.end_offset) == (2, end)
            assert len(log.segments) < 10
            row = parts(await talk.fetch(11, ("t", 0, 4)))["t", 0]
            assert row["highWatermark"] == end
            first = next(iter(scan(row["records"])))
            assert [record.value for record in first.records()] == [b"a", b"b"]

    run(work())


def test_batches_and_partitions_that_can_not_be() -> None:
    made = history()
    for base in (-5, (1 << 63) - 2):
        made.take_fetch({"sessionEpoch": 1}, fetched(batch("a", "b", base_offset=base), 9))
    made.take_metadata({}, {"topics": [topic_row("wide", 0, 3, (1 << 31) - 1, -1)]})
    made.settle()
    notes: list[str] = []

    async def work() -> None:
        async with RebuiltBroker(made, note=notes.append) as broker:
            assert broker.topics.by_name["t"].partitions[0].end_offset == 9
            assert len(broker.topics.by_name["wide"].partitions) == 4

    run(work())
    assert notes == ["topic wide: partitions -1, 2147483647 are left out"]


def test_a_topic_that_was_made_again_is_another_one() -> None:
    made, other = CaptureHistory(), "AAAAAAAAAAAAAAAAAAAAbQ"
    know_cluster(made)
    again = {"brokers": [], "topics": [METADATA["topics"][0] | {"topicId": other, "partitions": []}]}  # type: ignore[index]
    made.take_fetch({}, fetched(batch("a"), 1))
    made.take_metadata({}, again)
    # A broker that does not know of it yet still names the first.
    made.take_metadata({}, METADATA)
    later = fetched(batch("b", "c"), 2)
    later["responses"][0]["topicId"] = other  # type: ignore[index]
    made.take_fetch({}, later)
    made.settle()

    async def work() -> None:
        async with talking(RebuiltBroker(made)) as talk:
            assert {topic.id: topic.partitions[0].end_offset for topic in talk.broker.topics} == {TOPIC_ID: 1, other: 2}
            assert talk.broker.topics.by_name["t"].id == other
            assert made.find((TOPIC_ID, 0)).leaders == {3: 7}

    run(work())


def test_a_broker_that_does_not_start_leaves_no_file_open(tmp_path: Path) -> None:
    there = tmp_path / "file"
    there.touch()
    history = CaptureHistory()
    with pytest.raises(OSError, match="file"):
        asyncio.run(RebuiltBroker(history, data=there).start())
    with pytest.raises(ValueError, match="closed file"):
        history.spool.read(SpooledBatch(0, 0, 2, 0, 1, True))
