"""`kcli decode FILE`: the kind of the file chooses the command."""

import base64
import shutil
from pathlib import Path

from kcli.cli.decode.choice import COMMANDS, ELSEWHERE
from kcli.cli.front.screens import SCREENS
from tests.inside import kcli
from tests.records.slips.making import batch_bytes


def test_a_folder_of_snapshots_alone_is_inspected(samples: Path, tmp_path: Path) -> None:
    """It was "no log segment in this directory", though `kcli DIR` reads it."""
    snapshot = min(samples.rglob("*.checkpoint"))
    folder = tmp_path / "data" / "__cluster_metadata-0"
    folder.mkdir(parents=True)
    shutil.copy(snapshot, folder)
    for place in (folder, folder.parent):
        done = kcli("decode", str(place))
        assert (done.returncode, done.stdout) == (0, kcli("snapshot", "inspect", str(place)).stdout)
    shutil.copy(next(iter(samples.rglob("orders-0/*.log"))), folder)
    assert kcli("decode", str(folder)).stdout.startswith(kcli("decode", "segment", str(folder)).stdout[:200])


def test_each_kind_of_file_has_its_command() -> None:
    assert set(SCREENS) | {"capture"} == set(COMMANDS) | set(ELSEWHERE)


def test_batches_are_decoded_as_batches_also_in_text(tmp_path: Path) -> None:
    whole = batch_bytes([(b"k", b"v")] * 5)
    texts = {"batch.hex": whole.hex().encode(), "batch.txt": base64.b64encode(whole), "cut.bin": whole[:70]}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
        done = kcli("decode", str(tmp_path / name))
        assert done.returncode == (3 if name == "cut.bin" else 0)
        assert '"event":"truncated"' in done.stdout if name == "cut.bin" else '"magic":2' in done.stdout


def test_the_first_file_that_is_nothing_is_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(name.encode() * 9)
    done = kcli("decode", str(tmp_path / "one"), str(tmp_path / "two"))
    assert (done.returncode, done.stdout) == (3, "") and str(tmp_path / "one") in done.stderr
