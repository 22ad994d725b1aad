"""`kcli fetch-session explain` and `lint`, as a user calls them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fetch_capture import write_capture
from kcli.cli.main import main
from tests.sessions.captured import DATA, rows_of
from tests.sessions.test_incremental_checks import an_unmoved_partition_is_asked_for_again, the_right_epoch_is_refused

EVICTION = str(DATA / "fetch-session-eviction.jsonl.gz")
LINT, EXPLAIN = ["fetch-session", "lint"], ["fetch-session", "explain"]
JSONL = ["--format", "jsonl"]


def written(path: Path, rows: list[Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def refused(tmp_path: Path) -> str:
    rows = rows_of("fetch-session-eviction")
    the_right_epoch_is_refused(rows)
    return written(tmp_path / "refused.jsonl", rows)


def test_a_clean_capture(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LINT, EVICTION]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "537 fetches, 22 sessions: no rule broken; 71 sessions requested and not granted, 8 sessions evicted" in err
    assert main([*LINT, "--quiet", EVICTION]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_finding_is_a_line_that_names_frame_session_and_rule(
    refused: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*LINT, refused]) == 1
    out, err = capsys.readouterr()
    assert out.count("\n") == 1 and "1 error" in err
    for part in (
        "2026-11-21T01:40:",
        "127.0.0.1:21270-127.0.0.1:44382 #13",
        "session 93695179",
        "epoch-refused (broker)",
    ):
        assert part in out


def test_what_was_read_is_summed_up_beside_what_was_not(refused: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Path(refused).open("a") as file:
        file.write("not JSON\n")
    assert main([*LINT, refused]) == 3
    err = capsys.readouterr().err
    assert "1 error" in err and "not a line of JSON" in err


def test_what_is_chosen_is_counted_beside_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """A client without a session is none of them; where nothing is shown, nothing is said of rules."""
    samples = Path(__file__).parents[3] / "samples"
    assert main([*LINT, str(samples / "kcat-codecs.pcap"), "--api", "fetch"]) == 0
    assert "17 of 17 fetches, 0 of 0 sessions: nothing" in capsys.readouterr().err
    assert main([*EXPLAIN, str(samples / "java44-txn.pcap"), "--session", "99"]) == 1
    said = capsys.readouterr()
    assert not said.out and "nothing matches; sessions here: " in said.err


def test_findings_as_json(refused: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LINT, "--format", "jsonl", refused]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["rule"], found["side"], found["severity"]) == ("epoch-refused", "broker", "error")
    assert (found["sessionId"], found["correlationId"], found["clientId"]) == (93695179, 13, "sess-6")


def test_notes_leave_the_exit_code_at_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("fetch-session-eviction")
    an_unmoved_partition_is_asked_for_again(rows)
    path = written(tmp_path / "a.jsonl", rows)
    assert main([*LINT, path]) == 0
    assert "asked-again (client, note)" in capsys.readouterr().out
    assert main([*LINT, "--no-notes", path]) == 0
    assert capsys.readouterr().out == ""


def test_sessions_as_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*EXPLAIN, *JSONL, EVICTION]) == 0
    made = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len([each for each in made if each["sessionId"]]) == 22
    assert main([*EXPLAIN, *JSONL, "--client-id", "sess-6", EVICTION]) == 0
    assert {json.loads(line)["clientId"] for line in capsys.readouterr().out.splitlines()} == {"sess-6"}
    assert main([*EXPLAIN, *JSONL, "--session", "93695179", EVICTION]) == 0
    assert [json.loads(line)["end"] for line in capsys.readouterr().out.splitlines()] == ["evicted"]


def test_captures_and_ports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "made.pcap"
    write_capture(path, sessions=3, partitions=20, fetches=60, changes=2)
    assert main([*EXPLAIN, *JSONL, str(path)]) == 0
    assert [json.loads(line)["fetches"] for line in capsys.readouterr().out.splitlines()] == [20, 20, 20]
    for other, code in ((str(path), 3), (EVICTION, 0)):
        assert main([*EXPLAIN, *JSONL, "--port", "9", other]) == code
        out, err = capsys.readouterr()
        assert out == "" and ("on other ports than --port" in err) == (code == 3)
    assert main([*EXPLAIN, *JSONL, "--port", "21270", EVICTION]) == 0
    assert capsys.readouterr().out.count("\n") > 22


def test_several_captures_are_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("fetch-session-eviction")
    parts = [written(tmp_path / f"{n}.jsonl", part) for n, part in enumerate((rows[:200], rows[200:]))]
    assert main([*EXPLAIN, *JSONL, *parts]) == 0
    split = capsys.readouterr().out
    assert main([*EXPLAIN, *JSONL, EVICTION]) == 0
    assert capsys.readouterr().out == split


def test_standard_input_of_either_kind(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    write_capture(path, sessions=3, partitions=20, fetches=60, changes=2)
    for data, fetches in (
        (path.read_bytes(), "60 fetches"),
        (json.dumps(rows_of("mid-stream")[2]).encode(), "1 fetch, 1 session:"),
    ):
        command = [sys.executable, "-m", "kcli.cli.main", *LINT, "-"]
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (0, b"") and fetches in done.stderr.decode()


def test_lines_that_make_no_sense_are_named_and_the_rest_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps(row) for row in rows_of("fetch-session-eviction")]
    path.write_text("\n".join([lines[0], "not JSON", '{"requestHeader": {}}', *lines[1:]]))
    assert main([*EXPLAIN, str(path)]) == 3
    out, err = capsys.readouterr()
    assert len(out.splitlines()) > 20
    assert f"{path}: line 2: not a line of JSON" in err and f"{path}: line 3: no exchange as" in err


def test_a_file_that_is_neither(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.gif"
    path.write_bytes(b"GIF89a" + bytes(100))
    assert main([*LINT, "-q", str(path)]) == 3
    assert "not a capture" in capsys.readouterr().err
    assert main([*LINT, str(tmp_path / "nothing")]) == 3


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(LINT) == 2
    assert main([*EXPLAIN, "--format", "xml", EVICTION]) == 2
    capsys.readouterr()


@pytest.mark.parametrize("as_lines", [False, True])
def test_sessions_of_the_draft(as_lines: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture, dialect = str(DATA / "draft/one.pcap.gz"), ["--schema", "kip-227-draft"]
    if as_lines:
        assert main(["decode", "pcap", "--format", "jsonl", "--quiet", *dialect, capture]) == 0
        capture = str(tmp_path / "lines.jsonl")
        Path(capture).write_text(capsys.readouterr().out)
        dialect = []
    assert main([*LINT, *dialect, capture]) == 0
    assert "11 fetches, 2 sessions: nothing to find fault with" in capsys.readouterr().err
    assert main([*EXPLAIN, "--format", "jsonl", "--quiet", *dialect, capture]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["end"], first["fetches"], first["full"], first["apiVersion"]) == ("replaced", 7, 1, 7)
    assert first["next"]["sessionId"] == second["sessionId"]
    assert second["partitions"]["last"] == 2
