"""Captures changed in ways that leave their meaning: the diagnosis names the same, and nobody new."""

import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from kcli.diagnose import INFO, diagnose
from tests.capture.wires import MILLISECOND, Packet, packets_of, pcap
from tests.diagnose.captured import DATA, diagnosed

Change = Callable[[list[Packet]], Iterable[Packet]]
ANSWERS = {26000, 26200, 26202, 26204, 26800, 24000, 24100}  # ports of the brokers in the captures


def ports(packet: Packet) -> tuple[int, int]:
    """The ports of a packet of TCP over IPv4: source and target."""
    source, target = struct.unpack_from(">HH", packet.data, 14 + (packet.data[14] & 15) * 4)
    return source, target


def without_answers(packets: list[Packet]) -> Iterable[Packet]:
    """Of each fifth connection the tap sees what the client sends alone."""
    clients: dict[int, int] = {}
    for packet in packets:
        source, target = ports(packet)
        place = clients.setdefault(target if source in ANSWERS else source, len(clients))
        if place % 5 or source not in ANSWERS:
            yield packet


def with_holes(packets: list[Packet]) -> Iterable[Packet]:
    """The tap drops one packet in 29."""
    return (packet for place, packet in enumerate(packets) if place % 29 != 3)


def of_one_broker(packets: list[Packet]) -> Iterable[Packet]:
    return (packet for packet in packets if 26200 in ports(packet))


def mapped(packets: list[Packet]) -> Iterable[Packet]:
    """Ports of brokers are mapped: Metadata has others than the capture."""
    for packet in packets:
        start = 14 + (packet.data[14] & 15) * 4
        said = struct.pack(">HH", *(port + 5000 if port in ANSWERS else port for port in ports(packet)))
        yield packet._replace(data=packet.data[:start] + said + packet.data[start + 4 :])


def named(packets: list[Packet]) -> Iterable[Packet]:
    """Metadata has a name for each broker."""
    return (packet._replace(data=packet.data.replace(b"127.0.0.1", b"localhost")) for packet in packets)


def twice(packets: list[Packet]) -> Iterable[Packet]:
    """As on two interfaces at once."""
    return (again for packet in packets for again in (packet, packet._replace(ns=packet.ns + 1500)))


def in_milliseconds(packets: list[Packet]) -> Iterable[Packet]:
    return (packet._replace(ns=packet.ns // MILLISECOND * MILLISECOND) for packet in packets)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("auth-failure-ledger", without_answers),
        ("expired-certificate-clinic", with_holes),
        ("metadata-storm-portal", mapped),
        ("metadata-storm-portal", named),
        ("request-timeout-alerts", twice),
        ("clock-skew-basement", in_milliseconds),
    ],
)
def test_the_same_is_told(name: str, change: Change, tmp_path: Path) -> None:
    before = {each.finding: each.subject for each in diagnosed(name).findings if each.severity != INFO}
    path = tmp_path / "changed.pcap"
    path.write_bytes(pcap(change(packets_of(DATA / f"{name}.pcap.zst")), nano=True))
    after = {each.finding: each.subject for each in diagnose([str(path)]).findings if each.severity != INFO}
    assert after == before


def test_the_share_of_a_partition_is_not_known_at_one_of_three_brokers(tmp_path: Path) -> None:
    path = tmp_path / "changed.pcap"
    path.write_bytes(pcap(of_one_broker(packets_of(DATA / "broker-restart-tickets.pcap.zst")), nano=True))
    made = diagnose([str(path)])
    assert made.judged and not made.is_grave


def test_logins_whose_answers_are_not_in_the_capture(tmp_path: Path) -> None:
    """The connections end behind the login. Clients that are logged in, or without one, ask on."""
    sent = [each for each in packets_of(DATA / "auth-failure-ledger.pcap.zst") if ports(each)[0] not in ANSWERS]
    path = tmp_path / "sent.pcap"
    path.write_bytes(pcap(sent))
    made = diagnose([str(path)])
    [finding] = made.findings
    assert (finding.finding, finding.severity, finding.subject) == (
        "auth-failure",
        "warning",
        {"client": "ledger-sync"},
    )
    assert "13 logins refused or not answered" in finding.text and finding.advice.startswith("capture both directions")
