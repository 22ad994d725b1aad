"""The command that a finding names shows something."""

import csv
import io
import shlex
from pathlib import Path

import pytest

from kcli.diagnose import INFO
from tests.diagnose.captured import DATA, diagnosed
from tests.inside import kcli

HEADED = ("sql", "stats")  # their first line is one of headings


@pytest.mark.parametrize("path", sorted(DATA.glob("*.pcap.zst")), ids=lambda path: path.name.partition(".")[0])
def test_no_finding_sends_anybody_to_an_empty_page(path: Path) -> None:
    for finding in diagnosed(path.name.partition(".")[0]).findings:
        if finding.see:
            shown = kcli(*shlex.split(finding.see)[1:])
            assert shown.returncode in (0, 1, 3), (finding.see, shown.stderr)
            assert len(shown.stdout.splitlines()) > (shlex.split(finding.see)[1] in HEADED), finding.see


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


def test_the_offset_that_stands_is_the_last_row() -> None:
    [finding] = [each for each in diagnosed("hanging-transaction-settlement").findings if each.severity != INFO]
    assert rows_of("hanging-transaction-settlement")[-1]["last_stable_offset"] == str(
        finding.evidence["last_stable_offset"]
    )
