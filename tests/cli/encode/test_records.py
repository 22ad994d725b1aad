"""`kcli encode batch` as a script sees it."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.records import batches_json, scan
from tests.records.vectors import mixed_batches, named


def encode(path: Path, text: str, *extra: str) -> int:
    path.write_text(text)
    return main(["encode", "batch", str(path), *extra])


def test_a_list_an_object_or_lines(tmp_path: Path) -> None:
    data, out = mixed_batches(), tmp_path / "out"
    rows = json.loads(batches_json(data))
    for text in (json.dumps(rows), json.dumps(rows, indent=1), "\n".join(map(json.dumps, rows))):
        assert encode(tmp_path / "in", text, "-o", str(out)) == 0 and out.read_bytes() == data
    assert encode(tmp_path / "in", json.dumps(rows[0]), "-o", str(out)) == 0
    assert out.read_bytes() == next(scan(data)).bytes


def test_forms(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    row = json.dumps(json.loads(batches_json(named("one-record"))))
    assert encode(tmp_path / "in", row, "--to", "hex") == 0
    assert bytes.fromhex(capsysbinary.readouterr().out.decode()) == named("one-record")


def test_levels(tmp_path: Path) -> None:
    text, sizes = " ".join(f"{n * n % 97} apples" for n in range(2000)), []
    for level in ("1", "9"):
        row = json.dumps({"compression": "gzip", "records": [{"value": text}]})
        assert encode(tmp_path / "in", row, "-o", str(tmp_path / "out"), "--level", level) == 0
        sizes.append((tmp_path / "out").stat().st_size)
    assert sizes[0] > sizes[1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ('{"records":[]}\n{"records":', "line 2"),
        ('[{"records":[{"value":7}]}]', "batches[0].records[0].value"),
        ("7", "object expected"),
    ],
)
def test_what_has_no_bytes_is_one_line(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert encode(tmp_path / "in", text) == 3
    error = capsys.readouterr().err
    assert says in error and str(tmp_path / "in") in error and error.count("\n") == 1
