"""What the second stage's tasks are: shares, and the one connection of a share that is too big for a task."""

from pathlib import Path

import pytest

from kcli.pipeline.packets.kept_state import WHOLE, of_shares
from kcli.pipeline.packets.ranges import Range
from kcli.pipeline.packets.shards import Shard, deal, heaviest, split
from kcli.pipeline.packets.shuffle_files import Part, ShuffleFile
from tests.capture.messages import metadata
from tests.capture.wires import Wire, pcap
from tests.pipeline.packets.shuffling import shuffle_range


def staged(heavy: int, votes: int) -> ShuffleFile:
    made = ShuffleFile(0, 1, "x")
    made.add(Part(24, 0, 1, votes), 1, heavy, votes)
    return made


@pytest.mark.parametrize(
    ("votes", "found"),
    [
        ([], (0, 0)),
        ([(7, 100)], (7, 100)),
        ([(7, 100), (8, 30), (7, 5)], (7, 75)),
        ([(7, 100), (8, 130)], (8, 30)),
    ],
)
def test_the_heaviest_by_majority(votes: list[tuple[int, int]], found: tuple[int, int]) -> None:
    assert heaviest([staged(*each) for each in votes]) == found


def crowd(tmp_path: Path, heavy: int) -> Path:
    """Ten connections with an exchange each, one of them with `heavy`."""
    packets = []
    for number in range(10):
        wire = Wire(client=("10.0.1.9", 40_000 + number)).open()
        for turn in range(heavy if number == 4 else 1):
            asked, answer = metadata(turn)
            wire.client(asked).server(answer)
        packets += wire.packets
    path = tmp_path / "crowd.pcap"
    path.write_bytes(pcap(sorted(packets, key=lambda packet: packet.ns), nano=True))
    return path


def test_one_connection_is_taken_out_of_its_share(tmp_path: Path) -> None:
    made = shuffle_range(Range(str(crowd(tmp_path, 500)), 0), 0, 3, str(tmp_path / "staged"))
    shares = deal([made], of_shares(WHOLE, None, 3))
    assert [share.size for share in shares] == sorted((share.size for share in shares), reverse=True)
    rest, heavy = split(shares[0], 10_000, 5)
    assert heavy is not None
    assert (rest.kept.without, heavy.heavy, heavy.share, heavy.clock) == (
        heavy.heavy,
        rest.kept.without,
        rest.number,
        5,
    )
    assert [split(share, 10_000, 5) for share in shares[1:]] == [(share, None) for share in shares[1:]]
    assert split(shares[0], 10_000_000, 5) == (shares[0], None)


def test_a_connection_is_cut_that_others_nearly_outweigh() -> None:
    """More than half of a share, which is far too big: by its votes alone it would be too small."""
    heavy, other = staged(7, 600), staged(8, 400)
    share = Shard((heavy, other), WHOLE)
    assert heaviest(share.staged) == (7, 200)
    assert split(share, 250, 0)[1] is not None
    assert split(share, 500, 0)[1] is None


def test_connections_of_about_the_same_size_are_not_cut(tmp_path: Path) -> None:
    made = shuffle_range(Range(str(crowd(tmp_path, 1)), 0), 0, 1, str(tmp_path / "staged"))
    (share,) = deal([made], [WHOLE])
    assert split(share, share.size // 3, 0) == (share, None)
