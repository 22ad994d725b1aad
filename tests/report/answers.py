"""Answers of the report over captures, and a capture whose names are meant to hurt."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kcli.diagnose.diagnosis import read_facts
from kcli.diagnose.store import FactStore
from kcli.pipeline.rows.row_source import RowSource
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import TableWriter
from kcli.records.builder import build_batch
from kcli.report.asking import Answers
from kcli.report.capture_tables import PAGE, ask_captures
from tests.capture.messages import produce, request, response
from tests.capture.wires import MILLISECOND, START, Packet, Wire, pcap

__all__ = ["HOSTILE", "answers_of", "busy_capture", "hostile_capture", "written"]

HOSTILE = (
    "<script>window.broken = 1</script>", "</script><script>window.broken = 2</script>",
    '"><img src=x onerror="window.broken = 3">', "{{ 7 * 7 }}", "${window.broken = 4}", "a\u202eb\x1b[31m", "<!--",
)  # fmt: skip


def answers_of(paths: Sequence[Path], **options: Any) -> Answers:
    """What the report says of captures."""
    with FactStore(PAGE) as store:
        read_facts([str(path) for path in paths], store, lambda count: None, options)
        store.choose_optimizer()
        return ask_captures(store)


def written(paths: Sequence[Path], folder: Path, *tables: str) -> None:
    """Write tables of captures into a folder, as a run of the pipeline does; all of them if none is named."""
    wanted = frozenset(tables or TABLES)
    writer = TableWriter(str(folder), "run")

    def put(table: str, row: tuple[Any, ...]) -> None:
        if table in wanted:
            writer.put(table, row)

    def put_batch(table: str, *rows: Any) -> None:
        if table in wanted:
            writer.put_batch(table, *rows)

    source = RowSource(put, wanted, put_batch, [str(path) for path in paths])
    for _ in source.read():
        pass
    source.flush(last=True)
    writer.close()


def hostile_capture(folder: Path) -> Path:
    """Metadata requests by clients, for topics, and of groups with HOSTILE names."""
    wire = Wire().open()
    for number, name in enumerate(HOSTILE):
        asked = request(3, 0, number, {"topics": [{"name": name}]}, client=name)
        topic = {"errorCode": 3, "name": name, "partitions": []}
        wire.client(asked).server(response(3, 0, number, {"brokers": [], "topics": [topic]}))
        produced = produce(200 + number, records=build_batch([(0, None, b"x", [])]), name=name)
        joining = {
            "groupId": name, "sessionTimeoutMs": 1, "memberId": name, "protocolType": "consumer", "protocols": [],
        }  # fmt: skip
        joined = {"errorCode": 0, "generationId": 1, "protocolName": "", "leader": "", "memberId": name, "members": []}
        wire.client(request(11, 0, 100 + number, joining, client=name)).server(response(11, 0, 100 + number, joined))
        wire.client(produced[0]).server(produced[1])
    wire.close()
    path = folder / "hostile.pcap"
    path.write_bytes(pcap(wire.packets))
    return path


BUSY = (("checkout-1", "orders", "lz4"), ("payments-7", "refunds", "zstd"), ("billing-2", "invoices", "none"))
SECONDS, LOST = 600, range(300, 340)  # of the busy capture; while the leader of `orders` is looked for
NOT_LEADER = 6  # the error's code


def busy_capture(folder: Path) -> Path:
    """Ten minutes of three producers and three consumers on three brokers, with a leader change in the middle."""
    packets: list[Packet] = []
    for number, (client, topic, codec) in enumerate(BUSY):
        packets += produced(number, client, topic, codec)
        packets += fetched(number, f"{client}-reader", topic)
    path = folder / "busy.pcap"
    path.write_bytes(pcap(sorted(packets)))
    return path


def wire_of(number: int, port: int) -> Wire:
    return Wire((f"10.1.0.{number + 1}", port), (f"10.0.0.{number + 11}", 9092), START + number * 1000).open()


def produced(number: int, client: str, topic: str, codec: str) -> Iterator[Packet]:
    rng, wire = random.Random(number), wire_of(number, 40000)
    for second in range(SECONDS):
        wire.now = START + second * 1000 * MILLISECOND + rng.randrange(900) * MILLISECOND
        records = [(1, None, rng.randbytes(60).hex().encode(), ()) for _ in range(rng.randrange(1, 9))]
        failed = topic == "orders" and second in LOST and rng.random() < 0.8
        partition = {"index": 0, "records": build_batch(records, codec=codec)}
        data = [{"name": topic, "partitionData": [partition]}]
        answer = {"index": 0, "errorCode": NOT_LEADER if failed else 0, "baseOffset": -1 if failed else second}
        wire.client(request(0, 9, second, {"acks": -1, "timeoutMs": 1000, "topicData": data}, client))
        wire.now += int(rng.lognormvariate(1 + second / SECONDS, 0.5) * MILLISECOND)
        wire.server(response(0, 9, second, {"responses": [{"name": topic, "partitionResponses": [answer]}]}))
    yield from wire.packets


def fetched(number: int, client: str, topic: str) -> Iterator[Packet]:
    rng, wire = random.Random(number), wire_of(number, 50000)
    for second in range(SECONDS):
        wire.now = START + second * 1000 * MILLISECOND
        partition = {"partition": 0, "fetchOffset": second, "partitionMaxBytes": 1 << 20}
        asked = {
            "replicaId": -1, "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "isolationLevel": 0, "sessionId": 7,
            "sessionEpoch": second + 1, "topics": [{"topic": topic, "partitions": [partition]}],
            "forgottenTopicsData": [],
        }  # fmt: skip
        batch = build_batch([(1, None, rng.randbytes(80), ())], second)
        answer = {"partitionIndex": 0, "errorCode": 0, "highWatermark": second + 1, "records": batch}
        wire.client(request(1, 7, second, asked, client))
        wire.now += rng.randrange(5, 480) * MILLISECOND
        body = {"sessionId": 7, "responses": [{"topic": topic, "partitions": [answer]}]}
        wire.server(response(1, 7, second, body))
    yield from wire.packets
