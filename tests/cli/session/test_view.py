"""What `explain` looks like on a terminal."""

import subprocess
import sys
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.session.view import BLOCKS, print_styled, strips
from kcli.core.sessions.fetches import Timeline
from tests.sessions.captured import DATA


def shown(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    path = DATA / f"{name}.jsonl.gz"
    assert main(["fetch-session", "explain", "--format", "table", str(path)]) == 0
    return capsys.readouterr().out


def test_an_eviction(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown("fetch-session-eviction", capsys)
    assert "session 93695179  sess-6 -> 127.0.0.1:21270   01:40:15 - 01:42:21   34 fetches (1 full)" in text
    assert "evicted by session 886563 at 01:42:21.892" in text and "FETCH_SESSION_ID_NOT_FOUND" in text
    assert "new session 2097170948 after 386 ms" in text
    assert "a session was requested and not granted" in text
    assert " of records, " in text and " empty polls, answers after " in text
    assert text.rstrip().splitlines()[-1].startswith("no rule of KIP-227 is broken. (kcli fetch-session lint")


@pytest.mark.parametrize("command", ["explain", "lint"])
def test_without_a_fetch_no_rule_is_said_to_hold(
    command: str, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch-session", command, str(samples / "tls.pcap")]) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).removeprefix("kcli: ") == "no Fetch: there is no session to check\n"


def test_the_command_has_the_key_log(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = f"--key-log {samples / 'tls.keys'}"
    assert main(["fetch-session", "explain", "--format", "table", str(samples / "tls.pcap"), *keys.split()]) == 0
    assert f"kcli fetch-session lint {samples / 'tls.pcap'} {keys}" in capsys.readouterr().out


def test_partitions_that_come_and_go_or_never_deliver(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown("fetch-session-1200", capsys)
    assert "partitions 1,200 -> 840 (1,080 added, 1,440 forgotten)" in text
    assert "closed by the client" in text and "partitions never delivered: " in text
    assert "as full fetches 3.1 MB" in text


def test_followers_and_sessions_from_before(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown("leader-change", capsys)
    assert "follower 2 (broker-2-fetcher-0) -> 127.0.0.1:214" in text
    assert "its last partition was forgotten" in text and "no session is wanted" in text
    assert "began before the capture" in shown("mid-stream", capsys)


def test_a_pipe_needs_no_rich() -> None:
    path = str(DATA / "fetch-session-eviction.jsonl.gz")
    run = f"from kcli.cli.main import main; main(['fetch-session', 'explain', '--format', 'table', {path!r}])"
    script = f"import sys; {run}; sys.exit('rich.text' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)


def test_parts_of_a_line_are_put_together_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_styled([(("one", "bold"), (" \x1b[31mtwo", "")), ()])
    assert capsys.readouterr().out == "one \\x1b[31mtwo\n\n"


def test_strips_are_as_wide_as_each_other() -> None:
    strip = Timeline()
    for ns, bytes_, full in ((0, 100, True), (5_000_000, 1, False), (9_000_000, 50, False)):
        strip.add(ns, bytes_, full)
    marks, bars = strips(strip)
    assert marks == "█·········" and len(bars) == len(marks)
    assert bars[0] == BLOCKS[-1] and bars[1] == " " and bars[5] == BLOCKS[1]
