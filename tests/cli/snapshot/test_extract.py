from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.capture.wires import packets_of, pcap
from tests.snapshots.files import unpacked

CAPTURE = unpacked("wire") / "440-three-fetchsnapshot.pcap"
NAME = "00000000000000002555-0000000001.checkpoint"
Captured = pytest.CaptureFixture[str]


def test_the_snapshot_that_crossed_the_wire(tmp_path: Path, capfd: Captured) -> None:
    assert main(["snapshot", "extract", str(CAPTURE), "-o", str(tmp_path / "out")]) == 0
    assert capfd.readouterr().out.strip() == str(tmp_path / "out" / NAME)
    assert (tmp_path / "out" / NAME).read_bytes() == (unpacked("wire") / "440-three" / NAME).read_bytes()
    assert [each.name for each in (tmp_path / "out").iterdir()] == [NAME]


def test_once_more_over_the_same_file(tmp_path: Path, capfd: Captured) -> None:
    for _ in range(2):
        assert main(["snapshot", "extract", str(CAPTURE), "-o", str(tmp_path), "--quiet"]) == 0
    assert capfd.readouterr().out == ""


def test_another_file_of_that_id_gets_a_directory(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / NAME).write_bytes(b"other")
    assert main(["snapshot", "extract", str(CAPTURE), "-o", str(tmp_path)]) == 0
    assert (tmp_path / NAME).read_bytes() == b"other"
    assert Path(capfd.readouterr().out.strip()).parent.parent == tmp_path


@pytest.mark.parametrize("name", [NAME, f"127.0.0.1_21001-{NAME}.part"])
def test_a_capture_is_not_written_over(name: str, tmp_path: Path, capfd: Captured) -> None:
    """One that bears the name of what is in it."""
    assert main(["snapshot", "extract", str(CAPTURE), "-o", str(tmp_path / "first")]) == 0
    capture = tmp_path / name
    capture.write_bytes(CAPTURE.read_bytes())
    main(["snapshot", "extract", str(capture), "-o", str(tmp_path), "--quiet"])
    assert capture.read_bytes() == CAPTURE.read_bytes()


def test_a_capture_that_ends_early(tmp_path: Path, capfd: Captured) -> None:
    """Cut behind the snapshot's last packet, in the middle of another; and behind the last answer but one."""
    packets, cut = packets_of(CAPTURE), tmp_path / "cut.pcap"
    cut.write_bytes(CAPTURE.read_bytes()[:-2000])
    assert main(["snapshot", "extract", str(cut), "-o", str(tmp_path / "whole")]) == 3
    out, err = capfd.readouterr()
    assert out.strip() == str(tmp_path / "whole" / NAME) and "the file ends in the middle of a packet" in err
    whole = (tmp_path / "whole" / NAME).read_bytes()
    last = max(at for at, packet in enumerate(packets) if whole[-40:] in packet.data)
    cut.write_bytes(pcap(packets[:last]))
    assert main(["snapshot", "extract", str(cut), "-o", str(tmp_path / "out")]) == 3
    [part] = (tmp_path / "out").iterdir()
    there = part.read_bytes()
    assert part.suffix == ".part" and 0 < len(there) < len(whole) and whole.startswith(there)
    missing = f"{part}: {len(whole) - len(there):,} of {len(whole):,} bytes did not cross the wire here"
    assert capfd.readouterr() == ("", f"kcli: {missing}\n")


def test_only_what_was_asked_for_in_a_time(tmp_path: Path, capfd: Captured) -> None:
    words = ["snapshot", "extract", str(CAPTURE), "-o", str(tmp_path)]
    assert main([*words, "--until", "1970-01-01"]) == 1
    assert "kcli: nothing matches; packets here: 20" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main([*words, "--since", "+0", "--until", "+9999"]) == 0
    assert [each.name for each in tmp_path.iterdir()] == [NAME]


def test_nothing_there(tmp_path: Path, capfd: Captured) -> None:
    assert main(["snapshot", "extract", str(CAPTURE), "--port", "1", "-o", str(tmp_path)]) == 3
    assert "no snapshot in this capture" in capfd.readouterr().err
    assert main(["snapshot", "extract", "nowhere.pcap"]) == 3


def test_nothing_is_left_where_there_is_none(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "x").write_text("text")
    assert main(["snapshot", "extract", str(tmp_path / "x"), "-o", str(tmp_path / "out")]) == 3
    assert not (tmp_path / "out").exists() and "not a capture" in capfd.readouterr().err
