"""TLS taken off: suites, versions, resumption, losses, connections under way, and what can't be read."""

import random
import ssl
import struct
from pathlib import Path

import pytest

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tls.keylog import KeyLog
from tests.capture import messages
from tests.capture.decoding import as_lines, as_values, pieces
from tests.capture.tls.conftest import Decrypting
from tests.capture.tls.traffic import SUITES_12, Talk, sealed, updated
from tests.capture.truth import compare
from tests.capture.wires import DATA, SAMPLES, SYN, Packet, Wire, block, pcap, pcapng
from tests.oracle.captures import same_as_oracle

BIG = bytes(range(256)) * 200  # more than a record holds


def numbers(exchanges: list[Exchange]) -> list[tuple[int, bool]]:
    return [(each.correlation_id, each.response_frame is not None) for each in exchanges]


def talk(folder: Path, count: int = 6, **options: object) -> Talk:
    """Metadata exchanges 1 to `count`, the last but one with a request across records."""
    made = Talk(folder, **options).shake_hands()  # type: ignore[arg-type]
    for number in range(1, count + 1):
        made.exchange(messages.produce(number, records=BIG) if number == count - 1 else messages.metadata(number))
    return made


@pytest.mark.parametrize("suite", [None, *SUITES_12])
@pytest.mark.parametrize("mtu", [60_000, 700])
def test_every_exchange_comes_out(decrypt: Decrypting, tmp_path: Path, suite: str | None, mtu: int) -> None:
    made = talk(tmp_path, suite=suite, mtu=mtu)
    exchanges, events = decrypt(made.wire.close().packets, [made.key_log])
    assert numbers(exchanges) == [(number, True) for number in range(1, 7)]
    assert events == []
    plain = Wire().open()
    for number in range(1, 7):
        asked, answered = messages.produce(number, records=BIG) if number == 5 else messages.metadata(number)
        plain.client(asked).server(answered)
    known, _ = decrypt(plain.close().packets)
    assert [(each.request_frame, each.response_frame) for each in exchanges] == [
        (each.request_frame, each.response_frame) for each in known
    ]


@pytest.mark.parametrize("suite", [None, "ECDHE-RSA-AES256-SHA384"])
def test_without_keys_it_says_what_it_is(decrypt: Decrypting, tmp_path: Path, suite: str | None) -> None:
    made = talk(tmp_path, suite=suite)
    exchanges, events = decrypt(made.wire.close().packets)
    assert exchanges == []
    assert [each.kind for each in events] == ["not-kafka"]
    says = (
        "TLS 1.3, TLS_AES_256_GCM_SHA384, server name broker.test"
        if suite is None
        else f"TLS 1.2, {SUITES_12[suite]}, server name broker.test, certificate of CN=broker.test"
    )
    assert events[0].reason == f"{says}: encrypted, and no key log was given"


def test_keys_of_others_open_nothing(decrypt: Decrypting, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    made, other = talk(tmp_path), talk(tmp_path / "other")
    exchanges, events = decrypt(made.wire.close().packets, [other.key_log])
    assert exchanges == []
    assert [each.reason.partition(": ")[2] for each in events] == ["its keys are in no key log"]


@pytest.mark.parametrize("suite", [None, "ECDHE-RSA-AES256-GCM-SHA384"])
def test_a_session_that_is_resumed(decrypt: Decrypting, tmp_path: Path, suite: str | None) -> None:
    first = talk(tmp_path, suite=suite)
    second = talk(tmp_path, suite=suite, port=40001, earlier=first)
    assert second.ends[0].session_reused
    exchanges, events = decrypt([*first.wire.close().packets, *second.wire.close().packets], [first.key_log])
    assert numbers(exchanges) == 2 * [(number, True) for number in range(1, 7)]
    assert events == []


def of_broker(key_log: Path, session_id: str) -> str:
    """The key log as a broker's JVM would have written it, of one TLS 1.2 session."""
    words = key_log.read_text().split()
    return f"RSA Session-ID:{session_id} Master-Key:{words[words.index('CLIENT_RANDOM') + 2].upper()}\n"


def test_a_ticket_leads_to_the_secret_of_its_session(decrypt: Decrypting, tmp_path: Path) -> None:
    first = talk(tmp_path, suite="ECDHE-RSA-AES256-GCM-SHA384")
    lines = first.key_log.read_text()
    second = talk(tmp_path, suite="ECDHE-RSA-AES256-GCM-SHA384", port=40001, earlier=first)
    only_first = tmp_path / "first.log"
    only_first.write_text(lines)
    exchanges, events = decrypt([*first.wire.close().packets, *second.wire.close().packets], [only_first])
    assert numbers(exchanges) == 2 * [(number, True) for number in range(1, 7)]
    assert events == []


@pytest.mark.parametrize("suite", ["ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA"])
def test_a_session_without_an_id_has_the_secret_of_what_resumes_it(
    decrypt: Decrypting, tmp_path: Path, suite: str
) -> None:
    """As an agent of Java writes it beside a server with tickets: a line by the id with which the ticket was taken."""
    (tmp_path / "other").mkdir()
    first, other = talk(tmp_path, suite=suite), talk(tmp_path / "other", suite=suite)
    log = tmp_path / "java.log"
    log.write_text(of_broker(other.key_log, "cd" * 32))
    packets = first.wire.close().packets
    exchanges, events = decrypt(packets, [log])
    assert exchanges == [] and [each.reason.partition(": ")[2] for each in events] == ["its keys are in no key log"]
    log.write_text(of_broker(other.key_log, "cd" * 32) + of_broker(first.key_log, "ab" * 32))
    exchanges, events = decrypt(packets, [log])
    assert numbers(exchanges) == [(number, True) for number in range(1, 7)]
    assert events == []


@pytest.mark.parametrize("suite", [None, "ECDHE-RSA-CHACHA20-POLY1305", "ECDHE-RSA-AES128-SHA"])
def test_a_lost_packet_costs_its_records_and_no_more(decrypt: Decrypting, tmp_path: Path, suite: str | None) -> None:
    made = Talk(tmp_path, suite=suite).shake_hands()
    hellos = len(made.wire.packets)
    for number in range(1, 21):
        made.exchange(messages.metadata(number))
    packets = made.wire.close().packets
    for lost in range(hellos, hellos + 40):
        rest = [packet for number, packet in enumerate(packets) if number != lost]
        exchanges, events = decrypt(rest, [made.key_log])
        whole = [number for number, answered in numbers(exchanges) if answered]
        missing = (lost - hellos) // 2 + 1
        assert whole == [number for number in range(1, 21) if number != missing], lost
        assert {each.kind for each in events} <= {"gap", "undecodable", "unanswered-at-end"}, lost


def test_losses_anywhere_are_said_and_nothing_else_is_lost(decrypt: Decrypting, tmp_path: Path) -> None:
    made = talk(tmp_path, count=30, mtu=700)
    packets = made.wire.close().packets
    known = {(each.correlation_id, bytes(each.request_frame)) for each in decrypt(packets, [made.key_log])[0]}
    for seed in range(12):
        rng = random.Random(seed)
        rest = [packet for packet in packets if rng.random() > 0.03]
        exchanges, _ = decrypt(rest, [made.key_log])
        found = {(each.correlation_id, bytes(each.request_frame)) for each in exchanges if each.cut.request is None}
        assert found <= known


@pytest.mark.parametrize("first", [0, 7, 14])
def test_a_connection_under_way_is_tried_against_the_keys(decrypt: Decrypting, tmp_path: Path, first: int) -> None:
    made = Talk(tmp_path).shake_hands()
    for number in range(1, first + 1):
        made.exchange(messages.metadata(number))
    before = len(made.wire.packets)
    for number in range(first + 1, 21):
        made.exchange(messages.metadata(number))
    exchanges, events = decrypt(made.wire.close().packets[before:], [made.key_log])
    assert numbers(exchanges) == [(number, True) for number in range(first + 1, 21)]
    assert events == []


@pytest.mark.parametrize(("client", "server"), [(0, 5_000), (300_000, 600_001), (12_345_678, 70_000)])
def test_a_busy_connection_under_way_is_opened_far_on(
    decrypt: Decrypting, tmp_path: Path, client: int, server: int
) -> None:
    """client, server: numbers of the first record of each direction."""
    made = Talk(tmp_path).shake_hands()
    secrets = [made.secret(f"{end}_TRAFFIC_SECRET_0") for end in ("CLIENT", "SERVER")]
    for each in range(3 if client < 1 << 22 else 0):  # their keys are tried, too
        Talk(tmp_path, port=50000 + each).shake_hands()
    wire = Wire(client=("10.0.0.1", 40000)).open()
    before = len(wire.packets)
    for number in range(9):
        for sender, (secret, first) in enumerate(zip(secrets, (client, server), strict=True)):
            wire.add(sender, 16, sealed(secret, first + number, messages.metadata(number)[sender], 23))
    exchanges, events = decrypt(wire.close().packets[before:], [made.key_log])
    assert numbers(exchanges) == [(number, True) for number in range(9)]
    assert events == []


def test_a_long_search_leaves_effort_for_short_ones(decrypt: Decrypting, tmp_path: Path) -> None:
    made = [Talk(tmp_path, port=40000 + each).shake_hands() for each in range(20)]
    stranger = made[0].wire
    before = len(stranger.packets)
    for number in range(40):
        stranger.client(sealed(bytes(48), number, messages.metadata(number)[0], 23))
    packets = stranger.close().packets[before:]
    last = made[-1]
    before = len(last.wire.packets)
    for number in range(1, 6):
        last.exchange(messages.metadata(number))
    exchanges, _ = decrypt([*packets, *last.wire.close().packets[before:]], [last.key_log])
    assert numbers(exchanges) == [(number, True) for number in range(1, 6)]


def test_a_connection_under_way_may_begin_within_a_record(decrypt: Decrypting, tmp_path: Path) -> None:
    made = Talk(tmp_path, mtu=500).shake_hands()
    before = len(made.wire.packets)
    made.exchange(messages.produce(1, records=BIG))
    for number in range(2, 10):
        made.exchange(messages.metadata(number))
    exchanges, _ = decrypt(made.wire.close().packets[before + 3 :], [made.key_log])
    assert [number for number, answered in numbers(exchanges) if answered] == list(range(2, 10))


def test_a_lost_client_hello_is_found_by_its_keys(decrypt: Decrypting, tmp_path: Path) -> None:
    for suite in (None, "ECDHE-RSA-AES128-GCM-SHA256"):
        made = talk(tmp_path, suite=suite)
        packets = made.wire.close().packets
        exchanges, _ = decrypt([*packets[:3], *packets[4:]], [made.key_log])
        assert [number for number, answered in numbers(exchanges) if answered] == list(range(1, 7))


@pytest.mark.parametrize("damaged", [False, True])
def test_a_lost_change_of_keys_costs_no_data(decrypt: Decrypting, tmp_path: Path, damaged: bool) -> None:
    """Of TLS 1.2, after which data is protected. damaged: the record before it, in its packet."""
    made = Talk(tmp_path, suite="ECDHE-RSA-AES128-SHA").shake_hands()
    hellos = len(made.wire.packets)
    for number in range(1, 7):
        made.exchange(messages.metadata(number))
    packets = made.wire.close().packets
    for lost in (hellos - 2, hellos - 1):
        data = packets[lost].data
        there = [packets[lost]._replace(data=data[:54] + b"\0" + data[55:])] if damaged else []
        rest = [*packets[:lost], *there, *packets[lost + 1 :]]
        exchanges, _ = decrypt(rest, [made.key_log])
        assert [number for number, answered in numbers(exchanges) if answered] == list(range(1, 7)), lost


@pytest.mark.parametrize("lost", [False, True])
def test_keys_are_updated(decrypt: Decrypting, tmp_path: Path, lost: bool) -> None:
    """lost: the record that says so."""
    made = talk(tmp_path)
    secret = made.secret("CLIENT_TRAFFIC_SECRET_0")
    packets = len(made.wire.packets)
    made.wire.client(sealed(secret, 9, b"\x18\0\0\x01\0", 22))  # behind six requests, one of them in four records
    if lost:
        made.wire.packets.pop()
    for number in range(2):
        made.wire.client(sealed(updated(secret), number, messages.metadata(7 + number)[0], 23))
    exchanges, events = decrypt(made.wire.close().packets, [made.key_log])
    assert packets and numbers(exchanges) == [(number, number < 7) for number in range(1, 9)]
    assert {each.kind for each in events} == {"unanswered-at-end"} | ({"gap"} if lost else set())


@pytest.mark.parametrize("name", ["tls-renegotiated", "tls-late-certificate"])
def test_keys_change_when_both_ends_say_so(decrypt: Decrypting, name: str) -> None:
    """A renegotiation of TLS 1.2 changes them; the Finished of a late client certificate in TLS 1.3 does not."""
    exchanges, events = decrypt(DATA / f"{name}.pcap", [DATA / f"{name}.keys"])
    assert numbers(exchanges) == [(number, True) for number in range(1, 7)]
    assert events == []


def test_a_renegotiation_whose_secrets_are_missing_is_said(decrypt: Decrypting, tmp_path: Path) -> None:
    first = tmp_path / "first.keys"
    first.write_text((DATA / "tls-renegotiated.keys").read_text().splitlines()[0])
    exchanges, events = decrypt(DATA / "tls-renegotiated.pcap", [first])
    assert numbers(exchanges) == [(1, True), (2, True)]
    assert {each.reason for each in events} == {"TLS records: its keys are in no key log"}


@pytest.mark.parametrize("lacking", [("CLIENT_H",), ("SERVER_H",), ("CLIENT_H", "SERVER_H")])
def test_the_secrets_of_the_handshake_are_not_needed(
    decrypt: Decrypting, tmp_path: Path, lacking: tuple[str, ...]
) -> None:
    made = talk(tmp_path)
    lines = made.key_log.read_text().splitlines(keepends=True)
    made.key_log.write_text("".join(line for line in lines if not line.startswith(lacking)))
    exchanges, events = decrypt(made.wire.close().packets, [made.key_log])
    assert numbers(exchanges) == [(number, True) for number in range(1, 7)]
    assert events == []


def test_a_suite_that_kcli_does_not_decrypt_is_said(decrypt: Decrypting, tmp_path: Path) -> None:
    made = talk(tmp_path, suite="CAMELLIA128-SHA")
    for key_logs in ([made.key_log], []):
        exchanges, events = decrypt(made.wire.close().packets, key_logs)
        assert exchanges == []
        assert [each.reason.rpartition(": ")[2] for each in events] == ["kcli does not decrypt this cipher suite"]


def test_a_key_log_may_be_written_meanwhile(decrypt: Decrypting, tmp_path: Path) -> None:
    made = talk(tmp_path)
    lines = made.key_log.read_text().splitlines(keepends=True)
    log = KeyLog([str(made.key_log)])
    growing = tmp_path / "growing.log"
    growing.write_text(lines[0])
    log = KeyLog([str(growing)])
    random_ = bytes.fromhex(lines[-1].split()[1])
    assert "CLIENT_TRAFFIC_SECRET_0" not in log.traffic(random_)
    with growing.open("a") as file:
        file.writelines(lines[1:])
    assert log.traffic(b"no such connection" + bytes(14)) == {}
    assert set(log.traffic(random_)) >= {"CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"}


def test_secrets_may_stand_behind_the_first_packets(engine: str, tmp_path: Path) -> None:
    """In two Decryption Secrets Blocks, the second one behind the hellos of the connection that it is of."""
    (tmp_path / "other").mkdir()
    first, second = talk(tmp_path), talk(tmp_path / "other", port=40001)
    path = tmp_path / "made.pcapng"
    hellos = 3 + 2  # packets
    rest = second.wire.packets[hellos:] + first.wire.packets
    path.write_bytes(
        pcapng(second.wire.packets[:hellos])
        + b"".join(secrets_block(each.key_log.read_bytes()) for each in (first, second))
        + pcapng(rest)
    )
    items = [item for piece in pieces(as_values([str(path)])) for item in piece]
    assert len(items) == 12 and all(isinstance(item, Exchange) for item in items)


def secrets_block(key_log: bytes) -> bytes:
    return block("<", 10, struct.pack("<II", 0x544C534B, len(key_log)) + key_log)


@pytest.mark.parametrize(("sender", "why"), [(0, "begins with"), (1, "no request of Kafka's in it")])
def test_what_is_protected_may_be_no_kafka(decrypt: Decrypting, tmp_path: Path, sender: int, why: str) -> None:
    """Its time is that of the first data, and the part of a record behind it is TLS's own."""
    made = Talk(tmp_path).shake_hands()
    ns = made.wire.now
    made.say(sender, bytes(80)).wire.client(b"\x17\x03\x03\x10\x00" + bytes(100))
    exchanges, events = decrypt(made.wire.packets, [made.key_log])
    assert exchanges == []
    assert [(each.kind, each.ns, each.size) for each in events] == [("not-kafka", ns, 80)]
    assert events[0].reason.startswith(why)


def test_a_plain_client_on_a_tls_port(decrypt: Decrypting) -> None:
    asked, _ = messages.api_versions(1)
    exchanges, events = decrypt(Wire().open().client(asked).server(b"\x15\x03\x03\0\x02\x02\x50").close().packets)
    assert numbers(exchanges) == [(1, False)]
    assert [(each.kind, each.size) for each in events] == [("not-kafka", 7), ("unanswered-at-end", len(asked))]
    assert events[0].reason == "answers in TLS, alert internal_error (80): a plain client on a TLS port"


@pytest.mark.parametrize("count", [5, 20])  # the verdict comes at the end, and at once
def test_tls_said_to_what_is_not_kafka_is_counted(decrypt: Decrypting, count: int) -> None:
    asked = struct.pack(">ihhihxx", 14, 3, 1, 7, -1) + b"\xff\xff"  # Metadata, with bytes that are none of it
    alert = b"\x15\x03\x03\0\x02\x02\x50"
    _, events = decrypt(Wire().open().client(asked * count).server(alert).close().packets)
    assert [(each.kind, each.size) for each in events] == [("not-kafka", count * len(asked) + len(alert))]


def test_a_tls_client_on_a_plain_port(decrypt: Decrypting, tmp_path: Path) -> None:
    hello = Talk(tmp_path)
    with pytest.raises(ssl.SSLWantReadError):
        hello.ends[0].do_handshake()
    hello.flush(0)
    _, events = decrypt(hello.wire.close().packets)
    assert [each.reason for each in events] == [
        "TLS, server name broker.test: no answer to its ClientHello, as on a port without TLS: the connection ends"
    ]


def test_what_is_not_kafka_stays_so_whatever_its_server_says(decrypt: Decrypting) -> None:
    wire = Wire()
    wire.add(0, SYN, ack=0)
    wire.client(b"\x16\x03\xff\0\x85\x01" + bytes(100)).server(b"\x16\x03\x03\0\x04\x0e\0\0\0")
    _, events = decrypt(wire.packets)
    assert [(each.kind, each.size) for each in events] == [("not-kafka", 115)]
    assert events[0].reason is not None
    assert events[0].reason == "begins with no request of Kafka's"


def test_frames_cut_anywhere_do_no_harm(decrypt: Decrypting, tmp_path: Path) -> None:
    made = talk(tmp_path)
    packets = made.wire.close().packets
    rng = random.Random(5)
    for _ in range(60):
        damaged = [mutated(packet, rng) if rng.random() < 0.2 else packet for packet in packets]
        decrypt(damaged, [made.key_log])


def mutated(packet: Packet, rng: random.Random) -> Packet:
    """With some byte of its payload changed."""
    if len(packet.data) <= 54:
        return packet
    data = bytearray(packet.data)
    data[rng.randrange(54, len(data))] ^= 1 << rng.randrange(8)
    return packet._replace(data=bytes(data))


@pytest.mark.parametrize("suite", [None, "ECDHE-RSA-AES128-SHA"])
def test_the_core_writes_what_its_oracle_does(tmp_path: Path, suite: str | None) -> None:
    made = talk(tmp_path, count=20, mtu=700, suite=suite)
    packets = made.wire.close().packets
    for seed in range(20):
        rng = random.Random(seed)
        lost, damaged = rng.choice([0, 0.03]), rng.choice([0, 0.05])
        rest = [
            mutated(packet, rng) if rng.random() < damaged else packet for packet in packets if rng.random() >= lost
        ]
        (tmp_path / "made.pcap").write_bytes(pcap(rest[rng.choice([0, 0, 30]) :]))
        same_as_oracle(tmp_path / "made.pcap", key_logs=[str(made.key_log)])


@pytest.mark.parametrize("suite", [None, *SUITES_12])
def test_the_core_reads_what_was_decrypted(tmp_path: Path, suite: str | None) -> None:
    made = talk(tmp_path, count=20, mtu=700, suite=suite)
    (tmp_path / "made.pcap").write_bytes(pcap(made.wire.close().packets))
    source = as_lines([str(tmp_path / "made.pcap")], key_logs=[str(made.key_log)])
    source.sink.write = lambda text: None
    for _ in source.read():
        pass
    assert source.engine.exchanges == 20


@pytest.mark.parametrize("name", ["tls-1.2-suites", "tls-resumed"])
def test_exchanges_are_those_in_the_brokers_log(name: str) -> None:
    count, differences = compare(DATA / f"{name}.pcap", DATA / f"{name}.requests.jsonl.gz", [DATA / f"{name}.keys"])
    assert differences == []
    assert count == {"tls-1.2-suites": 94, "tls-resumed": 53}[name]


def test_handshakes_that_fail(decrypt: Decrypting) -> None:
    exchanges, events = decrypt(SAMPLES / "tls.pcap", [SAMPLES / "tls.keys"])
    assert (len(exchanges), sum(each.response_frame is not None for each in exchanges)) == (38, 34)
    says = [each.reason.rpartition(": ")[2] for each in events if each.kind == "not-kafka"]
    assert sorted(says) == sorted(
        4 * ["handshake failed, alert handshake_failure (40) of the server"]
        + ["handshake failed, alert unknown_ca (48) of the client"]
        + 2 * ["its keys are in no key log"]
        + 3 * ["a plain client on a TLS port"]
        + 2 * ["the connection was reset"]
    )
