"""The clock of the capture jumps, beside brokers that wait for the same time."""

from pathlib import Path

import pytest

from kcli.diagnose import Diagnosis, diagnose
from tests.capture.wires import MILLISECOND, SYN, Packet, pcap
from tests.rules.test_by_hand import SECOND
from tests.rules.test_slow_cluster import beats, clients


def jumping(folder: Path, by: int, brokers: tuple[int, ...] = (2, 2, 2)) -> Diagnosis:
    """Diagnose heartbeats of two clients of each broker; the clock jumps while one of each is in flight."""
    packets = sorted(packet for wire in clients(*brokers) for packet in wire.packets)
    step = packets[0][0] + 5 * (SECOND // 2 + 2 * MILLISECOND)  # about the sixth heartbeat
    at = next(ns for ns, *_ in packets if ns >= step) + MILLISECOND
    path = folder / "a.pcap"
    path.write_bytes(pcap(each._replace(ns=each.ns + by * (each.ns >= at)) for each in packets))
    return diagnose([str(path)])


def test_a_clock_that_was_set_forward_is_no_silent_broker(tmp_path: Path) -> None:
    found = jumping(tmp_path, 10 * SECOND)
    assert not found.findings
    [jump, *_] = [part.what for part in found.unjudged if "clock" in part.what]
    assert jump.startswith("9.") and "was set forward, its machine paused" in jump


@pytest.mark.parametrize("silent", [False, True])
def test_a_single_broker_is_silent_where_others_go_on(silent: bool, tmp_path: Path) -> None:
    """Two clients wait for it, while the heartbeats of a third break off; or it sends them all the same."""
    waiting = [beats(client, port, 2, 400) for port, client in enumerate(("one", "two"), 40000)]
    third = beats("three", 40009, 2, 2)
    at = third.packets[0].ns + 2800 * MILLISECOND
    packets = [each for wire in (*waiting, third) for each in wire.packets]
    early = [each for each in packets if each.ns < at]
    late = [each._replace(ns=each.ns + 10 * SECOND) for each in packets if each.ns >= at]
    if silent:
        asked = next(each for each in late if each.data in {each.data for each in third.packets})
        late.append(asked._replace(ns=at + SECOND // 2))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(sorted([*early, *late])))
    found = diagnose([str(path)])
    assert ("silent-broker" in {each.finding for each in found.findings}) == silent
    assert any("was set forward" in part.what for part in found.unjudged) != silent


def test_a_clock_that_was_set_back_is_named(tmp_path: Path) -> None:
    found = jumping(tmp_path, -3600 * SECOND)
    assert "silent-broker" not in {each.finding for each in found.findings}
    assert "the capture's clock was set back by 60.0 min or more" in " ".join(p.what for p in found.unjudged)


def test_a_clock_that_was_set_back_by_seconds_within_long_connections_is_named(tmp_path: Path) -> None:
    found = jumping(tmp_path, -5 * SECOND)
    [clock] = [part.what for part in found.unjudged if "clock" in part.what]
    assert clock == "how long anything takes, and how often: the capture's clock was set back by 4.5 s or more"


@pytest.mark.parametrize("by", [0, SECOND // 4])
def test_a_steady_clock_is_not_told(tmp_path: Path, by: int) -> None:
    assert not [part.what for part in jumping(tmp_path, by).unjudged if "clock" in part.what]


@pytest.mark.parametrize(
    ("by", "opened", "said"),
    [
        (3 * SECOND, True, "3.0 s ahead of"),
        (-SECOND // 20, True, "0.049 s behind"),
        (3 * SECOND, False, "2.5 s ahead of"),  # they acknowledge with the next request
        (-SECOND // 20, False, "0.047 s behind"),
    ],
)
def test_two_directions_with_two_clocks_are_named_and_no_line_is_slow(
    by: int, opened: bool, said: str, tmp_path: Path
) -> None:
    """As of a tap with an interface for each direction. opened: the connections began in the capture."""
    packets = [packet for wire in clients(2, 2) for packet in wire.packets if opened or not is_syn(packet)]
    moved = sorted(each._replace(ns=each.ns + by * is_answer(each)) for each in packets)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(moved))
    found = diagnose([str(path)])
    assert not found.findings
    [clocks] = [part.what for part in found.unjudged if "clock" in part.what]
    assert f"are dated by a clock about {said} that of the clients' packets" in clocks


def is_syn(packet: Packet) -> bool:
    return bool(packet.data[47] & SYN)


def is_answer(packet: Packet) -> bool:
    return packet.data[34:36] == (9092).to_bytes(2, "big")


def test_answers_alone_are_no_kafka_but_maybe(tmp_path: Path) -> None:
    [wire, _] = clients(2)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(filter(is_answer, wire.packets)))
    [part] = diagnose([str(path)]).unjudged
    assert "maybe Kafka's: packets of one direction alone" in part.what and part.unread


def test_a_file_that_is_missing_is_no_silent_broker(tmp_path: Path) -> None:
    """Between the others nobody says anything, and bytes are missing behind that."""
    packets = sorted(packet for wire in clients(2) for packet in wire.packets)
    gone = range(packets[0].ns + 4 * SECOND, packets[0].ns + 11 * SECOND)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(each for each in packets if each.ns not in gone))
    found = diagnose([str(path)])
    assert not found.findings and any("of a ring of files" in part.remedy for part in found.unjudged)
