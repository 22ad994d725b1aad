"""Facts out of captures, in one pass."""

from pathlib import Path

import pytest

from kcli.diagnose.fact_source import FactSource
from kcli.diagnose.store import FactStore
from kcli.rules.rule_tables import LARGEST, read_columns
from tests.diagnose.captured import DATA


def stored(store: FactStore, *paths: Path) -> FactStore:
    for _ in FactSource([*map(str, paths)], store).read():
        pass
    store.flush()
    return store


def test_rows_of_each_kind(samples: Path) -> None:
    with FactStore() as store:
        stored(store, samples / "java44-txn.pcap")
        [calls] = store.ask("SELECT count(*) AS n, count(DISTINCT transactional_id) AS ids FROM transaction_calls")
        assert calls["n"] > 3 and calls["ids"] >= 1
        [asked] = store.ask("SELECT count(*) AS n FROM exchange_facts WHERE api = 'PRODUCE' AND acks = -1")
        assert asked["n"] > 0
        [brokers] = store.ask("SELECT count(*) AS n FROM advertised WHERE node_id >= 0 AND address LIKE '127.0.0.1:%'")
        assert brokers["n"] >= 1


def test_tcp_says_how_connections_begin_and_end() -> None:
    with FactStore() as store:
        stored(store, DATA / "expired-certificate-clinic.pcap.zst")
        rows = [*store.ask("SELECT * FROM tcp WHERE c_alert IS NOT NULL")]
        assert rows and {row["c_alert"] for row in rows} == {45}
        assert all(row["opened"] and row["accepted"] and row["c_first_bytes"].startswith("1603") for row in rows)


def test_tcp_measures_a_long_line_from_the_brokers_side() -> None:
    with FactStore() as store:
        stored(store, DATA / "slow-network-reports.pcap.zst")
        rows = [*store.ask("SELECT syn_ms, ack_ms, s_rtt_min_ms FROM tcp WHERE client LIKE '10.99.1.2:%' AND accepted")]
        assert rows and all(row["syn_ms"] < 5 and row["ack_ms"] == pytest.approx(141, abs=10) for row in rows)


def test_tcp_counts_closed_windows_and_what_was_sent_into_silence() -> None:
    with FactStore() as store:
        stored(store, DATA / "slow-reader-catalog.pcap.zst")
        [closed] = store.ask("SELECT sum(c_zero_windows) AS times, sum(c_zero_window_ms) AS ms FROM tcp")
        assert closed["times"] > 10 and closed["ms"] > 1000
    with FactStore() as store:
        stored(store, DATA / "idle-connection-cut-barrier.pcap.zst")
        [dead] = store.ask("SELECT max(c_unacked_resent) AS resent, max(c_unacked_silence_ms) AS silence FROM tcp")
        assert dead["resent"] >= 2 and dead["silence"] > 3000


@pytest.mark.parametrize("table", sorted(LARGEST))
def test_columns_that_rules_read_are_as_in_whole_tables(table: str, samples: Path) -> None:
    chosen = read_columns()
    rows = {}
    for names in (chosen, None):
        with FactStore() as store:
            path = str(samples / "old-librdkafka-on-3.9.pcap")
            for _ in FactSource([path], store, names).read():
                pass
            rows[names is None] = [{**row} for row in store.ask(f"SELECT * FROM {table}")]
    assert rows[False] and 5 < len(rows[False][0]) <= len(rows[True][0]) - (table != "exchange_facts")
    assert rows[False] == [{name: row[name] for name in rows[False][0]} for row in rows[True]]
    assert all(name in chosen[table] for name in rows[False][0])
