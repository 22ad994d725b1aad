"""Batches that a client may write, at the offsets at which a capture shows them; and a topic filled with them."""

from __future__ import annotations

import asyncio

import pytest

from kcli.broker import Broker
from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.broker.rebuilt.captured_topics import BatchSpool, SeenPartition, SpooledBatch
from kcli.broker.rebuilt.record_spans import CutBatch
from kcli.broker.storage.incoming import stored
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from kcli.records import build_batch, build_marker, build_message_set, scan
from kcli.replay.filling import BATCH, Filled, fill_all, pieces, reachable, writable
from tests.replay.traffic.test_replaying import logs

ROWS = [(1_000 + at, b"k", b"v%d" % at, ()) for at in range(3)]


def partition(*batches: bytes) -> tuple[SeenPartition, BatchSpool]:
    seen, spool = SeenPartition(), BatchSpool()
    for each in batches:
        spool.keep(seen, [(one, bytes(one.data)) for one in stored(each)])
    return seen, spool


def test_what_was_seen_goes_to_its_offsets_and_gaps_are_made_up() -> None:
    whole = build_batch(ROWS, 5, codec="gzip")
    seen, spool = partition(whole, build_batch(ROWS, 10))
    made = list(pieces(seen, spool.read, 14))
    assert [(each.records, each.made_up) for each in made] == [(5, 5), (3, 0), (2, 2), (3, 0), (1, 1)]
    assert made[1].data == bytes(8) + whole[8:]
    assert [(each.records, each.made_up) for each in pieces(seen, spool.read, 10)] == [(5, 5), (3, 0), (2, 2)]
    spool.close()


def test_what_was_cut_is_made_up_in_its_size() -> None:
    seen = SeenPartition(cut={0: CutBatch(0, 9, 1_061, 0)})
    (made,) = pieces(seen, lambda _: b"", 10)
    assert made.records == 10
    assert 1_000 <= len(made.data) <= 1_100


def test_a_wide_gap_is_made_up_in_several_batches() -> None:
    made = list(pieces(SeenPartition(), lambda _: b"", 2 * BATCH + 1))
    assert [each.records for each in made] == [BATCH, BATCH, 1]


def test_a_client_writes_no_transaction_no_marker_and_no_old_message() -> None:
    assert writable(build_batch(ROWS, 4), 4, 6) == (build_batch(ROWS), 3, 0)
    transactional = build_batch(
        ROWS, 4, codec="lz4", producer_id=5, producer_epoch=0, base_sequence=0, transactional=True
    )
    for data in (transactional, build_message_set([row[:3] for row in ROWS], 4)):
        made = writable(data, 4, 6)
        (batch,) = scan(made.data)
        assert (batch.magic, batch.producer_id, batch.is_transactional, made.made_up) == (2, -1, False, 0)
        assert [(row.timestamp, row.key, row.value, row.headers) for row in batch.records()] == ROWS
    assert writable(build_marker(True, 9, 7, 5, 0, 0), 7, 7).made_up == 1
    gaps = writable(build_batch(ROWS, 4, offsets=[4, 6, 9]), 4, 9)
    assert (gaps.records, gaps.made_up) == (6, 3)


class History:
    """As much of a history as filling looks at."""

    def __init__(self, seen: SeenPartition, spool: BatchSpool) -> None:
        from kcli.broker.rebuilt.captured_topics import SeenTopic

        self.topics = {"t": SeenTopic("t", partitions={0: seen})}
        self.spool, self.close = spool, spool.close


def test_an_empty_topic_is_filled_and_a_full_one_is_left() -> None:
    async def work() -> tuple[list[Filled], dict[str, list[bytes]]]:
        done: list[Filled] = []
        async with Broker() as there:
            config = ClientConfig({"bootstrap.servers": there.bootstrap})
            for _ in range(2):
                history = History(*partition(build_batch(ROWS, 2)))
                done.append(await fill_all(config, history, lambda _: "live", {"live": 2}))  # type: ignore[arg-type]
            return done, {name: list(log.values()) for name, log in (await logs(config)).items()}

    done, found = asyncio.run(work())
    assert done == [Filled(1, 5, 2, 0), Filled(0, 0, 0, 1)]
    assert found == {"live[0]": [b"", b"", b"v0", b"v1", b"v2"], "live[1]": []}
    assert "2 of them made up" in str(done[0])
    assert "1 partition left" in str(done[1])


def test_what_comes_behind_an_offset_that_is_too_far_is_left() -> None:
    seen, spool = partition(build_batch(ROWS, 2), build_batch(ROWS, 1 << 40))
    assert reachable(seen, seen.end) == 5
    assert [reachable(seen, end) for end in (4, 9)] == [4, 9]
    spool.close()


def test_an_offset_that_is_too_far_is_not_made_up() -> None:
    async def work() -> Filled:
        async with Broker() as there:
            config = ClientConfig({"bootstrap.servers": there.bootstrap})
            history = History(*partition(build_batch(ROWS, 1 << 40)))
            return await fill_all(config, history, lambda name: name, {"t": 1})  # type: ignore[arg-type]

    assert asyncio.run(work()) == Filled(left=1)


def test_a_cluster_that_is_not_there_gets_nothing_and_the_history_is_closed() -> None:
    history = CaptureHistory()
    config = ClientConfig({"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "200"})
    with pytest.raises(NetworkError):
        asyncio.run(fill_all(config, history, str, {"t": 1}))
    with pytest.raises(ValueError, match="closed file"):
        history.spool.read(SpooledBatch(0, 0, 2, 0, 1, True))
