from typing import Any

import pytest

from kcli.records.batches import scan
from kcli.records.builder import build_batch, build_marker
from kcli.records.conversion import Slice
from kcli.records.verification import LogFacts, LogFinding, verify_companion, verify_log
from tests.records.vectors import Case, bad, good, named

RECORDS = [(1000 + n, None, b"v%d" % n, ()) for n in range(10)]
LOG = b"".join(
    (
        build_batch(RECORDS, 100, partition_leader_epoch=1),
        build_batch(RECORDS, 110, codec="lz4", producer_id=5, producer_epoch=0, base_sequence=0, transactional=True),
        build_marker(False, 1100, 120, 5, 0, 3),
        build_batch([(1200, None, b"x", ())], 121, partition_leader_epoch=4),
    )
)
NAME = "00000000000000000100.log"


def verify(data: bytes, name: str = NAME) -> tuple[list[LogFinding], LogFacts]:
    facts = LogFacts()
    return list(verify_log(Slice.of(data).read, name, facts)), facts


def test_a_sound_log_gives_no_finding_and_its_facts() -> None:
    findings, facts = verify(LOG)
    assert findings == []
    assert (facts.batches, facts.records, facts.next_offset, facts.size) == (4, 22, 122, len(LOG))
    assert facts.epochs == {1: 100, -1: 110, 4: 121} and facts.aborted == {(5, 120): facts.positions[2]}


@pytest.mark.parametrize("case", [case for case in bad() if not case.name.startswith(("old-v", "count-zero"))], ids=str)
def test_damaged_segments_have_findings_where_kafka_fails(case: Case) -> None:
    findings, _ = verify(case.data, "0.log")
    fails = any(row["type"] == "error" or row.get("isValid") is False for row in case.dump)
    assert bool([finding for finding in findings if finding.severity == "error"]) >= fails


@pytest.mark.parametrize("case", [c for c in good() if c.name not in ("mixed-magic",)], ids=str)
def test_good_segments_have_no_errors(case: Case) -> None:
    first = next(scan(case.data))
    findings, _ = verify(case.data, f"{first.base_offset if first.magic == 2 else 0}.log")
    assert [finding for finding in findings if finding.rule not in ("offset-order",)] == []


def test_offsets_that_go_back() -> None:
    rules = [finding.rule for finding in verify(LOG + build_batch(RECORDS, 115))[0]]
    assert rules == ["offset-order"]
    assert [finding.rule for finding in verify(LOG, "00000000000000000200.log")[0]] == ["offset-order"]


def test_a_wrong_checksum_and_a_cut_batch() -> None:
    data = bytearray(LOG)
    data[20] ^= 1
    findings, _ = verify(bytes(data[:-1]))
    assert [(finding.severity, finding.rule) for finding in findings] == [("error", "checksum"), ("note", "cut-batch")]
    assert findings[0].offset == 0


def test_records_that_contradict_their_header() -> None:
    assert "record-order" in {finding.rule for finding in verify(named("offset-delta-same"), "0.log")[0]}
    assert "record-range" in {finding.rule for finding in verify(named("last-offset-delta-low"), "0.log")[0]}


def check(kind: str, *rows: dict[str, Any]) -> list[str]:
    _, facts = verify(LOG)
    return [finding.rule for finding in verify_companion(kind, rows, "00000000000000000122.x", facts)]


def test_index_entries() -> None:
    _, facts = verify(LOG)
    second, third = facts.positions[1:3]
    assert check("index", {"offset": 119, "position": second}, {"offset": 120, "position": third}) == []
    assert check("index", {"offset": 119, "position": second + 1}) == ["index-astray"]
    assert check("index", {"offset": 105, "position": second}) == ["index-astray"]
    assert check("index", {"offset": 500, "position": facts.positions[3]}) == ["index-astray"]
    assert check("index", {"offset": 120, "position": third}, {"offset": 119, "position": second}) == ["index-order"]


def test_time_index_entries() -> None:
    assert check("timeindex", {"timestamp": 1009, "offset": 109}, {"timestamp": 1200, "offset": 121}) == []
    assert check("timeindex", {"timestamp": 1005, "offset": 120}) == ["index-astray"]
    assert check("timeindex", {"timestamp": 5000, "offset": 121}) == ["index-astray"]
    assert check("timeindex", {"timestamp": 1200, "offset": 500}) == ["index-astray"]


def test_transactions_producers_and_epochs() -> None:
    entry = {"producerId": 5, "firstOffset": 110, "lastOffset": 120, "lastStableOffset": 120}
    assert check("txnindex", entry) == []
    assert check("txnindex", entry | {"producerId": 6}) == ["index-astray"]
    assert check("txnindex", entry | {"firstOffset": 121}) == ["index-astray"]
    assert check("snapshot", {"producerId": 5, "lastOffset": 121}) == []
    assert check("snapshot", {"producerId": 5, "lastOffset": 122}) == ["producer-offset"]
    epochs = "leader-epoch-checkpoint"
    assert check(epochs, {"epoch": 1, "startOffset": 100}, {"epoch": 4, "startOffset": 121}) == []
    assert check(epochs, {"epoch": 4, "startOffset": 122}) == ["epoch-astray"]
    assert check(epochs, {"epoch": 4, "startOffset": 121}, {"epoch": 1, "startOffset": 130}) == [
        "epoch-order",
        "epoch-astray",
    ]
