import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.snapshots.files import partition_folder
from tests.snapshots.made import broker
from tests.snapshots.quorums import metadata_batch

FOLDER = str(partition_folder("440-three/n1"))
Captured = pytest.CaptureFixture[str]


def test_a_downgrade(capfd: Captured) -> None:
    assert main(["snapshot", "check", FOLDER, "--against", "3.9"]) == 1
    captured = capfd.readouterr()
    assert any(line.startswith("error  lost: eligible leader replicas (") for line in captured.out.splitlines())
    assert ": from 4.0-IV1 on" in captured.out
    assert captured.err.endswith("-> 3.9-IV0: Kafka refuses this downgrade, even if nothing would be lost\n")
    assert main(["snapshot", "check", FOLDER, "--against", "3.9", "--format", "jsonl", "-q"]) == 1
    captured = capfd.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert {tuple(row) for row in rows} == {("severity", "what", "count", "example", "needs", "file", "offset")}
    assert captured.err == ""


def test_what_is_no_step_down(capfd: Captured) -> None:
    assert main(["snapshot", "check", f"{FOLDER}@2555", "--against", "4.4"]) == 0
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(": no change\n")
    old = str(partition_folder("332-single/n3"))
    assert main(["snapshot", "check", old, "--against", "3.3"]) == 0
    assert main(["snapshot", "check", old, "--against", "3.4-IV0"]) == 1  # its broker is one of 3.3
    captured = capfd.readouterr()
    assert "error  broker 3 supports 3.0-IV1 to 3.3-IV3 only (1: broker 3)" in captured.out
    assert captured.err.endswith(": an upgrade\n")
    # 3.4 starts on it, and registers as what it is.
    assert main(["snapshot", "check", old, "--against", "3.4"]) == 0
    assert "note   broker 3 supports 3.0-IV1 to 3.3-IV3 only: it needs the new software" in capfd.readouterr().out


def test_what_is_refused(capfd: Captured) -> None:
    assert main(["snapshot", "check", FOLDER]) == 2
    assert main(["snapshot", "check", FOLDER, "--against", "0.8"]) == 2
    assert main(["snapshot", "check", "nowhere", "--against", "3.9"]) == 3
    assert len(capfd.readouterr().err.splitlines()) == 3


def test_a_level_that_was_raised_and_lowered_stops_an_older_node(tmp_path: Path, capfd: Captured) -> None:
    """Roll-back needs the log that a node must replay, and not the image alone; a snapshot behind it is the cure."""
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    levels = [("FeatureLevelRecord", {"name": "metadata.version", "featureLevel": each}) for each in (19, 21, 19)]
    log = b"".join(metadata_batch(place, each) for place, each in enumerate(levels))
    (folder / f"{0:020d}.log").write_bytes(log)
    command = ["snapshot", "check", str(tmp_path), "--against", "3.7", "--format", "jsonl"]
    assert main(command) == 1
    error, cure = (json.loads(line) for line in capfd.readouterr().out.splitlines())
    assert (error["severity"], error["offset"]) == ("error", 1)
    assert f"kcli snapshot create --log {tmp_path}" in cure["what"]
    assert main(["snapshot", "create", "--log", str(tmp_path)]) == 0
    capfd.readouterr()
    assert main(command) == 0
    assert capfd.readouterr().out == ""


def test_a_level_that_is_in_force_is_to_be_lowered_first(capfd: Captured) -> None:
    assert main(["snapshot", "check", str(partition_folder("391-three/n11")), "--against", "3.8"]) == 0
    captured = capfd.readouterr()
    assert captured.out.startswith("note   metadata.version 3.9-IV0 is in force: nodes of 3.8 start once it is lowered")


def test_no_snapshot_is_a_cure_while_a_level_is_in_force_that_kafka_does_not_lower(
    tmp_path: Path, capfd: Captured
) -> None:
    """A 4.4 controller's log against 4.2: a snapshot has the new registrations again."""
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    records = [
        ("FeatureLevelRecord", {"name": "metadata.version", "featureLevel": 33}),
        ("RegisterBrokerRecord", broker(1)),
    ]
    log = b"".join(metadata_batch(place, each, newest=True) for place, each in enumerate(records))
    (folder / f"{0:020d}.log").write_bytes(log)
    assert main(["snapshot", "check", str(tmp_path), "--against", "4.2"]) == 1
    out = capfd.readouterr().out
    assert "RegisterBrokerRecord v4" in out and "cure" not in out
    assert "nodes of 4.2 do not start, and Kafka does not lower it" in out


def test_a_level_in_force_that_kafka_does_not_lower_keeps_older_nodes_from_starting(
    tmp_path: Path, capfd: Captured
) -> None:
    """Even without any record that they lack: 4.3.0 does not start on a log of 4.4-IV2."""
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    level = {"name": "metadata.version", "featureLevel": 33}
    (folder / f"{0:020d}.log").write_bytes(metadata_batch(0, ("FeatureLevelRecord", level)))
    assert main(["snapshot", "check", str(tmp_path), "--against", "4.3"]) == 1
    assert capfd.readouterr().out.startswith("error  metadata.version 4.4-IV2 is in force: nodes of 4.3 do not start")
