"""Files and directories of captures."""

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.io.capture_files import captures_in
from kcli.errors import InputError
from tests.capture.wires import DATA, SAMPLES


def test_a_directory_stands_for_the_captures_below(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    shutil.copy(SAMPLES / "ipv6.pcapng", tmp_path / "deep" / "b")
    shutil.copy(SAMPLES / "java44-txn.pcap", tmp_path / "a.pcap1")
    shutil.copy(DATA / "mid-stream.pcap.zst", tmp_path / "z.zst")
    (tmp_path / "notes.txt").write_text("no capture")
    (tmp_path / "lines.gz").write_bytes(gzip.compress(b"{}"))
    (tmp_path / "cut.gz").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "cut.zst").write_bytes(b"\x28\xb5\x2f\xfd\xff\xff")
    found = captures_in(("-", "missing", str(tmp_path)))
    assert found == ("-", "missing", *(str(tmp_path / name) for name in ("a.pcap1", "deep/b", "z.zst")))


def test_a_file_that_may_not_be_read_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader names it, behind what it read of the others."""
    for name in ("mine.pcap", "roots.pcap"):
        shutil.copy(SAMPLES / "kcat-codecs.pcap", tmp_path / name)
    opened = Path.open

    def open_mine(path: Path, *options: Any) -> Any:
        if path.name == "roots.pcap":  # root may read every file
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *options)

    monkeypatch.setattr(Path, "open", open_mine)
    assert [Path(each).name for each in captures_in([str(tmp_path)])] == ["mine.pcap", "roots.pcap"]


def test_a_directory_without_any(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no capture in this directory"):
        captures_in((str(tmp_path),))
