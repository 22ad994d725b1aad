from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.schemas.lookup import STOCK
from tests.schemas.definitions import field, jar, message


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    """What `kcli schema WORDS` writes to stdout and stderr."""
    assert main(["schema", *map(str, words)]) == code
    done = capsys.readouterr()
    return done.out, done.err


def releases(folder: Path) -> list[Path]:
    pair = [message(f"Ping{kind}", field("A"), kind=kind.lower(), apiKey=3) for kind in ("Request", "Response")]
    wider = [{**raw, "validVersions": "0-1"} for raw in pair]
    return [jar(folder, "kafka-clients-1.0.0.jar", *pair), jar(folder, "kafka-clients-1.1.0.jar", *wider)]


def test_import_merges_jars_into_a_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, second = releases(tmp_path)
    tables = tmp_path / "tables"
    _, err = run(capsys, "import", first, "-o", tables, "--anew")
    assert err == f"kcli: {tables}: 2 messages of 1 release (new: 1.0)\n"
    _, err = run(capsys, "import", second, "-o", tables)
    assert "PingRequest: versions 0 -> 0-1" in err
    assert run(capsys, "show", "Ping", 1, "--schema", tables)[0].startswith("PingRequest v1: request 3")
    once = {path.name: path.read_text() for path in tables.iterdir()}
    run(capsys, "import", tmp_path, "-o", tables, "--anew", "-q")
    assert {path.name: path.read_text() for path in tables.iterdir()} == once


def test_a_jar_is_not_written_over(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, _ = releases(tmp_path)
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "errors.json").symlink_to(first)
    before = first.read_bytes()
    _, err = run(capsys, "import", first, "-o", tables, "--anew", code=2)
    assert "is the input" in err
    assert first.read_bytes() == before
    assert [each.name for each in tables.iterdir()] == ["errors.json"]


def test_import_goes_onto_the_stock_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    later = jar(tmp_path, "kafka-clients-99.0.0.jar", message("Marvel", field("A")))
    _, err = run(capsys, "import", later, "-o", tmp_path / "tables")
    assert "Marvel: versions none -> 0" in err
    lines = (tmp_path / "tables" / "messages.jsonl").read_text().splitlines()
    assert set((STOCK / "messages.jsonl").read_text().splitlines()) < set(lines)


def test_import_of_what_is_no_jar_changes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, _ = releases(tmp_path)
    tables = tmp_path / "tables"
    run(capsys, "import", first, "-o", tables, "--anew", "-q")
    before = {path.name: path.read_text() for path in tables.iterdir()}
    wrong = tmp_path / "kafka-raft-1.1.0.jar"
    wrong.write_bytes(b"no zip")
    assert "kafka-raft-1.1.0.jar: not a jar" in run(capsys, "import", wrong, "-o", tables, code=3)[1]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no message definitions in" in run(capsys, "import", empty, "-o", tables, code=3)[1]
    assert {path.name: path.read_text() for path in tables.iterdir()} == before
