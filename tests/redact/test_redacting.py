"""Whole captures: redacted they decode as before, in all but names, and none of these is left in them."""

import contextlib
import gc
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli import read_capture
from kcli.capture.decoder import DecodeOptions
from kcli.capture.kafka.exchange import Exchange
from kcli.errors import InputError
from kcli.records.builder import build_batch
from kcli.redact.redacting import Redaction
from tests.capture import messages
from tests.capture.wires import (
    ACK,
    DATA,
    FIN,
    RST,
    SAMPLES,
    Packet,
    Wire,
    ethernet,
    frame,
    ip6,
    packets_of,
    pcap,
    rebuilt,
    split,
)
from tests.redact.judge import differences, events, shape
from tests.redact.leaks import leaks, lines

KEY = b"a key for tests, of 32 bytes ..."
CAPTURES = sorted(path for path in SAMPLES.glob("*.pcap*"))


def redact(
    *paths: Path, key: bytes = KEY, keep: frozenset[str] = frozenset(), **options: Any
) -> tuple[bytes, Redaction]:
    """The redacted capture, and what made it; damage is passed over."""
    source, out = Redaction([str(path) for path in paths], key, DecodeOptions(**options), keep=keep), io.BytesIO()
    with contextlib.closing(source):
        with contextlib.suppress(InputError):
            for _ in source.read():
                pass
        source.write(out)
    return out.getvalue(), source


def exchanges(path: Path) -> list[Any]:
    """What stands in the exchanges. Of a request that is cut off, redaction keeps neither correlation nor client id."""
    found = [shape(line) for line in lines(path) if "event" not in line]
    for each in found:
        if each["request"] is None:
            del each["requestHeader"]["correlationId"], each["requestHeader"]["clientId"]
    return found


def key_logs_of(path: Path) -> tuple[str, ...]:
    return (str(path.with_suffix(".keys")),) if path.with_suffix(".keys").exists() else ()


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_a_sample(path: Path, tmp_path: Path) -> None:
    keys = key_logs_of(path)
    data, source = redact(path, key_logs=keys)
    made = tmp_path / "made.pcapng"
    made.write_bytes(data)
    assert differences([path], made, KEY, keys) == []
    assert not source.frames.blanked and not source.frames.batches.emptied


def test_datagrams_that_came_in_fragments_are_written_whole(tmp_path: Path) -> None:
    """TCP in fragments, and tunnels in fragments of IPv4 and of IPv6, which are left off."""
    path, made = DATA / "fragments.pcap.zst", tmp_path / "made.pcapng"
    data, source = redact(path)
    made.write_bytes(data)
    assert differences([path], made, KEY) == []
    assert source.engine.fragments > 200 == source.engine.unjoined + 200


def test_an_authentication_header_stays_without_its_content(tmp_path: Path) -> None:
    """In IPv4 and in IPv6: the payload behind it is redacted as any other."""
    packets, ways = talk(Wire()).packets, []
    for number, name in ((4, "four"), (6, "six")):
        path, made = tmp_path / f"{name}.pcap", tmp_path / f"{name}.pcapng"
        path.write_bytes(pcap([authenticated(packet, number) for packet in packets]))
        data, _ = redact(path)
        made.write_bytes(data)
        assert differences([path], made, KEY) == []
        assert SEAL in path.read_bytes() and SEAL not in data
        ways.append(exchanges(made))
    assert ways[0] == ways[1] != []


def test_the_search_finds_what_is_there() -> None:
    path = SAMPLES / "kcat-codecs.pcap"
    found = leaks(lines(path), path.read_bytes(), lines(path))
    assert "127.0.0.1" in found and len(found) > 10


def test_the_key_decides() -> None:
    path = SAMPLES / "kcat-codecs.pcap"
    assert redact(path)[0] == redact(path)[0] != redact(path, key=KEY[::-1])[0]


# ---- captures made by hand

SEAL = b"integrity-value."


def authenticated(packet: Packet, version: int) -> Packet:
    """The packet with an authentication header (RFC 4302)."""
    ip = packet.data[14:]
    if version == 6:
        ends = bytes(12) + ip[12:16], bytes(12) + ip[16:20]
        header = b"\5\0\0" + bytes(7) + b"\1" + SEAL
        return packet._replace(data=ethernet(ip6(*ends, ip[20:], extensions=[(51, header)]), 0x86DD))
    header = b"\6\5\0\0" + bytes(7) + b"\1" + SEAL
    size = (len(ip) + len(header)).to_bytes(2, "big")
    return packet._replace(data=packet.data[:14] + ip[:2] + size + ip[4:9] + b"\x33" + ip[10:20] + header + ip[20:])


def talk(wire: Wire, count: int = 4) -> Wire:
    batch = build_batch([(1, b"customer-key", b"customer-value " * 20, [("customer-header", b"1")])], codec="gzip")
    for number in range(count):
        for asked, answer in (
            messages.metadata(2 * number, "secret-topic"),
            messages.produce(2 * number + 1, 1, batch),
        ):
            wire.client(asked).server(answer)
    return wire


def written(tmp_path: Path, packets: list[Packet], name: str = "own.pcap") -> Path:
    path = tmp_path / name
    path.write_bytes(pcap(packets))
    return path


def check(path: Path, tmp_path: Path, **options: Any) -> Redaction:
    """As many packets, exchanges and events as before, with every packet's time and sizes."""
    data, source = redact(path, **options)
    made = tmp_path / "made.pcapng"
    made.write_bytes(data)
    assert exchanges(made) == exchanges(path) and not events(lines(made)) - events(lines(path))
    assert leaks(lines(path), data, lines(made)) == [] and b"customer" not in data
    old, new = packets_of(path), packets_of(made)
    kept = {(packet.ns, len(packet.data), packet.length) for packet in old}
    assert all((packet.ns, len(packet.data), packet.length) in kept for packet in new)
    return source


def repeated(packet: Packet, headers: bytes, seq: int, _flags: int, payload: bytes) -> list[Packet]:
    return [packet, rebuilt(packet, headers, seq, payload)]


def tiny(packet: Packet, headers: bytes, seq: int, _flags: int, payload: bytes) -> list[Packet]:
    return [rebuilt(packet, headers, seq + at, payload[at : at + 7]) for at in range(0, len(payload), 7)]


def overlapping(packet: Packet, headers: bytes, seq: int, _flags: int, payload: bytes) -> list[Packet]:
    return [rebuilt(packet, headers, seq + at, payload[at : at + 60]) for at in range(0, len(payload), 40)]


def backwards(packet: Packet, headers: bytes, seq: int, _flags: int, payload: bytes) -> list[Packet]:
    return overlapping(packet, headers, seq, _flags, payload)[::-1]


@pytest.mark.parametrize("change", [repeated, tiny, overlapping, backwards])
def test_packets_of_every_cut(change: Callable[..., list[Packet]], tmp_path: Path) -> None:
    wire = talk(Wire(seq=(2**32 - 300, 2**32 - 500)).open()).close()
    path = written(tmp_path, split(wire.packets, change))
    source = check(path, tmp_path)
    made = packets_of(tmp_path / "made.pcapng")
    assert len(made) == source.written == len(packets_of(path))


def test_a_repetition_has_the_same_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, split(talk(Wire().open()).close().packets, repeated))
    check(path, tmp_path)
    seen: dict[tuple[bytes, bytes], bytes] = {}
    for packet in packets_of(tmp_path / "made.pcapng"):
        place = packet.data[26:38], packet.data[38:42]
        if len(packet.data) > 54:
            assert seen.setdefault(place, packet.data[54:]) == packet.data[54:]


@pytest.mark.parametrize("lost", range(4, 20))
def test_a_lost_packet(lost: int, tmp_path: Path) -> None:
    packets = talk(Wire().open()).close().packets
    check(written(tmp_path, packets[:lost] + packets[lost + 1 :]), tmp_path)


@pytest.mark.parametrize("kept", [60, 90, 120, 200])
def test_cut_packets(kept: int, tmp_path: Path) -> None:
    packets = talk(Wire().open(), 8).close().packets
    cut = [packet._replace(data=packet.data[:kept], length=len(packet.data)) for packet in packets]
    check(written(tmp_path, cut), tmp_path)


def test_a_connection_under_way(tmp_path: Path) -> None:
    check(written(tmp_path, talk(Wire().open(), 8).packets[6:]), tmp_path)
    packets = talk(Wire().open(), 8).packets[6:]
    first = packets[0]
    torn = first._replace(data=first.data[:54] + first.data[70:])
    check(written(tmp_path, [torn, *packets[1:]], "torn.pcap"), tmp_path)


def test_what_is_not_kafka_is_left_out(tmp_path: Path) -> None:
    other = Wire(("10.0.0.9", 40001), ("10.0.0.2", 80), start=1_700_000_000_500_000_000).open()
    other.client(b"GET /customer HTTP/1.1\r\n\r\n").server(b"HTTP/1.1 200 customer\r\n\r\n").close()
    kafka = talk(Wire().open()).close()
    source = check(written(tmp_path, kafka.packets + other.packets), tmp_path)
    assert source.others_left_out == 1 and source.written == len(kafka.packets)


def test_other_ports_are_left_out(tmp_path: Path) -> None:
    other = talk(Wire(("10.0.0.9", 40001), ("10.0.0.2", 9999)).open()).close()
    path = written(tmp_path, talk(Wire().open()).close().packets + other.packets)
    data, source = redact(path, ports=(9092,))
    assert source.others_left_out == 1 and (9999).to_bytes(2, "big") not in data


def test_tls_without_keys_is_left_out() -> None:
    path = SAMPLES / "tls.pcap"
    data, source = redact(path)
    assert source.tls_left_out and b"\x17\x03\x03" not in data and not source.made_clear


def test_a_token_without_a_header_is_left_out(tmp_path: Path) -> None:
    wire = Wire().open()
    for part in (messages.api_versions(1), messages.sasl_handshake(2, 0)):
        wire.client(part[0]).server(part[1])
    wire.client(frame(b"\0alice\0customer-password")).server(frame(b""))
    path = written(tmp_path, talk(wire).close().packets)
    source = check(path, tmp_path)
    assert source.tally.events["not-kafka"] == 2


def test_messages_that_can_not_be_decoded_are_blank(tmp_path: Path) -> None:
    wire = talk(Wire().open())
    wire.client(frame(b"\x00\x03\x00\x7f\0\0\0\x63\0\5alicecustomer")).server(frame(b"\0\0\0\x63customer"))
    wire.client(frame(b"\x00\x03\x00\x0c\0\0\0\x64\0\5alice\0\x09customer")).server(frame(b"\0\0\0\x64customer"))
    wire.server(frame(b"\0\0\0\x65customer that nobody asked for"))
    path = written(tmp_path, talk(wire).close().packets)
    data, source = redact(path)
    assert source.frames.blanked == 4 and b"customer" not in data and b"alice" not in data
    made = tmp_path / "made.pcapng"
    made.write_bytes(data)
    old, new = ([line for line in lines(each) if "event" not in line] for each in (path, made))
    assert [line["responseBytes"] for line in old] == [line["responseBytes"] for line in new]
    unknown, broken = (line["requestHeader"] for line in new if line["request"] is None)
    assert (unknown["requestApiKey"], unknown["requestApiVersion"], unknown["correlationId"]) == (-1, -1, 2**31 - 1)
    assert (broken["requestApiKey"], broken["requestApiVersion"], broken["correlationId"]) == (3, 12, 2**31 - 1)


@pytest.mark.parametrize("flags", [RST, FIN | ACK])
def test_the_end_of_a_connection(flags: int, tmp_path: Path) -> None:
    wire = talk(Wire().open())
    wire.add(0, ACK, messages.metadata(99)[0][:20])
    wire.add(1, flags)
    check(written(tmp_path, wire.packets), tmp_path)


def test_connections_between_the_same_ends(tmp_path: Path) -> None:
    first = talk(Wire().open()).close()
    second = talk(Wire(start=first.now, seq=(70_000, 90_000)).open()).close()
    source = check(written(tmp_path, first.packets + second.packets), tmp_path)
    assert source.engine.drafting.number == 2


def test_damage_and_other_packets_are_counted(tmp_path: Path) -> None:
    packets = talk(Wire().open()).close().packets
    udp = packets[0].data[:23] + b"\x11" + packets[0].data[24:]
    path = tmp_path / "own.pcap"
    path.write_bytes(pcap([*packets, Packet(packets[-1].ns, udp)])[:-3])
    source = check(path, tmp_path)
    assert source.written == len(packets)
    _, source = redact(written(tmp_path, [*packets, Packet(packets[-1].ns, udp)]))
    assert source.engine.others == 1 and source.written == len(packets)


def test_little_memory(tmp_path: Path) -> None:
    """What is given up is blank, and the rest is redacted all the same."""
    data, source = redact(SAMPLES / "java44-txn.pcap", memory=1 << 16)
    assert source.written == 276
    made = tmp_path / "made.pcapng"
    made.write_bytes(data)
    assert leaks(lines(SAMPLES / "java44-txn.pcap"), data, lines(made)) == []


def test_nothing_stays_open_where_an_option_makes_no_sense(tmp_path: Path) -> None:
    """An unclosed file would be a warning, which is an error here."""
    with pytest.raises(InputError):
        Redaction([str(CAPTURES[0])], KEY, DecodeOptions(key_logs=[str(tmp_path / "none")]))
    gc.collect()


@pytest.mark.parametrize("length", [80, 128])
def test_packets_that_the_snapshot_length_cuts_pair_as_before(length: int, tmp_path: Path) -> None:
    """A request that is cut off gets another correlation id, and its response the same."""
    path, redacted = tmp_path / "cut.pcap", tmp_path / "redacted.pcap"
    path.write_bytes(pcap(packets_of(SAMPLES / "java44-txn.pcap"), snaplen=length))
    redacted.write_bytes(redact(path)[0])
    before, after = (
        [
            (each.api_key, each.version, each.request_ns, each.response_ns, each.request_bytes, each.response_bytes)
            for each in read_capture(name).items()
            if isinstance(each, Exchange)
        ]
        for name in (path, redacted)
    )
    assert len(before) == 78 and after == before
