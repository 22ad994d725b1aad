"""Both hops of a proxy, or both sides of a NAT, in one capture: what its clients ask counts once."""

import time
from pathlib import Path

import duckdb
import pytest

from kcli.diagnose import diagnose
from kcli.diagnose.diagnosis import Captures, diagnose_into, read_facts
from kcli.diagnose.store import FactStore
from kcli.rules.second_hops import CONNECTIONS, leave_out_second_hops
from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, START, Wire, pcap
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND

PROXY, SERVER = "10.0.0.5:9092", "10.0.0.2:9092"
WROTE = {"acks": 1, "timeoutMs": 1000}


def asked_twice(
    times: int, pause: int, *, behind: int = MILLISECOND // 4, client: str = "app", start: int = START, to: str = PROXY
) -> list[Wire]:
    """A producer's connection to a proxy, and the proxy's own: it sends each request on, and each answer back. to: the
    proxy; a NAT where it is the server itself.
    """
    outer = Wire(client=("10.0.0.1", 40000), server=(to.partition(":")[0], 9092), start=start, seq=(1, 2)).open()
    inner = Wire(client=("10.0.0.5", 50000), server=("10.0.0.2", 9092), start=start, seq=(3, 4)).open()
    for number in range(times):
        parts = [{"index": 0, "records": batch_bytes([(b"k", b"v")])}]
        wrote = request(0, 9, number, {**WROTE, "topicData": [{"name": "orders", "partitionData": parts}]}, client)
        parts = [{"index": 0, "errorCode": 0, "baseOffset": number}]
        answer = response(0, 9, number, {"responses": [{"name": "orders", "partitionResponses": parts}]})
        start = outer.now
        outer.client(wrote)
        inner.now = start + behind
        inner.client(wrote).server(answer)
        outer.now = max(outer.now, inner.now + behind)
        outer.server(answer)
        outer.now = start + pause
    return [outer, inner]


def captured(folder: Path, *wires: Wire) -> str:
    path = folder / "a.pcap"
    path.write_bytes(pcap(sorted(packet for wire in wires for packet in wire.packets)))
    return str(path)


def test_what_a_proxy_sends_on_counts_once(tmp_path: Path) -> None:
    wires = asked_twice(900, SECOND // 60)
    diagnosis = diagnose([captured(tmp_path, *wires)])
    assert not diagnosis.findings, "60 a second are no tiny batches, 120 would be"
    assert diagnosis.overview.exchanges == 900
    assert any(f"1 connection to {SERVER}, whose requests are those to {PROXY}" in each.what
               for each in diagnosis.unjudged)  # fmt: skip
    [busiest] = diagnosis.overview.busiest
    assert busiest["requests"] == 900 and busiest["records"] == 1 and busiest["connections"] == 1


def test_both_sides_of_a_nat_count_once(tmp_path: Path) -> None:
    wires = asked_twice(60, SECOND // 10, to=SERVER)
    path = captured(tmp_path, *wires)
    diagnosis = diagnose([path])
    assert not diagnosis.findings, "without this, 60 records are written twice"
    assert diagnosis.overview.exchanges == 60
    assert any(f"1 connection to {SERVER}, whose requests are those from other addresses" in each.what
               for each in diagnosis.unjudged)  # fmt: skip
    with FactStore() as store:
        diagnose_into(store, Captures([path]))
        [line] = store.ask("SELECT host, client_id FROM conns")
        assert line == {"host": "10.0.0.1", "client_id": "app"}


@pytest.mark.parametrize("apart", ["in time", "mostly"])
def test_two_hosts_that_ask_one_server_alike_are_no_nat(apart: str, tmp_path: Path) -> None:
    """Both send the same requests at about the same time. mostly: one does much besides."""
    outer, inner = asked_twice(60, SECOND // 10, to=SERVER)
    if apart == "in time":
        _, inner = asked_twice(60, SECOND // 10, to=SERVER, behind=-MILLISECOND // 2)
    else:
        outer, _ = asked_twice(200, SECOND // 10, to=SERVER)
    assert diagnose([captured(tmp_path, outer, inner)]).overview.exchanges == (120 if apart == "in time" else 260)


@pytest.mark.parametrize("after", range(0, 2000, 50))
def test_a_request_is_met_whenever_it_is_sent_on(tmp_path: Path, after: int) -> None:
    """after: ms of two seconds, within which requests are looked for."""
    wires = asked_twice(30, 2 * SECOND, behind=90 * MILLISECOND, start=START + after * MILLISECOND)
    with FactStore() as store:
        read_facts([captured(tmp_path, *wires)], store, lambda _count: None, {})
        store.choose_optimizer()
        leave_out_second_hops(store)
        assert [*store.ask("SELECT count(*) AS rows FROM calls")] == [{"rows": 30}]


def test_the_rate_behind_a_proxy_is_that_of_one_hop(tmp_path: Path) -> None:
    diagnosis = diagnose([captured(tmp_path, *asked_twice(1500, SECOND // 150))])
    [finding] = diagnosis.findings
    assert finding.finding == "tiny-batches" and finding.evidence["requests"] == 1500
    assert finding.evidence["addresses"] == ["10.0.0.1:40000"], "the client is where it is, not the proxy"


@pytest.mark.parametrize("numbered", [False, True])
def test_rows_of_all_kinds_of_tables_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbered: bool
) -> None:
    if numbered:
        monkeypatch.setattr("kcli.diagnose.store.SMALL", 0)
    path = captured(tmp_path, *asked_twice(60, SECOND // 20))
    with FactStore() as store:
        diagnose_into(store, Captures([path]))
        assert (store.words is not None) == numbered
        for table, rows in (("calls", 60), ("produced", 60), ("batches", 60), ("tcp", 2)):
            [found] = store.ask(f"SELECT count(*) AS rows FROM {table}")
            assert found["rows"] == rows, table


def test_two_clients_of_one_name_are_two(tmp_path: Path) -> None:
    """Requests alike that are sent to another broker at its own time are no second hop."""
    outer, _ = asked_twice(300, SECOND // 60)
    _, inner = asked_twice(300, SECOND // 60, behind=-MILLISECOND // 2)
    assert diagnose([captured(tmp_path, outer, inner)]).overview.exchanges == 600


def spent_on(connections: int, rounds: int) -> float:
    """The processor time (s) to find so many connections on two hops, all with the same three requests, in a second."""
    database = duckdb.connect(config={"threads": 1})
    database.execute(f"""
        CREATE TABLE calls AS
        SELECT h.server, h.kind || n.n AS connection, h.kind AS address, ns, ns + h.after AS completed_ns,
               'app' AS client_id, r.r AS correlation_id, 'METADATA' AS api, 1 AS api_version, 30 AS request_bytes
        FROM range({connections}) AS n(n), range(3) AS r(r),
             (VALUES ('10.0.0.5:9092', 'o', 0, 900000), ('10.0.0.2:9092', 'i', 200000, 400000))
               AS h(server, kind, behind, after),
             LATERAL (SELECT n.n * 1000000000 // {connections} + r.r * 1000000 + h.behind AS ns)
    """)
    database.execute("""
        CREATE TABLE links AS
        SELECT connection, client_id, server, address, min(ns) AS first_ns, count(*) AS requests, 0 AS unanswered,
               false AS inner_client
        FROM calls
        GROUP BY ALL
    """)
    database.execute("CREATE TABLE nodes (server VARCHAR, node_id INTEGER)")
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        found = database.execute(CONNECTIONS).fetchall()
        times.append(time.process_time() - begun)
    assert len({connection for connection, _, _ in found if connection.startswith("i")}) == connections
    return min(times)


def test_alike_connections_take_a_time_that_grows_with_their_number() -> None:
    """Eight times as many take 64 times as long where all are compared with each other."""
    assert spent_on(24_000, 1) < 24 * spent_on(3_000, 3)
