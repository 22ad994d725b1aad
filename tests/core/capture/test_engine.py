"""The compiled engine: what it writes itself, what it counts, and what it gives to its owner."""

import io
import json
import random
import struct
import weakref
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.handover import Handover
from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import LineSink
from kcli.grammar import frames, messages
from tests.capture.decoding import as_lines, as_values, pieces
from tests.capture.messages import metadata, produce
from tests.capture.wires import MILLISECOND, START, Wire, frame, pcap


def chat(count: int) -> Wire:
    wire = Wire().open()
    for number in range(count):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    return wire


def run(tmp_path: Path, wire: Wire, **options: object) -> tuple[list[bytes], CaptureDecoder[LineSink]]:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(wire.packets))
    out = io.BytesIO()
    source = as_lines([str(path)], **options)
    source.sink.write = out.write
    for _ in source.read():
        pass
    return out.getvalue().splitlines(), source


def test_steady_exchanges_become_lines_without_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handover, "exchanged", lambda *_: pytest.fail("an object was made"))
    monkeypatch.setattr(Handover, "connect", lambda *_: pytest.fail("a connection was made"))
    lines, source = run(tmp_path, chat(5).close())
    assert len(lines) == 5
    assert (source.engine.exchanges, source.engine.answered, source.engine.counts()) == (5, 5, {3: 5})
    assert (source.tally.exchanges, source.tally.apis) == (5, {3: 5})


@pytest.mark.parametrize("size", [3_000, 70_000, 5_000_000])
@pytest.mark.parametrize("mss", [1448, 65_000])
def test_frames_of_every_size(tmp_path: Path, size: int, mss: int) -> None:
    wire = Wire().open()
    for number in range(3):
        asked, answer = produce(number, records=bytes(size))
        for at in range(0, len(asked), mss):
            wire.client(asked[at : at + mss])
        wire.server(answer)
    lines, source = run(tmp_path, wire.close())
    assert len(lines) == 3 and all(b'{"sizeInBytes":%d}' % size in line for line in lines)
    assert source.tally.unaccounted(source.engine) == 0


def test_frames_cut_at_every_byte(tmp_path: Path) -> None:
    """Wherever a segment ends, within a length or a header: the same line."""
    asked, answer = metadata(1)
    whole = b"".join(asked for _ in range(2))
    expected = None
    for cut in range(len(whole) + 1):
        wire = Wire().open()
        wire.now = START
        wire.add(0, 16, whole[:cut]) if cut else None
        wire.add(0, 16, whole[cut:]) if cut < len(whole) else None
        wire.now = START + 20 * MILLISECOND
        lines, _ = run(tmp_path, wire.server(answer).server(answer))
        parts = [line.partition(b'"connection"')[2].partition(b',"latencyMs"')[0] for line in lines]
        expected = expected or parts
        assert parts == expected and len(parts) == 2, cut


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, b"0.0"),
        (1, b"0.001"),
        (10, b"0.01"),
        (500, b"0.5"),
        (1000, b"1.0"),
        (1234567, b"1234.567"),
        (90061001, b"90061.001"),
    ],
)
def test_latencies_are_written_as_python_does(tmp_path: Path, microseconds: int, text: bytes) -> None:
    wire = Wire().open().client(metadata(1)[0])
    wire.now += microseconds * 1000 - MILLISECOND
    lines, _ = run(tmp_path, wire.server(metadata(1)[1]))
    assert lines[0].endswith(b'"latencyMs":' + text + b',"errors":[]}') and repr(microseconds / 1000).encode() == text


def test_a_latency_is_negative_where_a_clock_is_set_back_to_its_beginning(tmp_path: Path) -> None:
    wire = Wire(start=5 * MILLISECOND).open().client(metadata(1)[0])
    wire.now = 0
    lines, _ = run(tmp_path, wire.server(metadata(1)[1]))
    assert lines[0].endswith(b'"latencyMs":-8.0,"errors":[]}')


@pytest.mark.parametrize("seconds", [0, 951_782_400, 951_868_800, 1_709_164_800, 4_102_444_799])
def test_instants_are_written_as_python_does(tmp_path: Path, seconds: int) -> None:
    from kcli.capture.kafka.clock import instant

    wire = chat(1)
    shift = seconds * 10**9 + 123_456_000 - wire.packets[3].ns
    moved = Wire()
    moved.packets = [packet._replace(ns=max(0, packet.ns + shift)) for packet in wire.packets]
    lines, _ = run(tmp_path, moved)
    assert lines[0].startswith(b'{"timestamp":"' + instant(seconds * 10**9 + 123_456_000).encode())


def test_memory_does_not_grow_with_the_connections(tmp_path: Path) -> None:
    """Closed connections are forgotten: ten times as many take the same room."""
    import resource

    def most(count: int) -> int:
        packets = []
        start = START
        for number in range(count):
            wire = Wire(client=(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 5000), start=start)
            packets += wire.open().client(metadata(1)[0]).server(metadata(1)[1]).close().packets
            start = wire.now
        made = Wire()
        made.packets = packets
        lines, _ = run(tmp_path, made)
        assert len(lines) == count
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    most(2_000)
    before = most(6_000)
    assert most(12_000) - before < 64_000  # kilobytes, most of them the test's own packets


def test_damaged_headers_reach_no_memory_outside(tmp_path: Path) -> None:
    """Lengths of all kinds where a frame begins."""
    for size in (-1, 0, 3, 4, 7, 8, 2**27, 2**30, 2**31 - 1):
        wire = chat(2).client(struct.pack(">i", size) + bytes(6)).server(struct.pack(">i", size) + b"\0\0\0")
        lines, source = run(tmp_path, wire.close())
        assert len(lines) >= 2 and source.tally.unaccounted(source.engine) == 0


@pytest.mark.parametrize("alone", [True, False])
def test_one_connection_alone_or_all_but_it(alone: bool, tmp_path: Path) -> None:
    from kcli.core.capture.packet_shuffle import hash_of

    wires = [chat(3), Wire(client=("10.0.0.7", 41000)).open().client(metadata(9)[0])]
    path = tmp_path / "two.pcap"
    path.write_bytes(pcap([packet for wire in wires for packet in wire.packets]))
    source = as_lines([str(path)])
    source.engine.choose(hash_of(ends_of(wires[0], tmp_path)), alone)
    out = io.BytesIO()
    source.sink.write = out.write
    for _ in source.read():
        pass
    exchanges = [line for line in out.getvalue().splitlines() if b'"event"' not in line]
    assert len(exchanges) == (3 if alone else 1)
    assert source.engine.packets == len(wires[0 if alone else 1].packets)
    assert source.engine.dump() == []


def ends_of(wire: Wire, tmp_path: Path) -> bytes:
    """As the core tells a connection from others."""
    from kcli.core.capture.packets import PacketReader

    source = as_lines([])
    source.engine.run(PacketReader(), pcap(wire.packets), (1 << 64) - 1)
    ((ends, *_),) = source.engine.dump()
    return bytes(ends)


def test_a_connection_is_in_step_between_its_packets() -> None:
    """Not before it has said anything, nor while bytes are missing, nor when it is over."""
    from kcli.core.capture.packets import PacketReader

    wire = chat(3)
    missing = wire.packets.pop(-2)
    packets = [*wire.packets, missing, *Wire.close(wire).packets[-3:]]
    source = as_lines([])
    reader, steps = PacketReader(), []
    source.engine.run(reader, pcap([]), 0)
    for packet in packets:
        source.engine.run(reader, pcap([packet])[24:], (1 << 64) - 1)
        steps.append(source.engine.in_step)
    assert steps == [False] * 3 + [True] * 4 + [False] + [True] + [False] * 3


SECRET = "S3CRET-" * 5


def enveloped(number: int, rng: random.Random) -> tuple[bytes, bytes]:
    """An envelope around DescribeConfigs or AlterConfigs, now and then with flipped bytes inside; and its answer."""
    configs = [{"name": name, "value": SECRET} for name in ("ssl.key.password", "retention.ms")]
    choices: list[tuple[int, int, dict[str, Any], dict[str, Any]]] = [
        (32, 4, {"resources": [{"resourceType": 4, "resourceName": "1"}]}, {"results": [{"configs": configs}]}),
        (33, 2, {"resources": [{"resourceName": "clicks", "configs": configs}]}, {"responses": []}),
    ]
    key, version, body, answer = rng.choice(choices)
    header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 5, "clientId": "é"}
    inside = [frames.encode_request(header, body), frames.encode_response({"correlationId": 5}, key, version, answer)]
    for side in rng.sample((0, 1), rng.randrange(3)) if number % 3 else ():
        flipped = bytearray(inside[side])
        flipped[rng.randrange(4 * side, len(flipped))] = rng.choice((0, 1, 0x80, 0xFF, rng.randrange(256)))
        inside[side] = bytes(flipped)
    asked = {"requestApiKey": 58, "requestApiVersion": 0, "correlationId": number, "clientId": "b"}
    given = {"requestData": inside[0], "clientHostAddress": b"\1\2\3\4"}
    request = frames.encode_request(asked, given)
    response = frames.encode_response({"correlationId": number}, 58, 0, {"responseData": inside[1]})
    return frame(request), frame(response)


def test_envelopes_become_the_lines_that_objects_write(tmp_path: Path) -> None:
    rng, wire = random.Random(8), chat(1)
    for number in range(1, 400):
        asked, answer = enveloped(number, rng)
        wire.client(asked).server(answer)
    lines, source = run(tmp_path, wire.close())
    values = as_values([str(tmp_path / "made.pcap")])
    items = [item for items in pieces(values) for item in items if isinstance(item, Exchange)]
    assert lines == [item.line().rstrip(b"\n") for item in items] and len(lines) == 400
    assert source.engine.exchanges > 300  # the rest is odd: text that is no UTF-8, longer varints
    whole = [json.loads(line) for line in lines if b"responseHeader" in line]
    hidden = [each["response"]["responseData"] for each in whole]
    assert sum("redacted" in each for each in hidden) > 50 and sum("base64" in each for each in hidden) > 50
    assert all(each["requestHeader"]["requestApiKeyName"] == "ENVELOPE" for each in whole)


def test_an_answer_is_not_read_by_the_envelope_before_its_own(tmp_path: Path) -> None:
    """The request inside the second envelope is too short to say what it is."""
    rng = random.Random(1)
    asked, answer = enveloped(3, rng)
    short = {"requestApiKey": 58, "requestApiVersion": 0, "correlationId": 4, "clientId": "b"}
    second = frames.encode_request(short, {"requestData": b"\0\x20", "clientHostAddress": b""})
    inside = messages.response("Envelope", 0).read(answer[9:])[0]["responseData"]
    wire = chat(1).client(asked).server(answer).client(frame(second))
    wire.server(frame(frames.encode_response({"correlationId": 4}, 58, 0, {"responseData": inside})))
    lines, _ = run(tmp_path, wire.close())
    first, last = (json.loads(line)["response"]["responseData"] for line in lines[1:])
    assert "response" in first and last == {"redacted": len(inside)}


def test_an_engine_that_is_dropped_lets_go_of_the_connections_that_it_has_handed_over() -> None:
    class Reader:
        steady, foreign, weight = False, None, 0

        def data(self, *bytes_of: Any) -> None:
            """They go nowhere."""

    class Owner:
        bodies = Bodies(None, "none", True, False)

        def __init__(self) -> None:
            self.made: list[weakref.ref[Reader]] = []

        def connect(self, *_ends: Any) -> Reader:
            reader = Reader()
            self.made.append(weakref.ref(reader))
            return reader

    from kcli.core.capture.engine import CaptureEngine
    from kcli.core.capture.packets import PacketReader

    owner = Owner()
    engine = CaptureEngine(owner)
    engine.run(PacketReader(), pcap(chat(9).packets[2:]), (1 << 64) - 1)
    assert engine.held > 0 and [reader() is None for reader in owner.made] == [False]
    del engine
    assert [reader() is None for reader in owner.made] == [True]
