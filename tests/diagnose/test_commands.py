"""The command that a finding names shows something."""

import csv
import io
import shlex
from pathlib import Path

import pytest

from kcli.diagnose import INFO, Finding
from tests.diagnose.captured import DATA, check_seconds, diagnosed
from tests.inside import kcli


@pytest.mark.parametrize("path", sorted(DATA.glob("*.pcap.zst")), ids=lambda path: path.name.partition(".")[0])
def test_no_finding_sends_anybody_to_a_page_without_its_evidence(path: Path) -> None:
    """Some of the names in its subject, or a figure of its evidence, is on the page."""
    for finding in diagnosed(path.name.partition(".")[0]).findings:
        check_seconds(finding)
        if finding.see:
            shown = kcli(*shlex.split(finding.see)[1:])
            assert shown.returncode in (0, 1), (finding.see, shown.stderr)
            assert any(each in shown.stdout for each in evidence_of(finding)), (finding.see, evidence_of(finding))


def evidence_of(finding: Finding) -> set[str]:
    """Words of a finding that a page about it has."""
    words = {name for kind in finding.subject for name in finding.names(kind)}
    words |= {name.rpartition("-")[0] for name in finding.names("partition")}
    figures = (each for each in finding.evidence.values() if isinstance(each, int) and each >= 10)
    return words.union(*({str(each), f"{each:,}"} for each in figures)) - {""}


def rows_of(name: str) -> list[dict[str, str]]:
    """What the command of a capture's one finding shows."""
    [finding] = [each for each in diagnosed(name).findings if each.severity != INFO]
    shown = kcli(*shlex.split(finding.see)[1:], "--format", "csv", "--quiet")
    return [*csv.DictReader(io.StringIO(shown.stdout))]


def test_the_key_of_a_hot_partition_is_the_first_row() -> None:
    first, second, *_ = rows_of("hot-partition-events")
    assert first["key"] == "tenant-7" and int(first["records"]) > 50 * int(second["records"])


def test_the_lag_of_each_partition_grows() -> None:
    partitions = rows_of("lagging-consumer-pageviews")
    assert len(partitions) == 2 and all(int(row["last_lag"]) > 2 * int(row["first_lag"]) for row in partitions)


def test_the_offset_that_stands_longest_is_the_first_row() -> None:
    [finding] = [each for each in diagnosed("hanging-transaction-settlement").findings if each.severity != INFO]
    assert rows_of("hanging-transaction-settlement")[0]["last_stable_offset"] == str(
        finding.evidence["last_stable_offset"]
    )
