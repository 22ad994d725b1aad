"""Packets and exchanges as rows, against tshark's count where it is at hand and decode pcap."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange
from kcli.errors import InputError
from kcli.pipeline.sources.source_captures import PacketSource
from tests.capture.wires import Packet, packets_of, pcap
from tests.pipeline.sources.reading import ExchangeSource, read


@pytest.mark.parametrize("name", ["kcat-codecs.pcap", "ipv6.pcapng"])
@pytest.mark.parametrize("size", [3_000, 1 << 20])
def test_every_packet_is_a_row(name: str, size: int, samples: Path) -> None:
    rows = read(PacketSource({"path": str(samples / name), "rangeBytes": str(size)}))
    packets = packets_of(samples / name)
    assert [(row["ns"], row["data"], row["length"]) for row in rows] == [tuple(packet) for packet in packets]


def test_a_connection_has_one_name_in_both_directions(samples: Path) -> None:
    for name in ("kcat-codecs.pcap", "ipv6.pcapng"):
        rows = read(PacketSource({"path": str(samples / name), "columns": "connection"}))
        answer = {item.connection for item in read_capture(samples / name).items() if item.connection}
        ends = {frozenset(connection.split("-")) for connection in answer}
        assert {frozenset(row["connection"].split("-")) for row in rows} >= ends
        assert len({row["connection"] for row in rows}) == len(
            {frozenset(row["connection"].split("-")) for row in rows}
        )


@pytest.mark.parametrize("shares", [1, 4])
def test_exchanges_are_those_of_all_files_together(shares: int, samples: Path) -> None:
    paths = [samples / "kcat-codecs.pcap", samples / "java44-txn.pcap"]
    rows = read(ExchangeSource({"path": ",".join(map(str, paths)), "shares": str(shares)}))
    answer = [item for item in read_capture(paths).items() if isinstance(item, Exchange)]
    key = lambda row: (row["connection"], row["correlation_id"], row["request_bytes"])  # noqa: E731
    assert sorted(map(key, rows)) == sorted((i.connection, i.correlation_id, i.request_bytes) for i in answer)


def test_damage_is_passed_over_or_fails(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.pcap"
    data = (samples / "java44-txn.pcap").read_bytes()
    path.write_bytes(data[:5000] + b"\xff" * 40 + data[5000:])
    assert len(read(PacketSource({"path": str(path)}))) > 200
    with pytest.raises(InputError, match=f"{path}: "):
        read(PacketSource({"path": str(path), "damage": "fail"}))


def test_ports_of_brokers(samples: Path) -> None:
    assert read(ExchangeSource({"path": str(samples / "java44-txn.pcap"), "port": "1"})) == []


def test_a_length_that_no_int_holds(tmp_path: Path) -> None:
    path = tmp_path / "long.pcap"
    path.write_bytes(pcap([Packet(0, bytes(60), 0xFFFFFFFF)]))
    assert [row["length"] for row in read(PacketSource({"path": str(path)}))] == [0x7FFFFFFF]
