"""`kcli decode batch` as a script sees it."""

from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.records.encoding import encode_batches
from tests.cli.conftest import Rows
from tests.records.vectors import named


def test_batches_a_line_each_that_encode_to_the_same_bytes(file: Path, rows: Rows) -> None:
    assert main(["decode", "batch", str(file)]) == 0
    found = rows()
    assert len(found) == 20 and encode_batches(found) == file.read_bytes()
    assert main(["decode", "batch", str(file), "--records", "batches"]) == 0
    assert "records" not in rows()[0]


def test_text_input(tmp_path: Path, rows: Rows) -> None:
    (tmp_path / "x").write_text(named("one-record").hex(" "))
    assert main(["decode", "batch", str(tmp_path / "x"), "--hex"]) == 0
    assert rows()[0]["count"] == 1


@pytest.mark.parametrize("form", ["tree", "hexdump"])
def test_each_field_with_its_bytes(form: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "batch", str(file), "--format", form]) == 0
    out = capsys.readouterr().out
    assert "batches[0].records[4].headers[1].value" in out and "batches[19].records[0].value.coordinatorEpoch" in out
    file.write_bytes(named("value-length-long"))
    assert main(["decode", "batch", str(file), "--format", form]) == 3
    printed = capsys.readouterr()
    assert "_rest" in printed.out and "needs 63 bytes" in printed.out and "needs 63 bytes" in printed.err
