import json
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from tests.snapshots.files import partition_folder, unpacked

FOLDER = partition_folder("431-single/n1")
Captured = pytest.CaptureFixture[str]


def rows(capfd: Captured, *options: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    assert main(["snapshot", "log", str(folder), "--format", "jsonl", "-q", *options]) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    return [json.loads(line) for line in captured.out.splitlines()]


def test_a_topic_s_life(capfd: Captured) -> None:
    """The smallest history that drifts: created with a config, and removed with it."""
    assert main(["snapshot", "log", str(unpacked("drift") / "n1"), "--topic", "ord*", "--to", "70"]) == 0
    captured = capfd.readouterr()
    lines = [line.split(maxsplit=3) for line in captured.out.splitlines()]
    assert [(offset, epoch) for _, offset, epoch, _ in lines[:3]] == [("55", "1"), ("56", "1"), ("57", "1")]
    texts = [text for *_, text in lines]
    assert texts[:2] == ["+ topic orders", "+ config TOPIC orders retention.ms: value 1002166"]
    assert texts[2].startswith("+ partition orders-0: replicas [1,2], ")
    assert "[]" not in texts[2]
    assert texts[-2:] == ["- topic orders: partitions 3", "- config TOPIC orders retention.ms: value 1002166"]
    assert {when[:16] for when, *_ in lines} == {"2026-11-23T06:48"}
    count = len(lines)
    assert captured.err == f"{count} changes from offset 0 on; the metadata does not record who made them\n"


def test_everything(capfd: Captured) -> None:
    found = rows(capfd)
    assert [list(row)[:7] for row in found] == [["offset", "time", "epoch", "record", "change", "table", "key"]] * len(
        found
    )
    assert [row["offset"] for row in found] == sorted(row["offset"] for row in found)
    assert {row["table"] for row in found} >= {"leader", "brokers", "topics", "partitions", "configs", "acls"}
    assert not [row for row in found if row["record"] == "RemoveTopicRecord" and row["table"] == "partitions"]
    text = json.dumps(found)
    assert '"redacted"' in text
    assert '"redacted"' not in json.dumps(rows(capfd, "--show-secrets"))


def test_removed_acls_have_their_names(capfd: Captured) -> None:
    removed = [row["row"] for row in rows(capfd, "--acl", "*") if row["change"] == "deleted"]
    assert removed
    assert all(row["principal"].startswith("User:") and row["operation"] for row in removed)
    principal = removed[0]["principal"]
    assert {row["row"]["principal"] for row in rows(capfd, "--acl", principal)} == {principal}


def test_configs_and_brokers(capfd: Captured) -> None:
    assert {row["key"][2] for row in rows(capfd, "--config", "retention.m*")} == {"retention.ms"}
    found = rows(capfd, "--broker", "1")
    assert {row["table"] for row in found} == {"brokers", "configs", "controllers", "partitions"}
    assert {row["key"][0] for row in found if row["table"] == "configs"} == {"BROKER"}
    assert {row["table"] for row in rows(capfd, "--broker", "77")} <= {"configs"}
    both = rows(capfd, "--broker", "1", "--topic", "*")
    assert {row["table"] for row in both} == {"partitions"}


def test_from_and_to(capfd: Captured) -> None:
    found = rows(capfd)
    some = [row for row in found if 960 <= row["offset"] < 1200]
    assert rows(capfd, "--from", "960", "--to", "1200") == some
    middle = some[len(some) // 2]["time"]
    assert rows(capfd, "--from", middle) == [row for row in found if row["time"] >= middle]
    assert rows(capfd, "--to", middle) == [row for row in found if row["time"] <= middle]
    assert rows(capfd, "--from", "2030-01-01T00:00:00Z") == []


def test_a_log_without_its_beginning(capfd: Captured) -> None:
    folder = partition_folder("440-three/n1")
    assert main(["snapshot", "log", str(folder)]) == 0
    captured = capfd.readouterr()
    assert (
        "from offset 2555 on; changes before 2555 are not shown, because the state before them is unknown"
        in captured.err
    )
    assert captured.out.splitlines()[0].split()[1] >= "2555"


def test_a_gap_is_told(tmp_path: Path, capfd: Captured) -> None:
    import shutil

    folder = shutil.copytree(FOLDER, tmp_path / "log")
    (folder / "00000000000000000641.log").unlink()
    assert main(["snapshot", "log", str(folder), "--to", "1300", "-q"]) == 3
    captured = capfd.readouterr()
    assert captured.out
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--from", "yesterday"], 2, "--from yesterday: an offset, or an ISO 8601 time expected"),
        (["--to", "2026-13-01"], 2, "--to 2026-13-01: an offset, or"),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, text: str, capfd: Captured) -> None:
    assert main(["snapshot", "log", str(FOLDER), *arguments]) == code
    assert text in capfd.readouterr().err


def test_without_a_state_to_begin_with(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "00000000000000001150.log").write_bytes((FOLDER / "00000000000000001150.log").read_bytes())
    assert main(["snapshot", "log", str(tmp_path)]) == 0
    assert "the log has no snapshot to start from" in capfd.readouterr().err
    snapshot = next(FOLDER.glob("*.checkpoint"))
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / snapshot.name).write_bytes(snapshot.read_bytes())
    assert main(["snapshot", "log", str(tmp_path / "only")]) == 0
    assert "there is no log here, only snapshots" in capfd.readouterr().err
