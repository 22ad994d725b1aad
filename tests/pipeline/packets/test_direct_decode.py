"""Captures that one task reads as they are: the counts of each are those of the first stage."""

import gzip
from pathlib import Path

from kcli.core.capture.engine import CaptureEngine
from kcli.pipeline.packets.direct_decode import CombinedCaptures
from kcli.pipeline.packets.ranges import Range
from kcli.pipeline.rows.row_source import RowSource
from kcli.pipeline.storage import StoredFile
from tests.capture.wires import packets_of, pcap
from tests.pipeline.packets.shuffling import shuffle_range

NAMES = ("packets", "tcp", "others", "cuts", "fragments", "unknown_links", "payload", "first_ns", "last_ns", "problem")


def read(paths: list[Path]) -> CombinedCaptures:
    made: list[CombinedCaptures] = []

    def opened(engine: CaptureEngine, new_reader: object) -> CombinedCaptures:
        files = [StoredFile(str(path), path.stat().st_size, 0) for path in paths]
        made.append(CombinedCaptures(files, engine, new_reader))  # type: ignore[arg-type]
        return made[0]

    RowSource(lambda *_: None).run(opened)
    return made[0]


def alike(paths: list[Path], folder: Path) -> None:
    """Both ways say the same of each file."""
    for path, found in zip(paths, read(paths).scattered, strict=True):
        expected = shuffle_range(Range(str(path), 0), 0, 1, str(folder))
        assert {name: getattr(found, name) for name in NAMES} == {name: getattr(expected, name) for name in NAMES}
        assert list(map(plain, found.events)) == list(map(plain, expected.events))


def plain(event: object) -> dict[str, object]:
    return {name: getattr(event, name) for name in ("kind", "offset", "size", "reason", "file")}


def test_files_of_one_time_keep_their_own_counts(samples: Path, tmp_path: Path) -> None:
    packets = packets_of(samples / "java44-txn.pcap")
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.pcap")
        paths[-1].write_bytes(pcap(packets[number::3], nano=True))
    alike([*paths, samples / "ipv6.pcapng"], tmp_path / "staging")


def test_what_is_wrong_is_told_of_its_file(samples: Path, tmp_path: Path) -> None:
    whole = (samples / "java44-txn.pcap").read_bytes()
    contents = {
        "cut.pcap": whole[:-7], "damaged.pcap": whole[:5000] + bytes(333) + whole[5000:],
        "bad.pcap": b"GIF89a" + bytes(50), "short.pcap": b"abc", "empty.pcap": b"",
        "cut.pcap.gz": gzip.compress(whole)[:-900],
    }  # fmt: skip
    paths = [tmp_path / name for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_bytes(content)
    alike([*paths, samples / "kcat-codecs.pcap"], tmp_path / "staging")
    assert all(each.problem for each in read(paths).scattered)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    engine = RowSource(lambda *_: None).engine
    captures = CombinedCaptures([StoredFile(str(tmp_path / "none"), 0, 0)], engine, lambda: None)
    assert [each.problem for each in captures.scattered] == [f"{tmp_path / 'none'}: No such file or directory"]
