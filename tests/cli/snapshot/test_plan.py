import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from tests.snapshots.files import partition_folder

FOLDER = str(partition_folder("440-three/n1"))
Captured = pytest.CaptureFixture[str]


def plan(capfd: Captured, *arguments: str) -> dict[str, Any]:
    assert main(["snapshot", "plan", *arguments, "--format", "json"]) == 0
    answer: dict[str, Any] = json.loads(capfd.readouterr().out)
    return answer


def test_the_policy_of_a_real_directory(capfd: Captured) -> None:
    answer = plan(capfd, FOLDER, "--max-interval-ms", "0")
    assert answer["snapshots"] == ["2555-1", "2693-1", "2872-1", "3436-1"]
    assert (answer["logBeginOffset"], answer["highWatermark"], answer["snapshotDue"]) == (2440, 3443, False)
    assert (answer["recordsSinceSnapshot"], answer["logBeginMayAdvanceTo"]) == (7, 3436)
    assert answer["deletableSnapshots"] == ["2555-1", "2693-1", "2872-1"]
    assert [row["broker"] for row in answer["brokerLoss"]] == [1, 2, 3]


def test_given_figures(capfd: Captured) -> None:
    answer = plan(capfd, FOLDER, "--minimum-records", "6", "--replica", "2=2600", "--now-ms", "0")
    assert answer["snapshotDue"]
    assert (answer["logBeginMayAdvanceTo"], answer["deletableSnapshots"]) == (2600, ["2555-1"])
    waited = plan(capfd, FOLDER, "--replica", "2=2600", "--log-begin-age-ms", "5", "--max-replication-lag-ms", "5")
    assert waited["logBeginMayAdvanceTo"] == 3436
    assert plan(capfd, FOLDER, "--log-begin", "3440", "--high-watermark", "3443")["violations"]


def test_a_follower_and_a_voter(capfd: Captured) -> None:
    """KIP-630: where a follower's log may begin, and what a replica votes with."""
    answer = plan(capfd, FOLDER)
    assert (answer["logBeginFollowsTo"], answer["votesWith"]) == (None, {"offset": 3442, "epoch": 1})
    assert plan(capfd, FOLDER, "--leader-log-begin", "3436")["logBeginFollowsTo"] == 3436
    assert plan(capfd, FOLDER, "--leader-log-begin", "3437")["logBeginFollowsTo"] == 2440
    lost = plan(capfd, FOLDER, "--log-begin", "3440", "--high-watermark", "3443")
    assert lost["votesWith"] == {"offset": -1, "epoch": -1}
    assert main(["snapshot", "plan", FOLDER, "--format", "text", "--leader-log-begin", "3436"]) == 0
    text = capfd.readouterr().out
    assert "following the leader, the log begins at 3,436\nas a voter: offset 3,442, epoch 1\n" in text


def test_what_is_damaged_is_named_and_the_rest_is_said(tmp_path: Path, capfd: Captured) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "copy"))
    log = folder / "00000000000000002865.log"
    log.write_bytes(log.read_bytes()[:-7])
    assert main(["snapshot", "plan", str(folder), "--format", "json"]) == 3
    captured = capfd.readouterr()
    assert len(json.loads(captured.out)["files"]) == 7
    assert captured.err.count("\n") == 1 and f"{log}: at byte " in captured.err


def test_the_kip_s_arithmetic(capfd: Captured) -> None:
    """KIP-630's figures, as `snapshot plan` tells them."""
    (loss,) = plan(capfd, "--partitions", "30000", "--brokers", "99")["brokerLoss"]
    assert (loss["isrChangeBytes"], loss["isrChangeBytesReplicated"]) == (1_200_000, 118_800_000)
    assert main(["snapshot", "plan", "--partitions", "30000", "--brokers", "99", "--format", "text"]) == 0
    text = capfd.readouterr().out
    assert "1.14 MB a log, 113.29 MB replicated" in text
    assert "0.77 kB replicated" in text


def test_growth_and_losses(capfd: Captured, tmp_path: Path) -> None:
    answer = plan(capfd, FOLDER)
    assert answer["properties"] is None
    assert answer["growth"]["records"] == 3443 - 2440
    assert answer["growth"]["types"][0]["type"] == "PARTITION_CHANGE_RECORD"
    files = {each["file"]: each for each in answer["files"]}
    assert files["00000000000000002440.log"]["coveredBy"] == "3436-1"
    tail = files["00000000000000003249.log"]
    assert (tail["kind"], tail["offsets"], tail["stateEndsAt"]) == ("log", [3249, 3443], 3436)
    assert tail["lostOffsets"] == [3436, 3443]
    assert sum(tail["lostRecords"].values()) == 7
    assert files["00000000000000003436-0000000001.checkpoint"]["lostOffsets"] is None
    settings = tmp_path / "server.properties"
    settings.write_text("metadata.log.max.record.bytes.between.snapshots=100\n")
    given = plan(capfd, FOLDER, "--properties", str(settings))
    assert (given["snapshotDue"], given["properties"]) == (True, str(settings))
    assert given["projection"]["nextSnapshotByBytes"] == given["growth"]["to"]
    over = plan(capfd, FOLDER, "--properties", str(settings), "--max-bytes", "5000", "--max-interval-ms", "0")
    assert not over["snapshotDue"]
    assert main(["snapshot", "plan", FOLDER, "--properties", "nowhere"]) == 3
    capfd.readouterr()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [([], "a directory, or"), ([FOLDER, "--replica", "x"], "ID=OFFSET"), (["--brokers", "3"], "a directory, or")],
)
def test_wrong_usage(arguments: list[str], text: str, capfd: Captured) -> None:
    assert main(["snapshot", "plan", *arguments]) == 2
    assert text in capfd.readouterr().err


def test_a_batch_that_is_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "copy"))
    log = folder / "00000000000000003249.log"
    log.write_bytes(log.read_bytes() + log.read_bytes()[:70])
    monkeypatch.setattr("kcli.snapshots.reading.folder_survey.grows", lambda _file: True)
    assert plan(capfd, str(folder))["growth"]["beingWritten"] == 70
    assert main(["snapshot", "plan", str(folder)]) == 0
    captured = capfd.readouterr()
    assert "at the log's end 70 bytes of a batch that the node is writing: not counted\n" in captured.out
    assert captured.err == ""


def test_the_kip_s_settings_and_metrics(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """KIP-630: its two settings, which Apache Kafka does not have, and its measures under the names of metrics."""
    properties = tmp_path / "server.properties"
    properties.write_text("controller.snapshot.minimum.records=1\nmax.replication.lag.ms=5\n")
    folder = str(partition_folder("440-three/n1"))
    assert main(["snapshot", "plan", folder, "--properties", str(properties), "--format", "json"]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert answer["settings"]["max.replication.lag.ms"] == 5
    assert answer["snapshotDue"] is True
    assert any("more than 1" in reason for reason in answer["reasons"])
    size = answer["metrics"]["kafka.controller:type=KafkaController,name=SnapshotSizeBytes"]
    assert size == max(Path(folder).glob("*.checkpoint")).stat().st_size
