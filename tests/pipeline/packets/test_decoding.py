"""One share on its own: what is whole, and what is under way."""

from pathlib import Path

from kcli.pipeline.packets.decoding import DecodingOptions, Portion, decode
from kcli.pipeline.packets.kept_state import Kept
from kcli.pipeline.rows.row_source import Opened
from tests.capture.messages import metadata
from tests.capture.wires import Wire, pcap
from tests.pipeline.outputs import slices_of


def made(tmp_path: Path) -> Opened:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1]).client(metadata(2)[0])
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(wire.packets))
    return slices_of(path)


def test_what_is_whole_and_what_is_under_way(tmp_path: Path) -> None:
    share = decode(Portion(3, made(tmp_path)), str(tmp_path / "out"))
    assert (share.share, share.exchanges, share.open_rows) == (3, 1, (1, 1))
    assert share.carried == len(metadata(2)[0]) == share.open_bytes[0]
    assert share.payload == share.exchange_bytes + share.carried
    both = {"exchanges", "exchange_facts", "client_uses", "connection_sums"}
    of_metadata = {f"metadata_{each}_said" for each in ("calls", "topics", "told")}
    said = {"called", "called_links", "advertised", "partition_states"} | of_metadata
    assert {each.table for each in share.files} - said == both | {"topic_names", "tcp"}
    assert {each.table for each in share.passing} - said == both | {"undecodable"}
    assert [each.rows for each in share.state] == [1] and not share.under_way  # nothing of it goes to the driver


def test_the_next_run_takes_it_up(tmp_path: Path) -> None:
    first = decode(Portion(0, made(tmp_path)), str(tmp_path / "out"))
    [state] = first.state
    kept = Kept((str(tmp_path / "out" / state.path),)).read()
    second = decode(Portion(0, slices_of(), carried=kept), str(tmp_path / "more"), DecodingOptions(clock=first.last_ns))
    assert second.untouched == {"10.0.0.2:9092-10.0.0.1:40000"}
    assert (second.exchanges, second.open_rows, second.carried) == (0, (1, 1), 0)
