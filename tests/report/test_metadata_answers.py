from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError
from kcli.report.metadata_answers import read_metadata
from kcli.report.metadata_questions import QUESTIONS
from tests.snapshots.files import partition_folder
from tests.snapshots.made import NAME, snapshot
from tests.snapshots.quorums import FIRST, eventful


def rows(report: Any, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = report.answers.by_name[name].dicts()
    return found


def test_every_section_of_an_eventful_minute(tmp_path: Path) -> None:
    report = read_metadata([str(eventful(tmp_path))])
    assert report.problems == []
    assert list(report.answers.by_name) == [question.name for question, _ in QUESTIONS]
    assert (report.answers.first_ns, report.answers.last_ns) == (FIRST * 1_000_000, (FIRST + 60_000) * 1_000_000)
    lacking = [row["partitions"] for row in rows(report, "states_over_time") if row["state"] == "under-replicated"]
    assert (lacking[0], max(lacking), lacking[-1]) == (0, 1, 1)
    step = report.answers.step
    times = {row["time_ns"] for row in rows(report, "states_over_time")}
    assert len(times) == 60_000 * 1_000_000 // step + 1
    first = rows(report, "brokers")[0]
    assert (first["broker"], first["state"], first["replicas"], first["not_in_sync"], first["changes"]) == (
        1,
        "alive",
        2,
        1,
        2,
    )
    assert [row["state"] for row in rows(report, "broker_events")] == ["alive", "fenced"]
    (short,) = rows(report, "short_partitions")
    assert (short["topic"], short["partition"], short["state"], short["missing"]) == (
        "orders",
        0,
        "without leader",
        "1, 3",
    )
    (moved,) = rows(report, "leaders")
    assert (moved["changes"], moved["leader"], moved["leader_epoch"]) == (2, None, 2)
    assert [(row["epoch"], row["leader"]) for row in rows(report, "epochs")] == [(4, 7), (3, None)]
    assert {row["record"] for row in rows(report, "growth")} >= {"PARTITION_CHANGE_RECORD", "LEADER_CHANGE"}
    assert [row["loss"] for row in rows(report, "files")] == ["all", "from offset 100"]


def test_real_nodes_of_one_quorum() -> None:
    folder = partition_folder("440-three/n1")
    report = read_metadata([str(folder), str(folder.parent)])
    assert rows(report, "nodes")[1]["behind"] == 0
    assert report.image.provenance.end_offset == 3443
    moved = [(-row["changes"], row["topic"], row["partition"]) for row in rows(report, "leaders")]
    assert moved == sorted(moved) and len({changes for changes, *_ in moved}) < len({topic for _, topic, _ in moved})
    assert rows(report, "epochs")[0]["leader"] == 1  # by its quorum-state: the log begins later


def test_the_one_that_shows_most_is_reported(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / NAME).write_bytes(snapshot())
    report = read_metadata([str(tmp_path / "old"), str(eventful(tmp_path))])
    assert [row["behind"] for row in rows(report, "nodes")] == [7, 0]
    assert report.survey.folder == tmp_path / "__cluster_metadata-0"


def test_folders_with_less(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a snapshot nor a log"):
        read_metadata([str(tmp_path)])
    (tmp_path / NAME).write_bytes(snapshot())
    report = read_metadata([str(tmp_path)])
    assert report.answers.first_ns is None
    assert rows(report, "states_over_time") == [] and len(rows(report, "brokers")) == 3
    (tmp_path / f"{200:020d}.log").write_bytes(b"")
    (problem,) = read_metadata([str(tmp_path)]).problems
    assert "no snapshot here leads to it: the state is that of 100" in problem.text
