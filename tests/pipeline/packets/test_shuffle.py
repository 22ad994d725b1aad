"""The first stage: what a range's packets become, and what is said of damage."""

import gzip
from pathlib import Path

from kcli.capture.api import read_capture
from kcli.pipeline.packets.ranges import Range
from kcli.pipeline.packets.shuffle import Dealing, gather_share, grouped, shuffle_ranges
from tests.capture.fragmenting import fragmented
from tests.capture.wires import packets_of, pcap
from tests.pipeline.packets.shuffling import packets, shuffle_range


def test_staged_files_are_captures_of_whole_connections(samples: Path, tmp_path: Path) -> None:
    name = str(samples / "kcat-codecs.pcap")
    made = shuffle_range(Range(name, 0), 0, 3, str(tmp_path))
    assert sum(each.packets for each in made.staged) == made.tcp == made.packets > 0
    parts = [[item.connection for item in read_capture([each.uri]).items()] for each in made.staged]
    assert sorted(c or "" for part in parts for c in part) == sorted(
        item.connection or "" for item in read_capture([name]).items()
    )
    assert sum(len(set(part)) for part in parts) == len({c for part in parts for c in part})


def test_datagrams_in_fragments_are_staged_whole(samples: Path, tmp_path: Path) -> None:
    """Copied, where the other packets stay in the capture."""
    whole = packets_of(samples / "java44-txn.pcap")
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(fragmented(whole, 200, lambda row: row[::-1]), nano=True))
    for refer in (False, True):
        made = shuffle_range(Range(str(path), 0), 0, 1, str(tmp_path / str(refer)), refer=refer)
        assert made.tcp == sum(each.packets for each in made.staged) == len(whole) < made.packets
        assert made.fragments == made.packets - made.tcp
        assert sorted({each.origin is None for each in made.staged}) == ([False, True] if refer else [True])
        found = [each for section in made.staged for each in packets(section.whole)]
        assert sorted(map(payload, found)) == sorted((each.ns, each.data[34:]) for each in whole)


def payload(packet: tuple[int, bytes]) -> tuple[int, bytes]:
    """A packet's time, and what stands behind its IP header."""
    return packet[0], packet[1][34:]


def test_two_attempts_share_no_file(samples: Path, tmp_path: Path) -> None:
    taken = Range(str(samples / "java44-txn.pcap"), 0)
    first, second = (shuffle_range(taken, 0, 1, str(tmp_path)) for _ in range(2))
    assert not {each.uri for each in first.staged} & {each.uri for each in second.staged}


def test_parts_say_where_times_begin(samples: Path, tmp_path: Path) -> None:
    made = shuffle_range(Range(str(samples / "java44-txn.pcap"), 0), 0, 1, str(tmp_path))
    (staged,) = made.staged
    assert staged.parts[0].offset == 24
    assert (staged.parts[0].first_ns, staged.parts[-1].last_ns) == (made.first_ns, made.last_ns)
    assert sum(part.bytes for part in staged.parts) == staged.bytes


def test_a_cut_file_is_told_and_read_as_far_as_it_goes(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes((samples / "java44-txn.pcap").read_bytes()[:-7])
    made = shuffle_range(Range(str(path), 0), 0, 1, str(tmp_path / "staging"))
    assert made.problem is not None
    assert "ends in the middle of a packet" in made.problem
    assert [event.kind for event in made.events] == ["truncated"]
    assert made.packets > 200


def test_what_is_no_capture_is_told(tmp_path: Path) -> None:
    for content, why in ((b"GIF89a" + bytes(100), "starts with"), (b"", "empty"), (b"abc", "only 3 bytes")):
        path = tmp_path / "a.pcap"
        path.write_bytes(content)
        made = shuffle_range(Range(str(path), 0), 0, 1, str(tmp_path / "staging"))
        assert made.problem is not None
        assert made.problem.startswith(f"{path}: not a capture: ")
        assert why in made.problem


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    made = shuffle_range(Range(str(tmp_path / "none"), 0), 0, 1, str(tmp_path / "staging"))
    assert made.problem == f"{tmp_path / 'none'}: No such file or directory"


def test_one_share_of_many(samples: Path, tmp_path: Path) -> None:
    names = [str(samples / "kcat-codecs.pcap"), str(samples / "java44-txn.pcap")]
    parts = [gather_share(names, share, 4, str(tmp_path / str(share))) for share in range(4)]
    packets = sum(shuffle_range(Range(name, 0), 0, 1, str(tmp_path / "all")).packets for name in names)
    assert sum(each.packets for staged, _ in parts for each in staged) == packets


def test_several_ranges_of_a_task_share_its_files(samples: Path, tmp_path: Path) -> None:
    """A file for each share, whatever the ranges are of; packets that can't be referred to have their own."""
    packed = tmp_path / "a.pcap.gz"
    packed.write_bytes(gzip.compress((samples / "ipv6.pcapng").read_bytes()))
    names = [str(samples / "java44-txn.pcap"), str(packed), str(samples / "kcat-codecs.pcap")]
    for refer in (False, True):
        made = shuffle_ranges(
            [Range(name, 0) for name in names], 0, Dealing(3, str(tmp_path / str(refer)), refer=refer)
        )
        sections = [each for one in made for each in one.staged]
        assert [one.part.uri for one in made] == names
        links = {(each.share, each.link, each.origin is None) for each in sections}
        assert len({each.uri for each in sections}) == len(links) < len(sections)
        alone = [shuffle_range(Range(name, 0), 0, 3, str(tmp_path / "alone"), refer=refer) for name in names]
        for found, expected in zip(made, alone, strict=True):
            assert [packets(each.whole) for each in found.staged] == [packets(each.whole) for each in expected.staged]


def test_ranges_in_groups() -> None:
    ranges = [Range(str(number), size) for number, size in enumerate([5, 4, 1, 20, 3, 3, 3])]
    sizes = [[each.size for each in group] for group in grouped(ranges, 10)]
    assert sizes == [[5, 4, 1], [20], [3, 3, 3]]
    assert grouped([], 10) == []
    assert Range("a", 100, 60, 90).length == 30
