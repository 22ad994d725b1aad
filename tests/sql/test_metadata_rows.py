"""Records of snapshots: the lines of `kcli snapshot inspect --records`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.errors import InputError
from kcli.tables.captured import CAPTURED


def test_rows_are_the_lines_of_inspect(
    samples: Path, ask: Callable[..., Any], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    for path in sorted((samples / "__cluster_metadata-0").glob("*.checkpoint")):
        assert main(["snapshot", "inspect", str(path), "--records", "--format", "jsonl"]) == 0
        lines = [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]
        rows = ask("FROM metadata", path)
        assert len(rows) == len(lines) > 100 and list(rows[0]) == CAPTURED["metadata"].names
        for row, line in zip(rows, lines, strict=True):
            assert {name: row[name] for name in ("offset", "type", "version")} == {
                name: line[name] for name in ("offset", "type", "version")
            }
            assert json.loads(row["data"]) == line["data"] and row["file"] == str(path) and row["reason"] is None


def test_what_is_wrong_comes_behind_the_rows(samples: Path, tmp_path: Path, ask: Callable[..., Any]) -> None:
    whole = next(iter(sorted((samples / "__cluster_metadata-0").glob("*.checkpoint"))))
    cut = tmp_path / whole.name
    cut.write_bytes(whole.read_bytes()[:-9])
    with pytest.raises(InputError, match=rf"{whole.name}: at byte \d+"):
        ask("SELECT count(*) FROM metadata", cut)
