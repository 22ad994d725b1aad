"""The line between clients and brokers."""

import re
from pathlib import Path

from kcli.diagnose import diagnose
from kcli.records.codecs.zstd import decompress
from tests.capture.messages import request, response
from tests.capture.wires import ACK, MILLISECOND, SYN, Packet, Wire
from tests.diagnose.captured import DATA, only, told
from tests.rules.test_by_hand import SECOND, Talk, fetched, found


def test_a_long_line_is_told_by_its_host() -> None:
    found = only("slow-network-reports")
    assert found.finding == "slow-network"
    told(found, host="10.99.1.2")
    assert found.evidence["trip_ms"] > 130 and found.evidence["others_ms"] < 1


def test_silent_connections_that_a_middlebox_forgot() -> None:
    found = only("idle-connection-cut-barrier")
    assert found.finding == "idle-connection-cut"
    told(found, client="barrier-gate", host=["10.99.1.2"])


def test_a_path_that_drops_large_packets(tmp_path: Path) -> None:
    """Packets above 1000 bytes were dropped behind a NAT; the tap was at the brokers'."""
    found = only("path-mtu")
    assert found.finding == "path-mtu"
    told(found, host="10.13.0.1", client=["bulk-kp", "bulk-rd"])
    assert (found.evidence["stopped"], found.evidence["sacks"], found.evidence["direction"]) == (6, 6, "from")
    [lost] = [
        part for part in diagnose([str(DATA / "path-mtu.pcap.zst")]).unjudged if "not in the capture" in part.what
    ]
    assert lost.remedy.endswith("see path-mtu"), "no capture buffer is too small"
    data = decompress(memoryview((DATA / "path-mtu.pcap.zst").read_bytes()), 2, 100_000, [])
    path = tmp_path / "silent.pcap"
    path.write_bytes(re.sub(rb"\x01\x01\x05\x0a.{8}", b"\1" * 12, data, flags=re.DOTALL))
    assert not diagnose([str(path)]).findings, "without SACK the tap may have missed them"


def test_a_closed_window_is_the_clients() -> None:
    found = only("slow-reader-catalog")
    assert found.finding == "slow-reader"
    told(found, client="catalog-export-1")


WINDOW = 14 + 20 + 14  # offset of TCP's window in a packet


def reading(closed_ms: int, times: int = 8, answer: int = 0) -> Wire:
    """A client whose window is closed once a second. answer: bytes of records in each answer."""
    wire = Wire(client=("10.0.0.1", 40000), seq=(40000, 80000)).open()
    for number in range(times):
        wire.client(request(1, 11, number, {"maxWaitMs": 500}, "tester"))
        part = {"partitionIndex": 0, "highWatermark": 9, "records": bytes(answer)}
        wire.server(response(1, 11, number, {"responses": [{"topic": "orders", "partitions": [part]}]}))
        shut = wire.add(0, ACK)
        wire.packets[-1] = Packet(shut.ns, shut.data[:WINDOW] + bytes(2) + shut.data[WINDOW + 2 :])
        wire.now += closed_ms * MILLISECOND
        wire.add(0, ACK)
        wire.now += SECOND - closed_ms * MILLISECOND
    return wire


def test_a_window_that_is_closed_long_and_one_that_is_for_moments(tmp_path: Path) -> None:
    [finding] = found(tmp_path, reading(200), fetched(Talk("others", 41000), 12))
    assert finding.finding == "slow-reader"
    assert (finding.subject["client"], finding.subject["host"]) == ("tester", "10.0.0.1")
    assert finding.evidence["zero_windows"] == 8 and 1.5 < finding.evidence["closed_seconds"] < 1.7
    assert "20 kB" not in finding.text, "it had no such answer"
    [finding] = found(tmp_path, reading(200, answer=30_000))
    assert "half of 8 responses over 20 kB took 1 ms or more" in finding.text
    assert not found(tmp_path, reading(20)), "a program that works off a backlog"
    assert not found(tmp_path, reading(400, times=3)), "it starts"


def away(host: str, port: int, trip_ms: float) -> Wire:
    """A client at the end of a line, seen at the broker's; it asks five times."""
    wire = Wire(client=(host, port), seq=(port, 2 * port))
    wire.add(0, SYN, ack=0)
    wire.add(1, SYN | ACK)
    wire.now += int((trip_ms - 1) * MILLISECOND)
    wire.add(0, ACK)
    for number in range(5):
        wire.client(request(3, 12, number, {"topics": []}, f"of-{host}"))
        wire.server(response(3, 12, number, {"brokers": [], "topics": []}))
        wire.now += SECOND
    return wire


def test_a_line_is_long_beside_others_or_by_itself(tmp_path: Path) -> None:
    [finding] = found(tmp_path, away("10.0.0.9", 40000, 40), away("10.0.0.8", 41000, 2), away("10.0.0.8", 41001, 2))
    assert (finding.finding, finding.subject["host"]) == ("slow-network", "10.0.0.9")
    assert finding.subject["client"] == ["of-10.0.0.9"] and "; other hosts 2.0 ms" in finding.text
    assert not found(tmp_path, away("10.0.0.9", 40000, 40), away("10.0.0.8", 41000, 10)), "not five times as long"
    assert not found(tmp_path, away("10.0.0.9", 40000, 40)), "nothing to compare it with"
    [finding] = found(tmp_path, away("10.0.0.9", 40000, 80))
    assert finding.evidence["trip_ms"] == 80 and "other hosts" not in finding.text


def test_of_two_ends_the_one_with_more_connections_is_the_broker(tmp_path: Path) -> None:
    """Both write over TLS since before the capture, to a port above their own; the broker's window closes."""
    wires = [Wire(client=("10.0.0.1", port), server=("10.0.0.2", 50000), seq=(port, 9)) for port in (40000, 40001)]
    for wire in wires:
        for _ in range(8):
            wire.client(b"\x17\x03\x03\0\x20" + bytes(32))
            shut = wire.add(1, ACK)
            wire.packets[-1] = Packet(shut.ns, shut.data[:WINDOW] + bytes(2) + shut.data[WINDOW + 2 :])
            wire.now += 200 * MILLISECOND
            wire.add(1, ACK)
            wire.now += 800 * MILLISECOND
    others = fetched(Talk("others", 41000), 12)
    assert not found(tmp_path, *wires, others)
    [finding] = found(tmp_path, wires[0], others)
    assert finding.text.startswith("a client of 10.0.0.2 reads its socket slowly"), "nothing tells them apart but ports"
