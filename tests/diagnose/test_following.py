"""Findings of traffic that still goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.diagnose.following import Follower, follow
from kcli.diagnose.scope import Scope
from kcli.diagnose.store import FactStore
from tests.diagnose.captured import DATA, diagnosed


def test_each_finding_is_told_once_however_often_it_is_judged() -> None:
    path = str(DATA / "busy-fetch-pricing.pcap.zst")
    found = [*follow([path], Scope(), every=0.0)]
    assert [each.finding for each in found] == ["busy-fetch"]
    assert found[0].subject == diagnosed("busy-fetch-pricing").findings[0].subject


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
