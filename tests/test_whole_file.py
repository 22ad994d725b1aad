"""Files that another program cuts off while kcli reads them: what was there is shown, and the rest is said."""

import os
from pathlib import Path

import pytest

from kcli.errors import InputError
from kcli.records.reading import read_segment
from kcli.whole_file import WholeFile
from tests.capture.wires import SAMPLES
from tests.inside import kcli

SAID = "another program cut it off while it was read: from {} to {} bytes"
READERS = (
    ("decode", "segment"),
    ("decode", "segment", "--format", "jsonl"),
    ("decode", "segment", "--format", "parquet", "-o", "OUT"),
    ("records",),
    ("records", "--format", "jsonl"),
    ("sql", "select count(*) from records"),
    ("down-convert", "--to-magic", "1", "-o", "OUT"),
    (),
)
CAPTURE_READERS = (
    ("decode", "pcap"),
    ("decode", "pcap", "--format", "jsonl", "--jobs", "2"),
    ("records",),
    ("stats",),
    ("sql", "select count(*) from exchanges"),
    ("diagnose",),
    ("redact", "-o", "OUT"),
)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Sizes to which files of these names are cut as soon as they are open."""
    sizes: dict[str, int] = {}
    first = WholeFile.__init__

    def opened(self: WholeFile, path: str) -> None:
        first(self, path)
        if (size := sizes.pop(Path(path).name, None)) is not None:
            os.truncate(path, size)

    monkeypatch.setattr(WholeFile, "__init__", opened)
    return sizes


@pytest.mark.parametrize("command", READERS, ids=" ".join)
@pytest.mark.parametrize("share", [0, 0.5])
def test_a_log(command: tuple[str, ...], share: float, cut: dict[str, int], tmp_path: Path) -> None:
    log = tmp_path / "orders-0" / "00000000000000000000.log"
    log.parent.mkdir()
    log.write_bytes(data := (SAMPLES / "orders-0" / log.name).read_bytes())
    left = cut[log.name] = int(len(data) * share)
    ended = kcli(*(str(tmp_path / "out") if word == "OUT" else word for word in command), str(log))
    assert ended.returncode == 3 and f"kcli: {log}: {SAID.format(len(data), left)}" in ended.stderr


@pytest.mark.parametrize("command", CAPTURE_READERS, ids=" ".join)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_capture(command: tuple[str, ...], share: float, cut: dict[str, int], tmp_path: Path) -> None:
    """One that is cut between the look at its first packet and its reading, too: many files may be read meanwhile."""
    capture = tmp_path / "taken.pcap"
    capture.write_bytes(data := (SAMPLES / "java44-txn.pcap").read_bytes())
    left = cut[capture.name] = int(len(data) * share)
    ended = kcli(*(str(tmp_path / "out") if word == "OUT" else word for word in command), str(capture))
    assert ended.returncode == 3 and SAID.format(len(data), left) in ended.stderr


def test_what_was_there_comes_first(cut: dict[str, int], tmp_path: Path) -> None:
    log = tmp_path / "1.log"
    log.write_bytes(data := (SAMPLES / "orders-0" / "00000000000000000000.log").read_bytes())
    whole = list(read_segment(str(log)))
    cut[log.name] = whole[3].position + whole[3].size + 5
    found = list[int]()
    with pytest.raises(InputError, match=SAID.format(len(data), cut[log.name])):
        found.extend(batch.base_offset for batch in read_segment(str(log)))
    assert found == [batch.base_offset for batch in whole[:4]]


def test_a_log_that_grows(tmp_path: Path) -> None:
    log = tmp_path / "1.log"
    log.write_bytes(b"one")
    with WholeFile(str(log)) as file, log.open("ab") as more:
        more.write(b", two")
        more.flush()
        assert file.read() == b"one, two"
        more.truncate(3)
        assert file.cut() == SAID.format(8, 3)
        more.write(b", two")


@pytest.mark.parametrize("command", [("records",), ("decode", "segment"), ("down-convert", "--to-magic", "1")])
def test_an_empty_file_is_a_log_by_its_name_alone(command: tuple[str, ...], tmp_path: Path) -> None:
    """One of another name may be a capture that lost what it held."""
    for name, code in (("taken.pcap", 3), ("1.log", 0)):
        (tmp_path / name).touch()
        ended = kcli(*command, str(tmp_path / name), "-o", str(tmp_path / "out"))
        assert ended.returncode == code and ("record batches (empty)" in ended.stderr or command[0] == "down-convert")
