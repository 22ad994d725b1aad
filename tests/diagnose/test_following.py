"""Findings of traffic that still goes on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.diagnose.following import KEPT_S, QUIET_S, Follower, News, follow
from kcli.diagnose.scope import Scope
from kcli.diagnose.store import FactStore
from kcli.finding import Finding
from tests.diagnose.captured import DATA, diagnosed


def test_each_finding_is_told_once_however_often_it_is_judged() -> None:
    path = str(DATA / "busy-fetch-pricing.pcap.zst")
    found = [*follow([path], Scope(), every=0.0)]
    assert [each.finding for each in found] == ["busy-fetch"]
    assert found[0].subject == diagnosed("busy-fetch-pricing").findings[0].subject


@pytest.mark.parametrize(
    ("judgements", "appears"),
    [
        ([(0, "b"), (5, "b")], [0]),
        ([(0, "b"), (5, "ab"), (10, "a")], [0]),  # one client more, or one less, is the same finding
        ([(0, "b"), (5, "a")], [0, 5]),
        ([(0, "b"), (QUIET_S, "b"), (2 * QUIET_S, "b")], [0]),  # it goes on
        ([(0, "b"), (5, ""), (QUIET_S + 10, "b")], [0, QUIET_S + 10]),  # it comes back
        ([(0, "b"), (5, "B"), (10, "b"), (15, "B")], [0, 5]),  # it becomes critical
    ],
)
def test_a_finding_is_news_once_until_it_is_graver_or_comes_back(
    judgements: list[tuple[float, str]], appears: list[float]
) -> None:
    """An operator who reads the lines in the morning must see the second incident of the night, too."""
    now = [0.0]

    def found() -> Iterator[list[Finding]]:
        for now[0], names in judgements:
            clients = names.lower() if len(names) == 1 else [*names]
            severity = "critical" if names.isupper() else "warning"
            yield [Finding("busy-fetch", severity, {"client": clients, "group": "g"}, {}, "")] if names else []

    assert [now[0] for _ in News(lambda: now[0]).of(found())] == appears


@pytest.mark.parametrize(
    ("judgements", "told", "counted"),
    [
        ([(0, "S"), (5, "B<S")], ["0 S", "5 B(S)"], ["B"]),  # the cause is found later
        ([(0, "S"), (5, "B<N<S")], ["0 S", "5 B(S)"], ["B"]),  # the first cause of a chain
        ([(0, "S"), (5, "N<S"), (10, "B<N<S")], ["0 S", "5 N(S)", "10 B(N,S)"], ["B"]),
        ([(0, "B"), (5, "B S"), (10, "B<S")], ["0 B", "5 S"], ["B"]),  # the cause needs no second line
        ([(0, "B<S"), (5, "B S")], ["0 B", "5 S"], ["B", "S"]),  # another incident than before
        ([(0, "B<S"), (KEPT_S, "S")], ["0 B"], ["B"]),  # facts of the cause were dropped
        ([(0, "B<S"), (KEPT_S, "S"), (KEPT_S + 5, "S")], ["0 B", "455 S"], ["B", "S"]),  # it goes on without the cause
        ([(0, "S"), (QUIET_S + 10, "B<S")], ["0 S", "310 B"], ["B"]),  # an earlier one, of which nobody thinks
    ],
)
def test_a_cause_that_is_found_later_names_what_it_explains(
    judgements: list[tuple[float, str]], told: list[str], counted: list[str]
) -> None:
    """One cause is not told as several, and does not count as several at the end. "B<S": B explains S."""
    now = [0.0]

    def found() -> Iterator[list[Finding]]:
        for now[0], words in judgements:
            made = []
            for word in words.split():
                chain = [Finding(name, "warning", {"node": 3}, {}, "") for name in word.split("<")]
                for cause, each in pairwise(chain):
                    each.cause = cause
                made += chain
            yield made

    news = News(lambda: now[0])
    lines = []
    for each in news.of(found()):
        explains = f"({','.join(each.explains)})" if each.explains else ""
        lines.append(f"{now[0]:.0f} {each.finding}{explains}")
    assert lines == told
    assert [each.finding for each in news.reported()] == counted


def test_commands_have_the_key_log(samples: Path) -> None:
    keys = str(samples / "tls.keys")
    found = [*follow([str(samples / "tls.pcap")], Scope(), every=0.0, key_logs=[keys])]
    assert found and all(f" --key-log {keys}" in each.see for each in found)


@pytest.mark.parametrize(
    ("words", "here"),
    [(["--group", "pricing"], "groups here: pricing-cache, "), (["--topic", "prize"], "topics here: ")],
)
def test_a_name_that_nothing_has_is_told(words: list[str], here: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As without --follow: of nothing there is nothing to find, and that is no clean bill of health."""
    path = str(DATA / "busy-fetch-pricing.pcap.zst")
    assert main(["diagnose", path, "--follow", *words]) == 1
    said = capsys.readouterr()
    assert (
        said.err.startswith(f"kcli: nothing matches: no {words[0][2:]} {words[1]}; {here}")
        and said.err.count("\n") == 1
    )
    assert main(["diagnose", path, "--follow", *words, "-q"]) == 1 and not capsys.readouterr().err
    assert main(["diagnose", path, "--follow", "--group", "pricing-cache"]) == 1
    assert "busy-fetch" in capsys.readouterr().out


def test_a_name_that_comes_later_is_looked_for_until_then() -> None:
    path = str(DATA / "busy-fetch-pricing.pcap.zst")
    with FactStore() as store:
        follower = Follower(store, [path], Scope(group="pricing-cache", client="nobody"), every=0.0)
        unknown = [[each.kind for each in follower.unknown] for _ in follower.judgements()]
    assert unknown[-1] == ["client"]


def test_a_stream_ends_with_what_was_checked(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Silence alone could also mean that nothing could be judged."""
    busy = str(DATA / "busy-fetch-pricing.pcap.zst")
    ends = []
    for words in (["--follow"], []):
        assert main(["diagnose", busy, *words]) == 1
        ends.append(capsys.readouterr().out.splitlines()[-1])
    assert " checks over " in ends[0] and ends[0] == ends[1]
    assert main(["diagnose", busy, "--follow", "--format", "jsonl"]) == 1
    assert capsys.readouterr().err == f"kcli: {ends[0].rstrip('.')}\n"
    nothing = tmp_path / "nothing.pcap"
    nothing.write_bytes((samples / "kcat-codecs.pcap").read_bytes()[:24])
    assert main(["diagnose", str(nothing), "--follow"]) == 3
    said = capsys.readouterr()
    assert said.out.startswith("Nothing could be judged") and "nothing to judge" in said.err


def test_a_busy_machine_does_not_delay_judgements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judgement that waits 20 s for a processor and needs 0.4 s of it is followed by the next after 5 s, not 200."""
    wall = [0.0]

    class Judge(Follower):
        def judge(self, damage: Any = None) -> list[Finding]:
            judged.append(wall[0])
            wall[0] += 20
            return []

    def pieces() -> Iterator[None]:
        for _ in range(100):
            wall[0] += 1
            yield None

    judged: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: wall[0], process_time=lambda: 0.4 * len(judged))
    monkeypatch.setattr("kcli.diagnose.following.time", clock)
    with FactStore() as store:
        follower = Judge(store, [])
        monkeypatch.setattr(follower, "has_news", lambda: True)
        monkeypatch.setattr(follower.source, "read", pieces)
        [*follower.judgements()]
    assert judged[:3] == [5, 30, 55]
