"""The exchanges that `throttling` and `groups` are made of: what the SQL says of them, it says of all exchanges."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")

import duckdb

from kcli.pipeline.derived.file_views import view_of
from kcli.pipeline.tables import TABLES
from kcli.tables.exchange_views import EXCHANGE_VIEWS, JSON_MACRO, PAIR_MACRO, exchange_view
from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap
from tests.oracle.odd import make_all_odd
from tests.pipeline.derived.test_connection_table import counted
from tests.pipeline.outputs import rows_of, run_here

APIS = {0: 9, 1: 11, 3: 12, 11: 9, 12: 4, 18: 3, 68: 0}  # key: version


def capture(path: Path) -> Path:
    """800 exchanges of four connections, most of them throttled, some of groups; the last ones without an answer."""
    packets = []
    for client in range(4):
        wire = Wire(client=("10.0.0.9", 2000 + client)).open()
        for number in range(200):
            key = [*APIS][(number + client) % len(APIS)]
            asked, answer = bodies(key, number)
            wire.client(request(key, APIS[key], number, asked))
            if number < 199:
                wire.server(response(key, APIS[key], number, answer))
        packets += wire.close().packets
    path.write_bytes(pcap(sorted(packets), nano=True))
    return path


def bodies(key: int, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    group = {"groupId": f"g{number % 3}", "memberId": f"m{number % 5}"}
    answer = {"throttleTimeMs": number % 4}
    if key == 11:
        return group, answer | {
            "generationId": number // 20,
            "memberId": group["memberId"],
            "errorCode": number % 2 * 79,
        }
    if key == 68:
        return group | {"memberEpoch": number % 2}, answer | {"memberEpoch": number, "memberId": group["memberId"]}
    return {}, answer


def made(output: Path) -> dict[str, Counter[str]]:
    """The rows that a run's SQL makes of what was noted, here run by DuckDB."""
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for macro in (JSON_MACRO, PAIR_MACRO):
            connection.execute(f"CREATE MACRO {macro}")
        found = {}
        for source, folder in (("noted_exchanges", output / "_kcli" / "facts"), ("exchanges", output)):
            connection.execute(f"CREATE VIEW {source} AS {view_of(source, folder)}")
        for name in EXCHANGE_VIEWS:
            columns = ", ".join(TABLES[name].names)
            sources = [exchange_view(name, source, file=False) for source in ("noted_exchanges", "exchanges")]
            noted, all_of_them = (
                counted(connection.sql(f"SELECT {columns} FROM ({sql})").to_arrow_table().to_pylist())
                for sql in sources
            )
            assert noted == all_of_them
            found[name] = noted
    return found


@pytest.mark.parametrize("odd", [False, True])
def test_what_is_noted_is_enough(odd: bool, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if odd:
        make_all_odd(monkeypatch)
    run_here([capture(tmp_path / "made.pcap")], output)
    found = made(output)
    assert found["throttling"].total() > 500 and found["groups"].total() == 3
    noted = rows_of(output, "noted_exchanges")
    others = [row for row in noted if row["api"] not in ("JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT")]
    assert {row["request"] for row in others} == {None}
    assert {row["response"] for row in others} == {f'{{"throttleTimeMs":{wait}}}' for wait in (1, 2, 3)}
    assert len(noted) < len(rows_of(output, "exchanges"))
