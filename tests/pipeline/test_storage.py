"""Files by path and URI: local ones, and those of an S3 server on loopback."""

import os
from pathlib import Path

import pytest

from kcli.errors import InputError, UsageError
from kcli.pipeline.journal import Journal
from kcli.pipeline.storage import StoragePath, gather, is_named_so


def test_a_folder_gives_what_looks_like_a_capture(tmp_path: Path) -> None:
    for name in ("a.pcap", "b.pcap12", "c.pcapng.gz", "notes.txt", ".hidden.pcap", "_tmp.pcap", "deep/d.cap"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    found = gather([str(tmp_path)])
    assert [Path(each.uri).name for each in found] == ["a.pcap", "b.pcap12", "c.pcapng.gz", "d.cap"]
    assert found[0].size == 1


def test_a_file_that_is_named_is_taken_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"x")
    assert [each.size for each in gather([str(tmp_path / "notes.txt"), str(tmp_path / "notes.txt")])] == [1]


def test_patterns_are_the_files_they_fit(tmp_path: Path) -> None:
    for name in ("a1/x.pcap", "a1/notes.txt", "a2/y.pcap", "b/z.pcap", "a[1].pcap"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    found = [Path(each.uri).name for each in gather([f"{tmp_path}/a?/*.pcap", f"{tmp_path}/[b]"])]
    assert found == ["x.pcap", "y.pcap", "z.pcap"]
    assert [each.size for each in gather([f"{tmp_path}/a[1].pcap"])] == [1]  # what is there by that very name
    assert len(gather([f"file://{tmp_path}/a*/x*"])) == 1
    with pytest.raises(InputError, match="No such file"):
        gather([f"{tmp_path}/c*"])


def test_a_relative_name_holds_in_other_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of Spark's workers."""
    monkeypatch.chdir(tmp_path)
    assert StoragePath("out").absolute.uri == str(tmp_path / "out")
    assert Journal("out").folder(Journal("out").begin()).startswith(str(tmp_path))
    assert StoragePath("file:///x").absolute.uri == "file:///x"


def test_a_missing_file_is_one_line() -> None:
    with pytest.raises(InputError, match=r"^/no/where: No such file or directory$"):
        gather(["/no/where"])


def test_an_unknown_scheme_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="nosuch://a"):
        StoragePath("nosuch://a")


def test_a_write_is_whole_and_a_move_can_be_repeated(tmp_path: Path) -> None:
    place = StoragePath(str(tmp_path)) / "deep" / "a"
    place.write(b"one")
    place.move(StoragePath(str(tmp_path)) / "b")
    place.move(StoragePath(str(tmp_path)) / "b")
    assert (StoragePath(str(tmp_path)) / "b").read() == b"one"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["b"]


@pytest.mark.parametrize(
    ("name", "good"), [("x/a.PCAP", True), ("a.pcap0.zst", True), ("a.log", False), ("a.pcap.txt", False)]
)
def test_names(name: str, good: bool) -> None:
    assert is_named_so(name, (".pcap",)) is good


def test_a_name_that_is_not_utf_8_is_one_line(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff.pcap")).write_bytes(b"")
    with pytest.raises(InputError, match="name is not UTF-8"):
        gather([str(tmp_path)])
    with pytest.raises(UsageError, match="paths in UTF-8 alone"):
        StoragePath(os.fsdecode(b"bad\xff"))


def test_keys_in_a_uri_are_refused() -> None:
    """They would stand in tables, as the name of each file does."""
    with pytest.raises(UsageError, match=r"s3://\[hidden\]@bucket/x: a URI must not contain keys") as said:
        StoragePath("s3://AK:S3CRET@bucket/x")
    assert "S3CRET" not in str(said.value)


def test_a_pipe_is_no_input(tmp_path: Path) -> None:
    """As of a shell's <(zstd -dc x.zst): it was taken for a folder."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="a pipe or a device"):
        gather([str(tmp_path / "pipe")])
