"""Segments dealt out to several processes."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("kcli.core.capture.segment_dealer")

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.sinks import LineSink
from kcli.core.capture.segment_dealer import SegmentDealer
from tests.capture.decoding import as_lines
from tests.capture.wires import SAMPLES, packets_of

TIME, DEALT, PAYLOAD = struct.Struct("=Q"), 1 << 63, 56  # where a dealt segment has the count of its captured bytes
HEAD = 80  # bytes in front of these
TXN = SAMPLES / "java44-txn.pcap"


def deal(path: Path, count: int, size: int = 1 << 22) -> tuple[SegmentDealer, list[bytes], CaptureDecoder[LineSink]]:
    """What each process but the first is dealt."""
    dealer, source = SegmentDealer(count), as_lines([str(path)])
    rooms = [bytearray(size) for _ in range(1, count)]
    source.engine.share(count, dealer)
    dealer.open(rooms)
    for _ in source.pieces(lambda count: None):
        pass
    return dealer, [bytes(room[:used]) for room, used in zip(rooms, dealer.sizes(), strict=True)], source


def segments(dealt: bytes) -> Iterator[tuple[int, bytes | None]]:
    """(time, head and captured bytes) of each; None: of other processes' connections."""
    at = 0
    while at < len(dealt):
        (time,) = TIME.unpack_from(dealt, at)
        if time < DEALT:
            yield time, None
            at += 8
            continue
        (captured,) = struct.unpack_from("=I", dealt, at + PAYLOAD)
        yield time - DEALT, dealt[at : at + HEAD + captured]
        at += HEAD + (captured + 7) // 8 * 8
    assert at == len(dealt)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_each_hears_of_all_and_gets_its_own(count: int) -> None:
    times = [packet.ns for packet in packets_of(TXN)]
    _, dealt, source = deal(TXN, count)
    all_made = [list(segments(each)) for each in dealt]
    assert source.engine.segments == len(times)
    assert all([time for time, _ in made] == times for made in all_made)
    owners = [[made[at][1] is not None for made in all_made].count(True) for at in range(len(times))]
    assert {1} <= set(owners) <= {0, 1}  # of the others one or none: then it is the first one's
    assert all(any(segment for _, segment in made) for made in all_made)


def test_a_connection_is_one_process_s() -> None:
    _, dealt, _ = deal(TXN, 3)
    ends = [{segment[8:48] for _, segment in segments(each) if segment is not None} for each in dealt]
    assert ends[0] and ends[1] and not ends[0] & ends[1]


def test_what_has_no_room_is_said() -> None:
    assert deal(TXN, 2)[0].full is False
    dealer, dealt, _ = deal(TXN, 2, 5000)
    assert dealer.full and len(dealt[0]) <= 5000


def test_as_many_rooms_as_there_are_others() -> None:
    for count in (0, 65):
        with pytest.raises(ValueError, match="processes: 1 to 64"):
            SegmentDealer(count)
    with pytest.raises(ValueError, match="1 rooms for 2 processes"):
        SegmentDealer(3).open([bytearray(8)])


def test_the_first_one_s_share_follows_what_it_spends() -> None:
    dealer = SegmentDealer(3)
    start = dealer.first_share
    dealer.balance([])  # nothing is known yet
    assert dealer.first_share == start
    dealer.balance([101, 100, 100])
    assert dealer.first_share == start + 1
    for _ in range(100):
        dealer.balance([99, 120, 80])
    assert dealer.first_share == 0
    for _ in range(100):
        dealer.balance([99, 50, 60])
    assert dealer.first_share == 64


def test_who_has_more_to_do_gets_fewer_connections() -> None:
    path = SAMPLES / "java44-txn.pcap"
    made = {}
    for spent in ([1, 2], [2, 1]):
        dealer, source, room = SegmentDealer(2), as_lines([str(path)]), bytearray(1 << 20)
        source.engine.share(2, dealer)
        dealer.open([room])
        for _ in range(64):
            dealer.balance(spent)
        for _ in source.pieces(lambda count: None):
            pass
        made[spent[0]] = source.engine.exchanges
    assert made[2] < made[1]


def test_shares_follow_what_is_spent_however_many_connections_there_were() -> None:
    dealer, source = SegmentDealer(2), as_lines([])
    source.engine.share(2, dealer)
    packet, count = bytearray(packets_of(TXN)[0].data), 10_000
    for number in range(2 * count):
        if number % count == 0:
            dealer.open([bytearray(1 << 20)])
        if number == count:
            for _ in range(64):
                dealer.balance([2, 1])  # from now on the other process gets all
        packet[28:30] = struct.pack(">H", number)  # of the address of an end
        source.engine.push(packet, number, 1, len(packet))
    assert dealer.sizes()[0] > 0.95 * count * HEAD


def test_other_bytes_are_refused() -> None:
    whole = next(segment for _, segment in segments(deal(TXN, 2)[1][0]) if segment is not None)
    for data in (whole[:-1], whole[:40], bytes(7), b"\xff" * 100):
        source = as_lines([str(TXN)])
        source.engine.share(2)
        with pytest.raises(ValueError, match="no dealt segments"):
            source.engine.receive_dealt(data)
