"""A broker rebuilt from a capture: from exchanges in memory, so that each rule has its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.broker.history import History
from kcli.broker.rebuild import RebuiltBroker, rebuild
from kcli.errors import InputError
from kcli.records import scan
from kcli.sessions.trace import FetchExchange
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


def fetched(records: bytes, high: int, *, start: int = 0, partition: int = 0) -> dict[str, object]:
    row: dict[str, object] = {
        "partitionIndex": partition,
        "errorCode": 0,
        "highWatermark": high,
        "lastStableOffset": high,
    }
    row |= {"logStartOffset": start, "records": records}
    return {"errorCode": 0, "sessionId": 5, "responses": [{"topicId": TOPIC_ID, "partitions": [row]}]}


def history() -> History:
    """Seen: offsets 4-5 fetched, 6 produced, the log ends at 9 and began at 2."""
    made = History()
    made.take_metadata({}, METADATA)
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


def test_staged_it_goes_on_as_the_capture_did() -> None:
    async def work() -> None:
        broker = RebuiltBroker(history(), staged=True)
        async with talking(broker) as talk:
            got = parts(await talk.fetch(12, ("t", 0, 4)))["t", 0]
            assert (got["highWatermark"], len(list(scan(got["records"])))) == (6, 1)
            header = {"requestApiVersion": 15, "correlationId": 1, "clientId": "c"}
            seen = FetchExchange("s", "s-c", header, 1, 2).read(fetch_body(15, session=(5, 1)), fetched(b"", 9))
            broker.reveal(seen)
            got = parts(await talk.fetch(12, ("t", 0, 4)))["t", 0]
            assert (got["highWatermark"], len(list(scan(got["records"])))) == (9, 3)

    run(work())


def test_a_newer_magic_counts_where_both_were_seen() -> None:
    from kcli.records import build_message_set

    async def work() -> None:
        made = History()
        made.take_metadata({}, METADATA)
        made.take_fetch({}, fetched(build_message_set([(1, None, b"old"), (1, None, b"old")], 0), 2))
        made.take_fetch({}, fetched(batch("new", "new"), 2))
        made.settle()
        async with talking(RebuiltBroker(made)) as talk:
            got = parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]["records"]
            assert [(each.magic, each.base_offset, each.last_offset) for each in scan(got)] == [(2, 0, 1)]

    run(work())


def test_nobody_had_a_session() -> None:
    async def work() -> None:
        made = History()
        made.take_metadata({}, METADATA)
        for _ in range(2):
            made.take_fetch({"sessionEpoch": 0}, fetched(b"", 0) | {"sessionId": 0})
        made.settle()
        async with talking(RebuiltBroker(made)) as talk:
            assert (await talk.fetch(12, ("t", 0, 0), session=(0, 0)))["sessionId"] == 0

    run(work())


def test_an_id_without_a_name_is_its_own() -> None:
    async def work() -> None:
        made = History()
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
    samples = Path(__file__).parents[2] / "samples"
    captures = sorted(samples.rglob("*.pcap"))
    if not captures:
        pytest.skip("no sample captures here")
    for path in captures[:3]:
        broker = rebuild([str(path)])

        async def work(broker: RebuiltBroker = broker) -> None:
            async with broker:
                assert broker.bootstrap

        run(work())
