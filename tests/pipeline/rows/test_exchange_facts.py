"""The report's rows of exchanges: the core's and those made row by row, of Fetch, groups and throttled answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.rows.row_source import RowSource
from kcli.pipeline.writing import TableWriter
from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap
from tests.oracle.odd import make_all_odd

ROOT = Path(__file__).parents[3]
CAPTURES = (
    "samples/java44-consume-classic.pcap", "samples/kcat-codecs.pcap", "samples/java44-txn.pcap",
    "samples/old-librdkafka-on-3.9.pcap", "tests/capture/data/mid-stream.pcap.zst",
)  # fmt: skip


def facts(path: Path, folder: Path, name: str = "exchange_facts") -> list[dict[str, Any]]:
    """The rows of a capture in that table alone."""
    import pyarrow.parquet

    wanted, writer = frozenset({name}), TableWriter(str(folder), "facts")

    def put(table: str, row: tuple[Any, ...]) -> None:
        if table in wanted:
            writer.put(table, row)

    source = RowSource(put, wanted, writer.put_batch, [str(path)])
    for _ in source.read():
        pass
    source.flush(last=True)
    made = [each for each in writer.close() if each.table == name]
    rows = [row for each in made for row in pyarrow.parquet.read_table(folder / each.path).to_pylist()]
    return sorted(rows, key=str)


def capture(folder: Path) -> Path:
    """Fetches of a follower by old and new fields, of sessions, and an answer of ApiVersions in another version."""
    wire, calls = Wire().open(), list[tuple[bytes, bytes]]()
    fetched = {"responses": [], "throttleTimeMs": 5}
    session = {"sessionId": 8, "sessionEpoch": 3, "topics": []}
    for version, asked in ((3, {"replicaId": 2, "topics": []}), (12, session), (17, session)):
        if version == 17:
            asked = asked | {"replicaState": {"replicaId": 7, "replicaEpoch": 1}}
        if version > 3:
            fetched |= {"sessionId": 9}
        calls.append((request(1, version, version, asked), response(1, version, version, fetched)))
    calls.append((request(18, 3, 30, {}), response(18, 0, 30, {"errorCode": 35, "apiKeys": []})))
    calls.append((request(12, 4, 31, {"groupId": "g"}), response(12, 4, 31, {"throttleTimeMs": 70})))
    for asked_frame, answer in calls:
        wire.client(asked_frame).server(answer)
    wire.client(request(1, 12, 40, {"topics": []}))
    path = folder / "made.pcap"
    path.write_bytes(pcap(wire.packets))
    return path


def test_numbers_stand_where_messages_have_them(tmp_path: Path) -> None:
    rows = {(row["api_key"], row["api_version"], row["response_bytes"] is None): row for row in facts(
        capture(tmp_path), tmp_path / "facts"
    )}  # fmt: skip
    names = ("replica_id", "session_id", "session_epoch", "granted_id", "throttle_ms")
    assert {key: tuple(row[name] for name in names) for key, row in rows.items()} == {
        (1, 3, False): (2, None, None, None, 5),
        (1, 12, False): (-1, 8, 3, 9, 5),
        (1, 17, False): (7, 8, 3, 9, 5),
        (1, 12, True): (-1, 0, -1, None, None),
        (18, 3, False): (None, None, None, None, None),
        (12, 4, False): (None, None, None, None, 70),
    }
    assert rows[1, 3, False]["address"] == "10.0.0.1" and rows[18, 3, False]["errors"] == ["UNSUPPORTED_VERSION"]


@pytest.mark.parametrize("name", ["", *CAPTURES])
def test_odd_exchanges_have_the_same_rows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / name if name else capture(tmp_path)
    tables = "exchange_facts", "noted_exchanges"
    ours = [facts(path, tmp_path / "ours", table) for table in tables]
    make_all_odd(monkeypatch)
    assert ours == [facts(path, tmp_path / "theirs", table) for table in tables]
    assert list(ours[0][0]) == FACTS["exchange_facts"].names


def test_addresses_are_those_of_other_tables(samples: Path, tmp_path: Path) -> None:
    assert {row["address"] for row in facts(samples / "ipv6.pcapng", tmp_path)} == {"::1"}


def test_texts_are_kept_of_groups_alone(tmp_path: Path) -> None:
    rows = facts(ROOT / CAPTURES[0], tmp_path, "noted_exchanges")
    assert {row["api"] for row in rows if row["request"] is not None} <= {"JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT"}
    assert any(row["request"] for row in rows)
