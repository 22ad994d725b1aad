"""Findings of traffic that still goes on."""

from __future__ import annotations

from pathlib import Path

from kcli.diagnose.diagnosis import Scope
from kcli.diagnose.following import follow
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
