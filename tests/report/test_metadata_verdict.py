import shutil
from pathlib import Path

from kcli.report.metadata_answers import read_metadata
from kcli.report.metadata_questions import QUESTIONS
from kcli.report.metadata_verdict import judge_metadata, metadata_figures
from tests.snapshots.files import partition_folder
from tests.snapshots.made import NAME, broker, image, snapshot
from tests.snapshots.quorums import eventful


def verdict(folder: Path) -> tuple[str, str, list[tuple[str, str]]]:
    found = judge_metadata(read_metadata([str(folder)]))
    assert {each.section for each in found.findings} <= {question.name for question, _ in QUESTIONS}
    return found.level, found.headline, [(each.level, each.text) for each in found.findings]


def test_all_is_well(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(snapshot())
    level, headline, found = verdict(tmp_path)
    assert (level, headline) == ("good", "Nothing to mend")
    assert ("good", "Every partition has a leader, and all its replicas in sync.") in found
    assert ("note", f"All of the state rests on one file of this node: {NAME}.") in found


def test_what_is_wrong_stands_first(tmp_path: Path) -> None:
    level, headline, found = verdict(eventful(tmp_path))
    assert (level, headline) == ("bad", "2 things to mend")
    assert found[0] == ("bad", "1 partition without a leader.")
    assert ("warning", "1 of 2 partitions under-replicated.") in found
    assert ("note", "The quorum had 2 leader epochs in this log.") in found


def test_brokers(tmp_path: Path) -> None:
    states = [
        ("RegisterBrokerRecord", broker(number, fenced=number < 3, inControlledShutdown=True)) for number in (1, 2, 3)
    ]
    (tmp_path / NAME).write_bytes(snapshot(image(*states)))
    _, _, found = verdict(tmp_path)
    assert ("warning", "2 brokers fenced: 1, 2.") in found
    assert ("note", "1 broker in controlled shutdown: 3.") in found


def test_a_state_that_has_passed(tmp_path: Path) -> None:
    place = eventful(tmp_path)
    log = place / f"{100:020d}.log"
    data = log.read_bytes()
    log.write_bytes(data[: data.rindex((106).to_bytes(8, "big"))])  # before partition 0 loses its leader
    level, _, found = verdict(place)
    assert level == "good"
    assert ("note", "Up to 1 partition under-replicated at one time.") in found


def test_damage(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(partition_folder("440-three/n1"), tmp_path / "__cluster_metadata-0"))
    for file in folder.glob("*.checkpoint"):
        file.unlink()
    _, _, found = verdict(folder)
    assert found[0][0] == found[1][0] == "bad"
    assert "a replica takes such a log as empty" in " ".join(text for _, text in found)


def test_figures(tmp_path: Path) -> None:
    found = dict(metadata_figures(read_metadata([str(eventful(tmp_path))])))
    assert found["metadata.version"] == "4.3-IV0"
    assert (found["brokers"], found["partitions"], found["offset"], found["leader epoch"]) == ("3", "2", "107", "4")
    assert found["time"] == "60.0 s"
