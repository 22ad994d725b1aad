"""`kcli decode segment --verify` as a script sees it."""

import struct
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.cli.conftest import Rows


def test_verify(orders: Path, capsys: pytest.CaptureFixture[str], rows: Rows) -> None:
    assert main(["decode", "segment", str(orders), "--verify"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "" and "482 records" in printed.err
    index = orders / "00000000000000000000.index"
    index.write_bytes(struct.pack(">ii", 299, 4806))
    assert main(["decode", "segment", str(orders), "--verify", "--format", "jsonl"]) == 1
    (finding,) = rows()
    assert finding["severity"] == "error" and finding["rule"] == "index-astray" and finding["file"] == str(index)
    assert main(["decode", "segment", str(index), "--verify"]) == 1
    assert "no batch begins" in capsys.readouterr().out
