import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

SIZE = 1 << 20


def mapped_file(path: Path) -> mmap.mmap:
    path.write_bytes(b"\1" * SIZE)
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)


def test_what_is_behind_a_files_end_reads_as_zeros(tmp_path: Path) -> None:
    guards = pytest.importorskip("kcli.core.snapshots.map_guard")
    path, other = tmp_path / "log", tmp_path / "other"
    with mapped_file(path) as mapped, mapped_file(other) as sound:
        guard, beside = guards.MapGuard(mapped), guards.MapGuard(sound)
        os.truncate(path, SIZE // 2 + 10)
        assert mapped[: SIZE // 2] == b"\1" * (SIZE // 2)
        assert not guard.was_cut
        assert mapped[-1] == 0
        assert (guard.was_cut, beside.was_cut) == (True, False)
        assert not any(mapped[SIZE // 2 + 10 :])
        assert sound[:] == b"\1" * SIZE
        for each in (guard, beside, guard):
            each.close()
        assert not guard.was_cut


def test_a_guard_is_free_again(tmp_path: Path) -> None:
    guards = pytest.importorskip("kcli.core.snapshots.map_guard")
    path = tmp_path / "log"
    for _ in range(200):
        with mapped_file(path) as mapped:
            guard = guards.MapGuard(mapped)
            os.truncate(path, 0)
            assert mapped[0] == 0
            assert guard.was_cut
            guard.close()


def test_another_map_ends_the_process_as_ever(tmp_path: Path) -> None:
    """The handler is for guarded maps: what is wrong elsewhere is not hidden."""
    pytest.importorskip("kcli.core.snapshots.map_guard")
    code = """
import mmap, os, sys
from kcli.core.snapshots.map_guard import MapGuard
path = sys.argv[1]
with open(path, "wb") as file: file.write(bytes(1 << 20))
with open(path, "rb") as file:
    one, two = (mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) for _ in range(2))
guard = MapGuard(one)
os.truncate(path, 0)
assert one[-1] == 0
print("so far", flush=True)
two[-1]
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "log")], capture_output=True, check=False)
    assert done.stdout == b"so far\n"
    assert done.returncode < 0
