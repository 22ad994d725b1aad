"""The command that a finding names shows something."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

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
