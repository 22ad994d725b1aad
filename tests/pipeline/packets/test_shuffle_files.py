"""What the first stage leaves: copies or indexes, read alike; and captures that change in between."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

from kcli.core.capture.packets import PacketReader
from kcli.errors import InputError
from kcli.pipeline import stages
from kcli.pipeline.packets.ranges import Range
from kcli.pipeline.packets.shuffle_files import Origin, Slice, at_hand, vote
from kcli.pipeline.spark import hand_out
from tests.pipeline.outputs import assert_decoded, run_here
from tests.pipeline.packets.shuffling import packets, shuffle_range


def test_an_index_reads_as_a_copy_does(samples: Path, tmp_path: Path) -> None:
    for name in ("java44-txn.pcap", "kcat-codecs.pcap"):
        for shares in (1, 4):
            copied, referred = (
                shuffle_range(Range(str(samples / name), 0), 0, shares, str(tmp_path / str(refer)), refer=refer).staged
                for refer in (False, True)
            )
            assert all(each.origin is not None and Path(each.uri).suffix == ".index" for each in referred)
            assert all(each.origin is None and Path(each.uri).suffix == ".pcap" for each in copied)
            assert [packets(each.whole) for each in referred] == [packets(each.whole) for each in copied]
            assert sum(Path(each.uri).stat().st_size for each in referred) < sum(each.bytes for each in copied) / 8


def test_what_cannot_be_referred_to(samples: Path, tmp_path: Path) -> None:
    packed = tmp_path / "a.pcap.gz"
    packed.write_bytes(gzip.compress((samples / "java44-txn.pcap").read_bytes()))
    assert Origin.of(str(packed)) is None
    assert Origin.of(str(tmp_path / "none")) is None
    made = shuffle_range(Range(str(packed), 0), 0, 1, str(tmp_path / "staging"), refer=True)
    assert [each.origin for each in made.staged] == [None]


def test_a_capture_may_grow_but_not_change(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    data = (samples / "java44-txn.pcap").read_bytes()
    path.write_bytes(data)
    (staged,) = shuffle_range(Range(str(path), 0), 0, 1, str(tmp_path / "staging"), refer=True).staged
    whole = packets(staged.whole)
    path.write_bytes(data + bytes(100))
    assert packets(staged.whole) == whole
    for other in (data[:-1], bytes(1) + data[1:]):
        path.write_bytes(other)
        with pytest.raises(InputError, match="has changed while it was read: it was rewritten"):
            packets(staged.whole)
    path.unlink()
    with pytest.raises(InputError, match="has changed while it was read: No such file"):
        packets(staged.whole)


def test_a_capture_cut_while_it_is_read(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes((samples / "java44-txn.pcap").read_bytes())
    (staged,) = shuffle_range(Range(str(path), 0), 0, 1, str(tmp_path / "staging"), refer=True).staged
    file, _ = staged.whole.open(PacketReader)
    os.truncate(path, 3000)
    with pytest.raises(InputError, match=rf"^{path}: has changed while it was read: [\d,]+ bytes at 0x"):
        while file.fill():
            file.use(len(file.data))
    file.close()


def test_a_run_over_a_capture_that_is_written_anew_leaves_nothing(
    samples: Path, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ring.pcap"
    path.write_bytes((samples / "java44-txn.pcap").read_bytes())
    decode = stages.Stages.decode

    def overtaken(self: stages.Stages, scattered: object) -> object:
        path.write_bytes((samples / "kcat-codecs.pcap").read_bytes())
        return decode(self, scattered)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(stages.Stages, "decode", overtaken)
        with pytest.raises(InputError, match="run again"):
            run_here([path], output, shares=2)
    run_here([path], output, shares=2)
    assert_decoded(output, [path])


def test_a_task_says_what_is_wrong_with_its_input(spark: Any) -> None:
    def fail(number: int) -> int:
        if number:
            raise InputError("has changed", file="ring.pcap")
        return number

    with pytest.raises(InputError, match=r"^ring.pcap: has changed$"):
        hand_out(spark, [0, 1], fail)


def test_local_files_are_at_hand_already(samples: Path) -> None:
    part = Slice(str(samples / "java44-txn.pcap"))
    with at_hand([part]) as here:
        assert here == [part]


def test_votes_of_two_pieces() -> None:
    assert vote((7, 5), (7, 3)) == (7, 8)
    assert vote((7, 5), (8, 3)) == (7, 2)
    assert vote((7, 5), (8, 9)) == (8, 4)
    assert vote((0, 0), (8, 9)) == (8, 9)
