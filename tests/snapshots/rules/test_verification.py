import pytest

from kcli.snapshots.rules.verification import verify
from tests.oracle.snapshots import by_oracle
from tests.snapshots.files import LAWFUL, TRUTH, all_files, damaged

# The rule that has to speak, for each damaged file.
RULE = {
    "no-footer": "footer",
    "cut-in-footer": "framing",
    "cut-in-data": "framing",
    "cut-in-first-batch": "framing",
    "empty": "empty",
    "bit-flip-data": "checksum",
    "bit-flip-batch-length": "framing",
    "bit-flip-crc-field": "checksum",
    "bit-flip-leader-epoch": "epoch",
    "bit-flip-header-batch": "checksum",
    "crc-fixed-bad-length": "record",
    "crc-fixed-extra-byte": "record",
    "no-header": "header",
    "header-without-voters": "offsets",
    "two-footers": "footer",
    "data-after-footer": "footer",
    "trailing-zeros": "framing",
    "trailing-garbage": "framing",
    "unknown-type": "unknown-type",
    "unknown-type-large": "record",
    "unknown-version": "unknown-type",
    "unknown-frame-version": "record",
    "unknown-tagged-field": "unknown-tags",
    "dropped-type-6": "dropped-type",
    "null-value": "record",
    "empty-value": "record",
    "with-key": "record",
    "delta-record": "delta",
    "orphan-partition": "orphan-partition",
    "duplicate-record": "duplicate-partition",
    "unknown-control-type": "control-records",
    "header-version-5": "control-records",
    "compressed-gzip": "compression",
    "magic-1": "framing",
    "wrong-name-short": "name",
    "wrong-name-part": "name",
    "wrong-name-deleted": "name",
    "wrong-name-epoch": "epoch",
    "wrong-name-log": "name",
    "many-batches": "",
    "batch-missing": "offsets",
    "batches-swapped": "offsets",
}


def test_every_damaged_file_is_in_the_table() -> None:
    assert RULE.keys() == {each["case"] for each in TRUTH["damaged"]}


@pytest.mark.parametrize("case", sorted(RULE))
def test_damage_is_named(case: str) -> None:
    file = damaged(case)
    found = verify(memoryview(file.read_bytes()), file.name)
    assert any(finding.is_error for finding in found) == (case not in LAWFUL)
    assert not RULE[case] or RULE[case] in {finding.rule for finding in found}
    assert [finding.is_error for finding in found] == sorted((each.is_error for each in found), reverse=True)


@pytest.mark.parametrize("number", range(len(all_files())))
def test_sound_files_pass(number: int) -> None:
    file = all_files()[number][0]
    assert [each for each in verify(memoryview(file.read_bytes()), file.name) if each.is_error] == []


def test_the_oracle_has_the_same_findings() -> None:
    files = [damaged(case) for case in sorted(RULE)]
    fast = [verify(memoryview(file.read_bytes()), file.name) for file in files]
    with by_oracle():
        assert [verify(memoryview(file.read_bytes()), file.name) for file in files] == fast
