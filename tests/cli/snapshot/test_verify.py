import io
import json
import shutil
import sys
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.snapshots.reading.load import load_snapshot
from kcli.snapshots.writing.write import write_snapshot
from tests.snapshots.files import LAST_431, LAWFUL, NODES, TRUTH, damaged, log_file, partition_folder
from tests.snapshots.quorum.folders import DIRECTORIES, make_node

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("case", sorted(each["case"] for each in TRUTH["damaged"]))
def test_exit_codes_and_findings(case: str, capfd: Captured) -> None:
    code = main(["snapshot", "verify", str(damaged(case)), "--format", "jsonl"])
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert code == (0 if case in LAWFUL else 1)
    assert code == any(row["severity"] == "error" for row in rows)
    for row in rows:
        assert list(row) == ["severity", "rule", "file", "offset", "message"]
        assert row["file"] == str(damaged(case))


def test_sound_files_and_directories(capfd: Captured) -> None:
    for node in NODES:
        assert main(["snapshot", "verify", str(partition_folder(node)), "--format", "table"]) == 0
        assert "sound" in capfd.readouterr().out
    assert main(["snapshot", "verify", *(str(log_file(path)) for path in TRUTH["files"])]) == 0


def copied(tmp_path: Path) -> Path:
    folder = tmp_path / "__cluster_metadata-0"
    shutil.copytree(partition_folder("431-single/n1"), folder)
    return folder


def reported(folder: Path, capfd: Captured) -> set[tuple[str, str, str]]:
    code = main(["snapshot", "verify", str(folder.parent), "--format", "jsonl"])
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert code == any(row["severity"] == "error" for row in rows)
    return {(row["severity"], row["rule"], Path(row["file"]).name) for row in rows}


def test_the_table_and_quiet(capfd: Captured) -> None:
    assert main(["snapshot", "verify", str(damaged("no-footer")), "--format", "table"]) == 1
    text = capfd.readouterr().out
    assert "error  footer" in text
    assert text.rstrip().endswith("1 error")
    assert main(["snapshot", "verify", str(damaged("many-batches")), "--format", "table", "--quiet"]) == 0
    assert capfd.readouterr().out == ""


def test_standard_input_has_no_name_to_be_wrong(monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(damaged("wrong-name-log").read_bytes())))
    assert main(["snapshot", "verify", "-"]) == 0
    assert capfd.readouterr().out == "standard input: sound\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(damaged("no-footer").read_bytes())))
    assert main(["snapshot", "verify", "-", "--format", "jsonl"]) == 1
    (row,) = map(json.loads, capfd.readouterr().out.splitlines())
    assert row["file"] == "standard input"


def test_the_rest_is_verified_where_one_can_t_be_read(tmp_path: Path, capfd: Captured) -> None:
    sound, unsound, capture = str(log_file(LAST_431)), str(damaged("no-footer")), "samples/kcat-codecs.pcap"
    for other, reason in (("nowhere", "No such file or directory"), (capture, "no snapshot (looks like a capture")):
        assert main(["snapshot", "verify", other, sound, unsound, "--format", "table"]) == 3
        captured = capfd.readouterr()
        assert captured.err.startswith(f"kcli: {other}: {reason}") and captured.err.count("\n") == 1
        assert captured.out.splitlines()[0] == f"{sound}: sound"
        assert captured.out.splitlines()[-1] == f"{unsound}: 1 error"
    folder = copied(tmp_path)
    missing = folder / "00000000000000000952-0000000001.checkpoint"
    missing.unlink()
    missing.symlink_to(tmp_path)
    (folder / "00000000000000000427.log").unlink()
    (folder / "00000000000000000427.log").symlink_to(folder / "0")
    assert main(["snapshot", "verify", str(folder)]) == 1  # links that lead nowhere are no files of the log


def test_replay(tmp_path: Path, capfd: Captured) -> None:
    folder = copied(tmp_path)
    assert main(["snapshot", "verify", "--replay", str(folder), str(partition_folder("431-single/n1"))]) == 0
    assert capfd.readouterr().out.count(": sound\n") == 2
    state = tmp_path / "state"
    assert main(["snapshot", "create", "--log", str(folder), "--at-offset", "1302", "-o", str(state)]) == 0
    target = folder / "00000000000000001600-0000000001.checkpoint"
    target.unlink()
    shutil.copy(next(state.iterdir()), target)
    capfd.readouterr()
    assert main(["snapshot", "verify", "--replay", "--format", "jsonl", str(folder)]) == 1
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert {row["rule"] for row in rows} == {"contradiction", "replay"}
    assert {row["file"] for row in rows} == {str(target)}
    made = next(row["message"] for row in rows if row["rule"] == "replay")
    assert made.startswith("not what the log makes of snapshot 952-1: ")


def test_two_snapshots_of_one_id(tmp_path: Path, capfd: Captured) -> None:
    """One id with two contents is an error, with --replay or without it."""
    files = [str(partition_folder(node) / "00000000000000001600-0000000001.checkpoint") for node in ("431-single/n1",)]
    other = copied(tmp_path) / "00000000000000001600-0000000001.checkpoint"
    found = load_snapshot(memoryview(other.read_bytes()))
    found.configs[2, "ghost"] = {"retention.ms": "1002166"}
    found.provenance.end_offset, found.provenance.epoch = 1600, 1
    out = bytearray()
    write_snapshot(found, out.extend, now_ms=1)
    other.unlink()
    other.write_bytes(out)
    files.append(str(other))
    assert main(["snapshot", "verify", files[0], files[0]]) == 0
    assert main(["snapshot", "verify", "--replay", *files, "nowhere"]) == 3
    for options in ([], ["--replay"]):
        capfd.readouterr()
        assert main(["snapshot", "verify", *options, "-q", *files]) == 1
        assert "config TOPIC ghost retention.ms: value 1002166 here, none there" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({}, None),
        ({"directory.id": DIRECTORIES[5]}, f"directory.id {DIRECTORIES[5]} of node.id 1; the log's voter 1 has"),
        ({"node.id": 2}, "and this one is voter 1's"),
        ({"node.id": 9}, "node.id 9, with the directory.id of voter 1"),
        ({"node.id": 9, "directory.id": DIRECTORIES[5]}, None),  # a broker
    ],
)
def test_meta_properties_are_held_to_the_voters(
    properties: dict[str, object], says: str | None, tmp_path: Path, capfd: Captured
) -> None:
    node = make_node(tmp_path, 1, (1, 50))
    path = tmp_path / "node1" / "meta.properties"
    path.write_text(path.read_text() + "".join(f"{name}={value}\n" for name, value in properties.items()))
    for folder in (node, f"{node}/__cluster_metadata-0"):
        assert main(["snapshot", "verify", folder]) == (1 if says else 0)
        out = capfd.readouterr().out
        assert says is None or (says in out and f"{path}: " in out)


def test_a_file_that_kafka_was_fetching_is_a_note(tmp_path: Path, capfd: Captured) -> None:
    """Kafka's own name for it has a random number."""
    folder = copied(tmp_path)
    (folder / "00000000000000003102-0000000001-11365709761579177788.checkpoint.part").write_bytes(b"x")
    assert main(["snapshot", "verify", str(folder)]) == 0
    assert "11365709761579177788.checkpoint.part: left over" in capfd.readouterr().out


def test_what_is_no_file(tmp_path: Path, capfd: Captured) -> None:
    """A loop of links ended the check; folders and pipes in place of files were passed over."""
    folder = copied(tmp_path)
    (folder / "partition.metadata").unlink(missing_ok=True)
    (folder / "partition.metadata").mkdir()
    loop = folder / f"{10**9:020d}.log"
    loop.symlink_to(loop)
    (folder / f"{10**9:020d}-{1:010d}.checkpoint").symlink_to(folder / "nothing")
    assert reported(folder, capfd) >= {
        ("error", "files", "partition.metadata"),
        ("note", "files", loop.name),
        ("error", "files", f"{10**9:020d}-{1:010d}.checkpoint"),
    }


def test_json_lines_have_their_verdict_on_stderr(capfd: Captured) -> None:
    assert main(["snapshot", "verify", str(partition_folder("431-single/n1")), "--format", "jsonl"]) == 0
    captured = capfd.readouterr()
    assert (captured.out, captured.err.endswith(": sound\n")) == ("", True)


def test_what_is_not_there(capfd: Captured) -> None:
    assert main(["snapshot", "verify", "nowhere"]) == 3
    assert main(["snapshot", "verify"]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 2
