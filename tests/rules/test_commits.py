"""Commits: of each record, or of what each Fetch brings."""

from pathlib import Path

import pytest

from kcli.diagnose import Finding, diagnose
from kcli.diagnose.diagnosis import read_facts
from kcli.diagnose.store import FactStore
from tests.capture.messages import metadata, request, response
from tests.capture.wires import pcap
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, fetched, found, told
from tests.rules.test_sharing import later


def reader(times: int, pairs_each: int, version: int, *, each: bool, wait: int = 0, port: int = 40000) -> Talk:
    """A member that reads a record a Fetch, and two in each so many, and commits each of them, or the last alone.
    wait: how long it waits for the answer."""
    talk, offset = Talk("reader", port), 0
    for number in range(times):
        records = 2 if pairs_each and number % pairs_each == 0 else 1
        asked = {
            "maxWaitMs": 500, "minBytes": 1, "maxBytes": 1 << 20, "sessionId": 0, "sessionEpoch": -1,
            "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": offset}]}],
        }  # fmt: skip
        part = {"partitionIndex": 0, "highWatermark": offset + records, "records": batch_bytes([(b"", b"v")] * records)}
        talk.call(1, 11, asked, {"responses": [{"topic": "orders", "partitions": [part]}]}, SECOND // 40)
        for done in range(1, records + 1) if each else (records,):
            parts = [{"partitionIndex": 0, "committedOffset": offset + done}]
            commit = {"groupId": "g", "generationIdOrMemberEpoch": 1, "memberId": "m",
                      "topics": [{"name": "orders", "partitions": parts}]}  # fmt: skip
            taken = {"topics": [{"name": "orders", "partitions": [{"partitionIndex": 0}]}]}
            talk.number += 1
            talk.wire.client(request(8, version, talk.number, commit, talk.client))
            talk.wire.now += wait
            talk.wire.server(response(8, version, talk.number, taken))
            talk.wire.now += SECOND // 40
        offset += records
    return talk


@pytest.mark.parametrize(
    ("pairs_each", "version", "each", "severity"),
    [(20, 8, True, "warning"), (20, 8, False, "info"), (0, 8, False, "warning"), (0, 5, False, "info"),
     (20, 5, True, "warning")],
)  # fmt: skip
def test_a_commit_for_what_a_fetch_brings(
    tmp_path: Path, pairs_each: int, version: int, *, each: bool, severity: str
) -> None:
    """Where no Fetch brings two records, the library alone tells which it is: version 5 is asked by kafkajs."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(reader(160, pairs_each, version, each=each).wire.packets))
    found: list[Finding] = diagnose([str(path)]).findings
    assert [(one.finding, one.severity) for one in found] == [("commit-per-record", severity)], found
    assert ("each record" in found[0].text) == (severity == "warning")


def test_commits_of_two_captures(tmp_path: Path) -> None:
    """The hour between them is no time without commits."""
    paths = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    for number, path in enumerate(paths):
        path.write_bytes(
            pcap(later(reader(60, 20, 8, each=True, port=40000 + number), 3600 * SECOND * number).wire.packets)
        )
    [finding] = (each for each in diagnose([*map(str, paths)]).findings if each.finding == "commit-per-record")
    assert finding.evidence["commits"] == 126 and finding.evidence["seconds"] < 8


@pytest.mark.parametrize("wait", [SECOND // 5, 0])
def test_a_few_commits_a_second_are_many_for_a_client_that_does_nothing_but_wait_for_them(
    wait: int, tmp_path: Path
) -> None:
    talk = Talk("reader")
    part = reader(60, 20, 8, each=True, wait=wait)
    if not wait:
        for packet_number, packet in enumerate(part.wire.packets):
            part.wire.packets[packet_number] = packet._replace(ns=packet.ns + packet_number * SECOND // 20)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([*talk.wire.packets, *part.wire.packets]))
    found = [each for each in diagnose([str(path)]).findings if each.finding == "commit-per-record"]
    assert len(found) == (1 if wait else 0)


def test_commits_by_a_topics_id_have_its_name(tmp_path: Path) -> None:
    """Also if the name is learned after the first of them; the offsets of both are there."""
    known, unknown = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
    talk = Talk("reader")
    for offset in (7, 8):
        asked = {
            "groupId": "g", "generationIdOrMemberEpoch": 1, "memberId": "m",
            "topics": [{"topicId": each, "partitions": [{"partitionIndex": 0, "committedOffset": offset}]}
                       for each in (known, unknown)],
        }  # fmt: skip
        accepted = [{"topicId": each, "partitions": [{"partitionIndex": 0}]} for each in (known, unknown)]
        talk.call(8, 10, asked, {"topics": accepted})
        for message, side in zip(metadata(99, topic_id=known), (talk.wire.client, talk.wire.server), strict=True):
            side(message)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(talk.wire.packets))
    with FactStore() as store:
        read_facts([str(path)], store, lambda _moved: None, {})
        rows = [*store.ask("SELECT topic, committed_offset FROM commits")]
    assert sorted((row["topic"], row["committed_offset"]) for row in rows) == [
        (unknown, 7), (unknown, 8), ("orders", 7), ("orders", 8),
    ]  # fmt: skip


def group_talk(steps: str, client: str = "reader", port: int = 40000) -> Talk:
    """A member that commits offset 40 (c), is told that none (n) or 40 (o) is committed, reads from offset 3 (f), or
    deletes its group (d) or topic (t).
    """
    talk = Talk(client, port)
    for step in steps:
        if step == "c":
            parts = [{"partitionIndex": 0, "committedOffset": 40}]
            commit = {"groupId": client, "memberId": "m", "topics": [{"name": "orders", "partitions": parts}]}
            talk.call(8, 8, commit, {"topics": [{"name": "orders", "partitions": [{"partitionIndex": 0}]}]}, 9 * SECOND)
        elif step == "f":
            fetched(talk, 1, offset=3, start=0, end=41)
        elif step == "t":
            deleted = {"responses": [{"name": "orders", "errorCode": 0}]}
            talk.call(20, 5, {"topicNames": ["orders"], "timeoutMs": 9}, deleted)
        elif step == "d":
            talk.call(42, 2, {"groupsNames": [client]}, {"results": [{"groupId": client}]})
        else:
            part = {"partitionIndex": 0, "committedOffset": 40 if step == "o" else -1, "metadata": ""}
            asked = {"groupId": client, "topics": [{"name": "orders", "partitionIndexes": [0]}]}
            talk.call(9, 6, asked, {"topics": [{"name": "orders", "partitions": [part]}]})
    return talk


def test_committed_offsets_that_are_gone(tmp_path: Path) -> None:
    finding = told(found(tmp_path, group_talk("ncfnf")), "offsets-lost", group="reader", client=["reader"])
    assert finding.evidence["read_again"] == 37 and finding.evidence["committed_offset"] == 40
    assert 9 < finding.evidence["seconds"] < 10 and "so that 37 are read again" in finding.text


def test_committed_offsets_that_are_there_or_that_somebody_deletes(tmp_path: Path) -> None:
    assert not found(tmp_path, group_talk("nfcof", "kept", 40001), group_talk("cdnfd", "tool", 40002))
    [info] = (each for each in diagnose([str(tmp_path / "a.pcap")]).findings if each.finding == "offsets-lost")
    assert info.subject["group"] == "tool" and "tool deleted groups" in info.text


def test_offsets_are_gone_with_their_topic(tmp_path: Path) -> None:
    """As of a test that creates a topic, reads and deletes it, again and again."""
    assert not found(tmp_path, group_talk("nfctnfctnfct"))
    assert not diagnose([str(tmp_path / "a.pcap")]).findings
