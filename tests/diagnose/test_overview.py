"""The overview counts as the other screens do: `kcli stats`, the report and `kcli decode pcap`."""

from collections import Counter
from pathlib import Path

import pytest

from kcli.capture.decoder import DecodeOptions, decode
from kcli.capture.statistics import Figures, StatisticsSink
from kcli.cli.decode.pcap.closing import closing
from kcli.cli.decode.pcap.table import ExchangeTable
from kcli.diagnose import diagnose
from kcli.diagnose.finding_text import checked_text
from kcli.rules.judgement import checks
from tests.capture.decoding import as_values, pieces
from tests.capture.messages import request, response
from tests.capture.wires import DATA, MILLISECOND, SAMPLES, START, Wire, pcap
from tests.diagnose.captured import DATA as DIAGNOSED
from tests.report.answers import answers_of

CAPTURES = (
    SAMPLES / "java44-txn.pcap",
    SAMPLES / "sasl-plain-scram.pcap",
    DATA / "kraft-boot.pcap.zst",
    DATA / "mid-stream.pcap.zst",
    DIAGNOSED / "slow-broker-payments.pcap.zst",
    DIAGNOSED / "busy-fetch-pricing.pcap.zst",
)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_every_screen_has_the_same_counts(path: Path, tmp_path: Path) -> None:
    size = diagnose([str(path)]).overview
    source = decode([str(path)], StatisticsSink(["client"]), DecodeOptions())
    rows = source.sink.rows()
    by_client = {(row.group or {})["client"] or "": row.figures for row in rows}
    assert (size.exchanges, size.clients) == (sum(each.exchanges for each in by_client.values()), len(by_client))
    assert size.errors == sum((Counter(each.errors_by_name) for each in by_client.values()), Counter())
    for row in size.busiest:
        figures = by_client[row["client_id"]]
        assert (row["errors"], row["connections"]) == (figures.errors, len(figures.links or ()))
        assert row["records"] == pytest.approx(figures.records_per_request)
        assert row["rate"] == pytest.approx(figures.exchanges / source.time.seconds())
        if not figures.fetches and "JOIN_GROUP" not in apis_of(path, row["client_id"]):  # nothing that may wait
            assert [row["p99_ms"]] == figures.percentiles([0.99])
    [totals] = answers_of([path]).by_name["totals"].dicts()
    said = {name: totals[name] for name in ("exchanges", "brokers", "controllers", "clients", "broker_clients")}
    assert said == {name: getattr(size, name) for name in said}
    every = Figures()
    for each in by_client.values():
        every.merge(each)
    assert [totals["p50_ms"], totals["p99_ms"]] == every.percentiles([0.5, 0.99])
    assert totals["with_errors"] == sum(each.errors for each in by_client.values())
    table = ExchangeTable(lambda *parts: None)
    for item in (item for items in pieces(as_values([str(path)])) for item in items):
        table.show(item)
    assert (len(table.clients), table.failed) == (size.clients, totals["with_errors"])


def test_clients_that_are_brokers_are_counted_apart() -> None:
    size = diagnose([str(SAMPLES / "java44-txn.pcap")]).overview
    assert (size.clients, size.broker_clients) == (3, 2)
    assert [row["client_id"] for row in size.busiest] == ["lab-java"]


def test_an_error_within_an_envelope_counts_everywhere(tmp_path: Path) -> None:
    """A broker forwards what a client asks of the controller; the answer inside has the error."""
    name = {"resourceType": 2, "resourceName": "orders", "configs": []}
    inner = request(44, 1, 1, {"resources": [name], "validateOnly": False})[4:]
    failed = {"errorCode": 54, "errorMessage": None, "resourceType": 2, "resourceName": "orders"}
    answer = response(44, 1, 1, {"responses": [failed]})[4:]
    wire = Wire().open()
    wire.client(request(58, 0, 7, {"requestData": inner, "requestPrincipal": b"", "clientHostAddress": b"\x7f\0\0\1"}))
    wire.server(response(58, 0, 7, {"responseData": answer, "errorCode": 0}))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(wire.close().packets))
    assert diagnose([str(path)]).overview.errors == {"SECURITY_DISABLED": 1}
    [row] = decode([str(path)], StatisticsSink(["error"]), DecodeOptions()).sink.rows()
    assert row.group == {"error": "SECURITY_DISABLED"}
    [exchange] = [item for items in pieces(as_values([str(path)])) for item in items]
    assert exchange.errors == ["SECURITY_DISABLED"]  # type: ignore[union-attr]
    [shown] = [line for line in table_of(path) if "Envelope" in line]
    assert "SECURITY_DISABLED" in shown


def apis_of(path: Path, client: str) -> set[str]:
    rows = decode([str(path)], StatisticsSink(["client", "api"]), DecodeOptions()).sink.rows()
    return {row.group["api"] for row in rows if row.group is not None and row.group["client"] == client}


def test_the_time_between_two_files_was_not_captured(tmp_path: Path) -> None:
    """Rates are of the time that was captured, on every screen, in whatever order the files are named."""
    hour = 3600 * 1000 * MILLISECOND
    paths = []
    for number, begin in enumerate((START, START + 5 * MILLISECOND, START + hour)):  # two overlap
        wire = Wire(("10.0.0.1", 40000 + number), ("10.0.0.2", 9092), begin).open()
        for correlation in range(20):
            wire.client(request(18, 0, correlation, {}, "orders"))
            wire.now += 50 * MILLISECOND
            wire.server(response(18, 0, correlation, {"errorCode": 0, "apiKeys": []}))
        paths.append(str(tmp_path / f"{number}.pcap"))
        Path(paths[-1]).write_bytes(pcap(wire.packets))
    for files in (paths, paths[::-1]):
        size = diagnose(files).overview
        assert 2.0 < size.time.seconds() < 2.2
        source = decode(files, StatisticsSink(["client"]), DecodeOptions())
        assert source.time.seconds() == size.time.seconds()
        assert source.time.within(START + hour).seconds() == pytest.approx(size.time.seconds() / 2, rel=0.05)
        assert [row["rate"] for row in size.busiest] == [60 / size.time.seconds()]
        assert f"over {size.time.seconds():.1f} s;" in closing(source, None)[1]
        assert checked_text(diagnose(files)).startswith(f"{checks()} checks over 60 exchanges in 2.1 s: ")


def table_of(path: Path) -> list[str]:
    lines: list[str] = []
    table = ExchangeTable(lambda *parts: lines.append("".join(parts)))
    for item in (item for items in pieces(as_values([str(path)])) for item in items):
        table.show(item)
    return lines
