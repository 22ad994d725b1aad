import shutil
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.report.command import are_metadata
from tests.snapshots.files import partition_folder
from tests.snapshots.quorums import eventful

pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
Captured = pytest.CaptureFixture[str]


def test_a_page(tmp_path: Path, capfd: Captured) -> None:
    out = tmp_path / "report.html"
    assert main(["report", str(partition_folder("440-three/n1")), "-o", str(out)]) == 0
    assert "What the metadata says: " in out.read_text()
    assert capfd.readouterr().err == f"report in {out} ({out.stat().st_size // 1000:,} kB)\n"
    assert main(["report", str(eventful(tmp_path)), "-o", "-"]) == 0
    assert capfd.readouterr().out.startswith("<!doctype html>")


def test_what_can_be_read_of_a_damaged_log(tmp_path: Path, capfd: Captured) -> None:
    place, out = eventful(tmp_path), tmp_path / "report.html"
    log = place / f"{100:020d}.log"
    log.write_bytes(log.read_bytes()[:-9])
    assert main(["report", str(place), "-o", str(out), "-q"]) == 3
    assert "Not everything could be read" in out.read_text()
    assert capfd.readouterr().err.count("\n") == 1


def test_what_is_a_metadata_log(samples: Path, tmp_path: Path) -> None:
    node = partition_folder("440-three/n1").parent
    assert are_metadata((str(node), str(node / "__cluster_metadata-0")))
    assert not are_metadata((str(samples),))  # captures, and a metadata log among them
    assert not are_metadata((str(tmp_path),))
    (tmp_path / "__cluster_metadata-0").mkdir()
    assert are_metadata((str(tmp_path),))
    shutil.copy(samples / "ipv6.pcapng", tmp_path)
    assert not are_metadata((str(tmp_path),))


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["{log}", "{capture}"], 2, "not a metadata log, but other inputs are"),
        (["{log}", "--api", "Fetch"], 2, "the options that choose exchanges are for captures"),
        (["{empty}"], 3, "neither a snapshot nor a log segment is here"),
    ],
)
def test_what_is_wrong_is_one_line(
    words: list[str], code: int, why: str, samples: Path, tmp_path: Path, capfd: Captured
) -> None:
    (tmp_path / "x" / "__cluster_metadata-0").mkdir(parents=True)
    places = {"log": eventful(tmp_path), "capture": samples / "ipv6.pcapng", "empty": tmp_path / "x"}
    out = tmp_path / "out.html"
    assert main(["report", *(word.format(**places) for word in words), "-o", str(out)]) == code
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and why in said
    assert not out.exists()
