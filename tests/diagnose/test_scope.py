"""Which findings a scope chooses."""

from functools import cache

import pytest

from kcli.diagnose import Diagnosis, Finding, Scope, diagnose
from kcli.diagnose.finding_text import checked_text
from tests.diagnose.captured import DATA

S = 10**9
TICKETS = str(DATA / "broker-crash-tickets.pcap.zst")


@cache
def found(since: float | None = None, until: float | None = None) -> Diagnosis:
    """The diagnosis of a time, in seconds behind the capture's first packet."""
    first = 0 if since is until is None else found().overview.time.first_ns or 0
    at = [None if each is None else first + int(each * S) for each in (since, until)]
    return diagnose([TICKETS], Scope(since=at[0], until=at[1]))


def test_a_time_chooses_what_is_told_and_not_what_is_judged() -> None:
    whole = found()
    [crash] = [each for each in whole.findings if each.finding == "broker-crash"]
    seconds = whole.overview.time.seconds()
    told = [found(0, at / 8 * seconds).findings for at in range(1, 9)]
    counts = [sum(each.finding == "broker-crash" for each in findings) for findings in told]
    assert counts == sorted(counts) and counts[0] == 0 and counts[-1] == 1
    assert all(each.evidence == crash.evidence for findings in told for each in findings if each == crash)
    assert found(0, seconds / 8).overview == whole.overview
    assert not found(0, seconds / 8).is_grave and whole.is_grave
    assert checked_text(found(since=1)).rpartition(" since ")[0] == checked_text(whole)


@pytest.mark.parametrize(
    ("since", "until", "told"),
    [(None, 9, False), (None, 10, True), (12, None, True), (13, None, False), (11, 11, True), (13, 14, False)],
)
def test_the_time_of_a_finding_overlaps(since: int | None, until: int | None, told: bool) -> None:
    finding = Finding("f", "info", {}, {"from": "1970-01-01T00:00:10.000000Z", "to": "1970-01-01T00:00:12.000000Z"}, "")
    scope = Scope(since=since and since * S, until=until and until * S)
    assert scope.includes(finding, {}, {}) == told
    assert scope.includes(Finding("packet-loss", "info", {}, {}, ""), {}, {})  # sums have no times


@pytest.mark.parametrize(
    ("scope", "told"),
    [
        (Scope(client="web-*"), "web others"),
        (Scope(client="!web-?"), "job others"),
        (Scope(client="!web-1"), "web job others"),
        (Scope(client="agent"), "web others"),  # it is of the same group
        (Scope(client="web-1,job"), "web job others"),
        (Scope(client="web-[3-9]"), "others"),
        (Scope(group="ship*"), "web others"),
        (Scope(group="!shipping"), "job others"),
        (Scope(topic="ord*"), "web job others"),
        (Scope(topic="id-of-*"), "web job others"),
        (Scope(topic="!orders"), "web others"),
    ],
)
def test_names_are_chosen_as_by_other_commands(scope: Scope, told: str) -> None:
    found = [
        Finding("web", "info", {"client": ["web-1", "web-2"], "group": "shipping"}, {}, ""),
        Finding("job", "info", {"client": "job", "topic": "orders"}, {}, ""),
        Finding("others", "info", {"node": 3}, {}, ""),
    ]
    groups = {"web-1": ["shipping"], "agent": ["shipping"], "job": ["jobs"]}
    told_of = [each.finding for each in found if scope.includes(each, groups, {"orders": "id-of-orders"})]
    assert told_of == told.split()


def test_a_time_without_a_packet_is_told_as_a_name_that_is_not_there() -> None:
    late = found(since=3600)
    [unknown] = late.unknown
    assert unknown.kind == "packet" and not late.findings and late.judged
    assert checked_text(late).startswith(f"nothing matches: no packet {late.scope.times}; packets here: 2026-")
