import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.snapshot.image import shown_value, write_columns
from tests.snapshots.files import LAST_431, TRUTH, damaged, log_file, partition_folder, unpacked, without_default_quotas

FILE = str(log_file(LAST_431))
FOLDER = str(partition_folder("440-three/n1"))
Captured = pytest.CaptureFixture[str]


def run(capfd: Captured, *arguments: str) -> str:
    assert main(["snapshot", "image", *arguments]) == 0
    return capfd.readouterr().out


def test_figures(capfd: Captured) -> None:
    summary = json.loads(run(capfd, FILE, "--format", "json"))["summary"]
    assert (summary["topics"], summary["acls"], summary["endOffset"]) == (28, 39, 1600)
    for words, offset in ((["--at-offset", "2700"], 2700), ([], 3443)):
        assert json.loads(run(capfd, FOLDER, *words, "--format", "json"))["summary"]["endOffset"] == offset
    for words in ([], ["--format", "text"], ["--format", "table"]):
        lines = run(capfd, FILE, "--log", str(Path(FILE).parent), *words).splitlines()
        assert (
            lines[0].split() == ["endOffset", "1,602"] and lines[-1] == f"  kcli snapshot image {FILE} --ask by-broker"
        )


def test_figures_on_a_narrow_terminal_stay_in_their_column(
    capfd: Captured, monkeypatch: pytest.MonkeyPatch, samples: Path
) -> None:
    file = str(max((samples / "__cluster_metadata-0").glob("*.checkpoint")))
    wide = run(capfd, file).splitlines()
    assert next(line.split(maxsplit=1) for line in wide if line.startswith("features "))[1].count(" 1, ") == 3
    monkeypatch.setattr("kcli.cli.snapshot.image.terminal_room", lambda _: 50)
    lines = run(capfd, file).splitlines()
    assert max(map(len, lines)) <= 50
    lines, wide = (each[: each.index("Next:")] for each in (lines, wide))  # a shell joins the lines of the commands
    assert [line[18:] for line in lines if line.startswith(" " * 18)]
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(wide).split())


def test_figures_of_nothing() -> None:
    values: list[object] = [{}, [], None, 0, 1496]
    assert list(map(shown_value, values)) == ["-", "-", "-", "0", "1,496"]


def test_the_whole_tree_is_the_shell_s(capfd: Captured) -> None:
    shell = (unpacked("logs") / "431-single" / "metadata-shell-tree.txt").read_text()
    ours = run(capfd, FILE, "tree", "/", "--secrets").splitlines()
    assert without_default_quotas(ours) == without_default_quotas(shell[: shell.index("local:")].splitlines())


def test_ls_cat_find(capfd: Captured) -> None:
    assert run(capfd, FILE, "ls", "/image/cluster").split() == ["brokers", "controllers"]
    assert run(capfd, FILE, "ls", "features/metadataVersion") == "/image/features/metadataVersion\n"
    assert "/image/cluster:" in run(capfd, FILE, "ls", "/image/c*")
    assert run(capfd, FILE, "cat", "features/metadataVersion") == "Optional[4.3-IV0]\n"
    found = run(capfd, FILE, "find", "topics/byName/s12-churn1").split()
    assert found[0] == "/image/topics/byName/s12-churn1"
    assert "/image/topics/byName/s12-churn1/id" in found


def test_a_pattern(capfd: Captured) -> None:
    text = run(capfd, FILE, "--path", "features/finalized_g*")
    assert text == "/image/features/finalized_group.version:\n  1\n" or text == "1\n"
    rows = [json.loads(line) for line in run(capfd, FILE, "--path", "features/*", "--format", "jsonl").splitlines()]
    assert {"path": "/image/features/metadataVersion", "value": "Optional[4.3-IV0]"} in rows


def test_questions(capfd: Captured) -> None:
    rows = [json.loads(line) for line in run(capfd, FILE, "--ask", "offline", "--format", "jsonl").splitlines()]
    assert len(rows) == 297
    assert json.loads(run(capfd, FOLDER, "--ask", "fenced", "--format", "json"))[0]["broker"] == 1
    assert "broker  registered  fenced" in run(capfd, FOLDER, "--ask", "by-broker")


def test_tables(capfd: Captured) -> None:
    rows = [json.loads(line) for line in run(capfd, FILE, "--format", "jsonl").splitlines()]
    assert sum(row["table"] == "partitions" for row in rows) == 297
    whole = json.loads(run(capfd, FILE, "--format", "json"))
    assert len(whole["acls"]) == TRUTH["files"][LAST_431]["acls"]
    assert whole["summary"]["topics"] == len(whole["topics"]) == 28


def test_parquet(capfd: Captured, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run(capfd, FILE, "--format", "parquet", "-o", str(tmp_path / "out")) == ""
    partitions = parquet.read_table(tmp_path / "out" / "partitions.parquet").to_pylist()
    assert len(partitions) == 297
    assert partitions[0]["eligibleLeaderReplicas"] == [1]
    assert len(parquet.read_table(tmp_path / "out" / "voters.parquet").to_pylist()) == 1


def test_stats(capfd: Captured) -> None:
    assert main(["snapshot", "image", FILE, "--stats"]) == 0
    assert "LoadSnapshotLatencyMs" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ([FILE, "--format", "parquet"], 2, "-o"),
        ([FILE, "ls", "/", "--ask", "offline"], 2, "one of them at most"),
        ([FILE, "cat", "features"], 3, "is a directory"),
        ([FILE, "cat", "nothing"], 3, "no such node"),
        ([FILE, "dig"], 2, "dig"),
        ([FOLDER, "--at-offset", "99999"], 3, "not reached"),
        ([str(damaged("orphan-partition"))], 3, "does not exist"),
    ],
)
def test_what_is_wrong(arguments: list[str], code: int, text: str, capfd: Captured) -> None:
    assert main(["snapshot", "image", *arguments]) == code
    assert text in capfd.readouterr().err


def test_columns() -> None:
    rows: list[dict[str, object]] = [{"a": 1, "b": [1, 2]}, {"a": True, "b": None}]
    lines: list[str] = []
    write_columns(rows, lines.append)
    assert lines == ["a    b", "1    1,2", "yes  -", "2 rows"]
    lines.clear()
    write_columns([], lines.append)
    assert lines == ["none"]


def test_the_state_at_a_time(capfd: Captured) -> None:
    folder = str(partition_folder("431-single/n1"))
    assert main(["snapshot", "image", folder, "--at-time", "2026-11-21T01:15:34.398Z", "--format", "json"]) == 0
    found = json.loads(capfd.readouterr().out)["summary"]
    assert (found["endOffset"], found["time"]) == (952, "2026-11-21T01:15:34.398Z")
    assert main(["snapshot", "diff", f"{folder}@952", f"{folder}@2026-11-21T01:15:34.398Z", "--exit-code"]) == 0
    for arguments, code in ((["--at-time", "x"], 2), (["--at-time", "2026-11-21", "--at-offset", "5"], 2)):
        assert main(["snapshot", "image", folder, *arguments]) == code
    file = str(next(Path(folder).glob("*1600*")))
    assert main(["snapshot", "image", file, "--at-time", "2026-11-21"]) == 2
    assert "give the directory, or --log" in capfd.readouterr().err


def test_without_a_broker(capfd: Captured) -> None:
    folder = str(partition_folder("440-three/n1"))
    found = json.loads(run(capfd, folder, "--without", "broker=1", "--format", "json"))
    assert found["summary"]["without"] == [1]
    assert {row["leader"] == 1 or 1 not in row["isr"] for row in found["partitions"]} == {True}
    text = run(capfd, folder, "--without", "broker=1")
    assert text.splitlines()[0].split() == ["without", "[1]"]
    assert main(["snapshot", "image", folder, "--without", "broker=999999"]) == 2
    assert "no such broker is registered" in capfd.readouterr().err
    assert main(["snapshot", "image", folder, "--without", "rack=a", "--ask", "offline"]) == 2
