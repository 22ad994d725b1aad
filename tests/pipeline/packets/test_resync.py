"""How a connection stands in mid-stream: found out right or not at all, whatever stands around the edge of a window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline import stages
from kcli.pipeline.packets import resync
from kcli.pipeline.packets.windows import Window
from tests.capture.messages import api_versions, metadata, produce, request, response
from tests.capture.wires import ACK, Packet, Wire, pcap
from tests.pipeline.outputs import assert_decoded, cut_at, rows_of, run_here, unaccounted, window_count
from tests.pipeline.packets.test_windows import used

ORDERS, OTHERS = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


def fetch(number: int, topic_id: str = ORDERS, records: bytes = b"") -> tuple[bytes, bytes]:
    """Version 13, which names topics by their ids."""
    partition = {"partition": 0, "fetchOffset": number, "partitionMaxBytes": 1000}
    asked = {"topics": [{"topicId": topic_id, "partitions": [partition]}]}
    reported = {"partitionIndex": 0, "highWatermark": number, "records": records or None}
    return request(1, 13, number, asked), response(
        1, 13, number, {"responses": [{"topicId": topic_id, "partitions": [reported]}]}
    )


def begun() -> Wire:
    """ApiVersions, and the name of a topic: what is said once."""
    wire = Wire().open()
    for asked, reported in (api_versions(0), metadata(1)):
        wire.client(asked).server(reported)
    return wire


def in_turn(wire: Wire, numbers: range) -> Wire:
    for number in numbers:
        asked, reported = fetch(number) if number % 2 else produce(number, records=b"r" * 50)
        wire.client(asked).server(reported)
    return wire


def pipelined() -> Wire:
    """Up to three requests under way, frames over packet borders, several in one packet."""
    wire = in_turn(begun(), range(2, 5))
    asked, reported = zip(*(fetch(number, records=b"x" * 40) for number in range(5, 41)), strict=True)
    for at in range(0, 36, 3):
        first, second, third = asked[at : at + 3]
        wire.client(first + second[:20]).client(second[20:]).server(reported[at][:30]).client(third)
        wire.server(reported[at][30:] + reported[at + 1][:7]).server(reported[at + 1][7:] + reported[at + 2])
    return in_turn(wire, range(50, 55))


def large() -> Wire:
    """Frames of many packets, far bigger than what is around them."""
    wire = in_turn(begun(), range(2, 5))
    for number in (5, 6, 7):
        for sender, message in enumerate(
            (produce(number, records=bytes(range(256)) * 20)[0], fetch(number, records=b"y" * 3000)[1])
        ):
            answer = message if sender == 0 else produce(number)[1]
            for at in range(0, len(answer), 400):
                wire.add(sender, ACK, answer[at : at + 400])
        in_turn(wire, range(number * 10, number * 10 + 3))
    return wire


def repeated() -> Wire:
    """Packets sent again at once and much later, and packets out of order."""
    wire = in_turn(begun(), range(2, 24))
    packets = wire.packets
    for at in (12, 20, 28, 36):
        packets[at], packets[at + 1] = packets[at + 1]._replace(ns=packets[at].ns), packets[at]
        packets.insert(at + 6, packets[at + 3]._replace(ns=packets[at + 5].ns + 1000))
        packets.insert(at + 7, packets[at - 6]._replace(ns=packets[at + 5].ns + 2000))
    return wire


def lost() -> Wire:
    """Packets that the capture lacks, of either side, whole frames and parts of some."""
    wire = in_turn(begun(), range(2, 80))
    for at in (130, 101, 71, 38, 21):
        del wire.packets[at]
    return wire


def unanswered() -> Wire:
    """Requests with acks 0 between others, and one that is never answered."""
    wire = in_turn(begun(), range(2, 8))
    wire.client(fetch(8)[0])
    for number in range(9, 20):
        wire.client(produce(number, acks=0)[0])
        in_turn(wire, range(number + 100, number + 101))
    return wire


def again() -> Wire:
    """The same two ends connect twice."""
    wire = in_turn(begun(), range(2, 8)).close()
    wire.seq = [900_000, 800_000]
    in_turn(wire.open(), range(3, 12))
    return wire.close()


def learnt() -> Wire:
    """A second topic's name is said late; its id was used before."""
    wire = in_turn(begun(), range(2, 8))
    for number in range(8, 20):
        asked, reported = fetch(number, OTHERS) if number != 13 else metadata(number, "others", topic_id=OTHERS)
        wire.client(asked).server(reported)
    return wire


@pytest.fixture(autouse=True)
def _short_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connections made here are short, and all that is said once is said in two exchanges."""
    monkeypatch.setattr(resync, "EXCHANGES", 3)


WIRES = [pipelined, large, repeated, lost, unanswered, again, learnt]


def written(packets: list[Packet], tmp_path: Path) -> Path:
    path = tmp_path / "wire.pcap"
    path.write_bytes(pcap(packets, nano=True))
    return path


@pytest.mark.parametrize("make", WIRES)
def test_an_edge_anywhere_changes_nothing(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packets = make().packets
    path = written(packets, tmp_path)
    run_here([path], tmp_path / "whole")
    windows = 0
    for number, packet in enumerate(packets[3::7]):
        output = tmp_path / f"out{number}"
        cut_at(monkeypatch, [packet.ns])
        run_here([path], output, window_bytes=1)
        assert_decoded(output, [path])
        assert unaccounted(output) == 0
        assert used(output) == used(tmp_path / "whole")
        windows += window_count(output)
    assert windows >= len(packets) // 21


@pytest.mark.parametrize("make", WIRES)
def test_edges_everywhere_change_nothing(
    make: Any, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets = make().packets
    path = written(packets, tmp_path)
    cut_at(monkeypatch, [packet.ns for packet in packets])
    run_here([path], output, window_bytes=1)
    assert window_count(output) >= 5
    assert_decoded(output, [path])
    assert unaccounted(output) == 0


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What tasks are handed out for, from here on."""
    reported: list[str] = []
    decode_tasks = stages.Stages.decode_tasks

    def note(self: stages.Stages, what: str, *words: Any) -> Any:
        reported.append(what)
        return decode_tasks(self, what, *words)

    monkeypatch.setattr(stages.Stages, "decode_tasks", note)
    return reported


def test_a_steady_connection_is_not_decoded_twice(
    tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = counted(monkeypatch)
    packets = in_turn(begun(), range(2, 100)).packets
    cut_at(monkeypatch, [packets[at].ns for at in range(20, 180, 20)])
    run_here([written(packets, tmp_path)], output, window_bytes=1)
    assert window_count(output) == 9
    assert reported == ["decoding"]


def test_a_wrong_standing_is_found_out(tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that begin with anything else than what the one before left are decoded again."""
    reported = counted(monkeypatch)

    def misplace(*words: Any) -> list[Window]:
        windows = resync.place(*words)
        *flow, talk, said = windows[2].carried[0]
        wrong = talk[4] | {"pending": [(77, 1, 13, flow[2], fetch(77)[0][4:], False)]}
        windows[2] = replace(windows[2], carried=((*flow, (*talk[:4], wrong), said),))
        return windows

    monkeypatch.setattr(stages, "place", misplace)
    packets = in_turn(begun(), range(2, 100)).packets
    path = written(packets, tmp_path)
    cut_at(monkeypatch, [packets[at].ns for at in range(20, 180, 20)])
    run_here([path], output, window_bytes=1)
    assert reported == ["decoding", "decoding again"]
    assert_decoded(output, [path])
    assert unaccounted(output) == 0


def test_where_no_frame_is_found_there_is_no_window(
    tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = in_turn(begun(), range(2, 30))
    big = produce(30, records=bytes(range(256)) * 200)
    for at in range(0, len(big[0]), 1000):
        wire.client(big[0][at : at + 1000])
    wire.server(big[1])
    path = written(wire.packets, tmp_path)
    cut_at(monkeypatch, [wire.packets[20].ns, wire.packets[-40].ns, wire.packets[-30].ns])
    run_here([path], output, window_bytes=1)
    assert window_count(output) == 2
    assert_decoded(output, [path])
    assert [row["exchanges"] > 0 for row in rows_of(output, "lineage") if "window" in row["name"]] == [True, True]


def test_what_is_not_kafka_is_one_task(tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire().open()
    for _ in range(50):
        wire.client(b"\x17\x03\x03\x00\x40" + bytes(64)).server(b"\x17\x03\x03\x00\x40" + bytes(64))
    path = written(wire.packets, tmp_path)
    cut_at(monkeypatch, [packet.ns for packet in wire.packets[::10]])
    run_here([path], output, window_bytes=1)
    assert window_count(output) == 0
    assert_decoded(output, [path])
