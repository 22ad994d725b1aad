"""Where packets begin in the middle of a capture file."""

import pytest

from kcli.core.capture.packet_boundaries import Boundaries
from kcli.core.capture.packet_shuffle import Scatter
from kcli.core.capture.packets import PacketReader
from tests.capture.wires import Wire, pcap, pcapng

FOREVER = (1 << 63) - 1


def chat(port: int) -> Wire:
    return Wire(client=("10.0.0.1", port)).open().client(b"x" * 100).server(b"y" * 50).close()


@pytest.mark.parametrize("write", [pcap, pcapng])
def test_a_range_stops_at_its_end_and_the_next_begins_there(write: object) -> None:
    data = write([packet for port in range(40000, 40020) for packet in chat(port).packets])  # type: ignore[operator]
    boundaries = Boundaries(data)
    for middle in range(len(data) // 3, len(data) // 3 + 90):
        scatter = Scatter(1, lambda *_: None)
        scatter.end = middle
        stopped, why = scatter.run(PacketReader(), data, FOREVER)
        assert why == "limit"
        assert middle + boundaries.find(data[middle:], 6, True) == stopped


def test_nothing_plausible_is_nowhere() -> None:
    assert Boundaries(pcap(chat(40000).packets)).find(bytes(500), 6, True) == -1
