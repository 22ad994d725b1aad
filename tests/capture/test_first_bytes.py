"""What bytes begin as, and connections in which something stands in front of Kafka's first request."""

import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.capture.first_bytes import protocol_of
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.grammar.files.proxy_protocol import SIGNATURE, ProxyHeader, proxy_header
from tests.capture.decoding import as_values, pieces
from tests.capture.messages import api_versions, metadata
from tests.capture.wires import Packet, Wire, frame, pcap

KERBEROS = b"\x60\x1d\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01\0" + b"ticket and more"
BEGINNINGS = {
    b"\x16\x03\x01\x02\0\1\0": "TLS (a ClientHello)",
    b"\x16\x03\x03\0\x7a\2\0": "TLS (a ServerHello)",
    b"\x15\x03\x03\0\2\2\x50": "TLS (alert internal_error (80))",
    b"\x17\x03\x03\0\x30": "TLS (a record)",
    b"POST /topics/orders HTTP/1.1\r\n": "HTTP (a request)",
    b"HTTP/1.1 400 Bad Request\r\n": "HTTP (an answer)",
    b"SSH-2.0-OpenSSH_9.2\r\n": "SSH",
    KERBEROS: "a token of GSSAPI (Kerberos)",
    frame(KERBEROS): "a token of GSSAPI (Kerberos)",
    b"PROXY TCP4 1.2.3.4 5.6.7.8 9 10\r\n": "a header of the PROXY protocol (version 1)",
    SIGNATURE + b"\x21\x11\0\x0c": "a header of the PROXY protocol (version 2)",
    bytes.fromhex("802e0103010015000000100000040000050000640000"): "TLS (a ClientHello in the form of SSL 2)",
    b"\x80\x2e\x01\0\x02\0\x15\0": "TLS (a ClientHello in the form of SSL 2)",
    b"NTLMSSP\0\1\0\0\0": "a token of NTLM (negotiate)",
    frame(b"NTLMSSP\0\3\0\0\0" + bytes(60)): "a token of NTLM (authenticate)",
    b"ruok": "ZooKeeper (a four-letter word)",
    b"stat\n": "ZooKeeper (a four-letter word)",
    b"mntr\r\n": "ZooKeeper (a four-letter word)",
    b"imok": "ZooKeeper (an answer)",
    b"Zookeeper version: 3.9.2-5, built on": "ZooKeeper (an answer)",
    b"statistics of all": "",
    b"hashes": "",
    metadata(1)[0]: "",
    b"": "",
}


@pytest.mark.parametrize("start", BEGINNINGS)
def test_what_bytes_begin_as(start: bytes) -> None:
    assert protocol_of(start) == BEGINNINGS[start]


def proxy2(client: str, port: int, *, command: int = 1, extra: bytes = b"") -> bytes:
    family = socket.AF_INET6 if ":" in client else socket.AF_INET
    addresses = socket.inet_pton(family, client) + socket.inet_pton(family, "::1" if ":" in client else "10.0.0.2")
    body = addresses + struct.pack(">HH", port, 9092) + extra
    kind = 0x21 if ":" in client else 0x11
    return SIGNATURE + struct.pack(">BBH", 0x20 | command, kind, len(body)) + body


HEADERS = {
    "version 1": (b"PROXY TCP4 203.0.113.7 10.0.0.2 51234 9092\r\n", "203.0.113.7:51234"),
    "version 1, IPv6": (b"PROXY TCP6 2001:db8::7 ::1 51234 9092\r\n", "[2001:db8::7]:51234"),
    "version 1, IPv6 in full": (
        b"PROXY TCP6 2001:0DB8:0000:0000:0000:0000:0000:0007 ::1 1 9092\r\n",
        "[2001:db8::7]:1",
    ),
    "version 1, IPv4 in IPv6": (b"PROXY TCP6 ::ffff:cb00:7107 ::1 51234 9092\r\n", "[::ffff:203.0.113.7]:51234"),
    "version 1, no address": (b"PROXY TCP4 999.0.113.7 10.0.0.2 51234 9092\r\n", ""),
    "version 1, another family": (b"PROXY TCP4 2001:db8::7 ::1 51234 9092\r\n", ""),
    "version 1, unknown": (b"PROXY UNKNOWN\r\n", ""),
    "version 1, unknown with addresses": (b"PROXY UNKNOWN " + b"ffff:" * 14 + b"ffff 65535 65535\r\n", ""),
    "version 2": (proxy2("203.0.113.7", 51234), "203.0.113.7:51234"),
    "version 2, IPv6": (proxy2("2001:db8::7", 51234), "[2001:db8::7]:51234"),
    "version 2 and more": (proxy2("203.0.113.7", 51234, extra=b"\4\0\3abc"), "203.0.113.7:51234"),
    "version 2, IPv4 in IPv6": (proxy2("::ffff:203.0.113.7", 51234), "[::ffff:203.0.113.7]:51234"),
    "version 2, 30 kB more": (proxy2("203.0.113.7", 51234, extra=b"\xe4\x75\x30" + bytes(30000)), "203.0.113.7:51234"),
    "version 2, Unix": (SIGNATURE + b"\x21\x31\0\xd8" + b"/run/a".ljust(216, b"\0"), ""),
    "version 2, unspecified": (SIGNATURE + b"\x21\0\0\3abc", ""),
    "version 2, a health check": (proxy2("203.0.113.7", 51234, command=0), ""),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_is_read_as_soon_as_it_is_whole(name: str) -> None:
    data, client = HEADERS[name]
    sizes = range(len(data)) if len(data) < 300 else [*range(60), 4000, len(data) - 1]
    assert all(proxy_header(data[:size]) is True for size in sizes)
    assert proxy_header(data + b"\0\0\0\x20") == ProxyHeader(2 if "2" in name[:9] else 1, client, len(data))


@pytest.mark.parametrize(
    "data", [b"PROXY TCP4 nobody\r\n", b"PRIVATE", SIGNATURE + b"\x31\x11\0\0", b"PROXY " + bytes(120)]
)
def test_what_is_no_header(data: bytes) -> None:
    assert proxy_header(data) is False


def read(path: Path, packets: list[Packet]) -> list[Item]:
    path.write_bytes(pcap(packets))
    source = as_values([str(path)])
    items = [item for some in pieces(source) for item in some]
    assert source.tally.unaccounted(source.engine) == 0
    return items


def talk(wire: Wire, count: int = 5) -> Wire:
    for asked, answer in [api_versions(1), *(metadata(number) for number in range(2, count))]:
        wire.client(asked).server(answer)
    return wire


def split_up(wire: Wire, data: bytes) -> Wire:
    """The bytes one by one."""
    for at in range(len(data)):
        wire.client(data[at : at + 1])
    return wire


WAYS: dict[str, Callable[[bytes], Wire]] = {
    "in a packet of its own": lambda data: talk(Wire().open().client(data)),
    "with the first request": lambda data: talk(
        Wire().open().client(data + api_versions(0)[0]).server(api_versions(0)[1])
    ),
    "in pieces": lambda data: talk(split_up(Wire().open(), data)),
}


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("way", WAYS)
def test_the_client_is_who_the_header_names(name: str, way: str, tmp_path: Path) -> None:
    data, client = HEADERS[name]
    items = read(tmp_path / "a.pcap", WAYS[way](data).close().packets)
    exchanges = [item for item in items if isinstance(item, Exchange)]
    assert len(exchanges) == 4 + (way == "with the first request")
    assert {each.link.client for each in exchanges} == {client or "10.0.0.1:40000"}
    (event,) = [item for item in items if isinstance(item, Event)]
    assert (event.kind, event.size, event.sender) == ("not-kafka", len(data), "client")
    assert "10.0.0.1:40000" in event.reason


def test_tokens_before_the_first_request(tmp_path: Path) -> None:
    wire = Wire().open()
    for number in range(3):
        wire.client(frame(KERBEROS + bytes([number]))).server(frame(b"\x60\5answer"))
    items = read(tmp_path / "a.pcap", talk(wire).close().packets)
    events = [item for item in items if isinstance(item, Event)]
    assert [each.reason for each in events] == ["SASL token of the client", "SASL token of the server"] * 3
    assert len(items) - len(events) == 4


@pytest.mark.parametrize("odd", [b"\0\0\0\0odd", b"\x7f\xff\0\1" + bytes(30), b"abc"])
def test_one_odd_frame_condemns_nothing(odd: bytes, tmp_path: Path) -> None:
    items = read(tmp_path / "a.pcap", talk(Wire().open().client(frame(odd))).close().packets)
    assert [item.kind for item in items if isinstance(item, Event)] == ["undecodable"]
    assert len([item for item in items if isinstance(item, Exchange)]) == 4


def test_two_odd_frames_do(tmp_path: Path) -> None:
    wire = Wire().open().client(frame(b"\x7f\xff\0\1" + bytes(30))).client(frame(b"\x7f\xff\0\1" + bytes(30)))
    (event,) = read(tmp_path / "a.pcap", talk(wire).close().packets)
    assert isinstance(event, Event) and event.kind == "not-kafka" and "begins with" in event.reason


@pytest.mark.parametrize("under_way", [False, True])
def test_a_connection_of_one_unknown_api(under_way: bool, tmp_path: Path) -> None:
    wire = Wire().open()
    for number in range(20):
        asked = struct.pack(">hhih", 10_005, 1, number, 3) + b"app" + bytes(5)
        wire.client(frame(asked)).server(frame(struct.pack(">i", number) + bytes(9)))
    items = read(tmp_path / "a.pcap", wire.packets[3 * under_way :])
    assert [item.api_key for item in items if isinstance(item, Exchange)] == [10_005] * 20


def test_what_answers_in_http_is_named(tmp_path: Path) -> None:
    wire = Wire().open().client(api_versions(1)[0]).server(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    items = read(tmp_path / "a.pcap", wire.close().packets)
    assert any(isinstance(item, Event) and "answers in HTTP" in item.reason for item in items)


def test_a_client_of_another_kind_is_named_in_a_capture(tmp_path: Path) -> None:
    for start, name in BEGINNINGS.items():
        if name.startswith(("TLS (a ClientHello in", "a token of NTLM", "ZooKeeper")):
            items = read(tmp_path / "a.pcap", Wire().open().client(start).server(b"").close().packets)
            assert [(item.kind, item.reason) for item in items if isinstance(item, Event)] == [("not-kafka", name)]


def test_a_server_of_another_kind_is_named(tmp_path: Path) -> None:
    wire = (
        Wire().open().client(api_versions(1)[0]).server(b"This ZooKeeper instance is not currently serving requests\n")
    )
    items = read(tmp_path / "a.pcap", wire.close().packets)
    assert any(isinstance(item, Event) and "answers in ZooKeeper" in item.reason for item in items)
