from pathlib import Path

import pytest

from kcli.errors import SchemaError
from kcli.schemas.importing.classfile import ERRORS_CLASS
from kcli.schemas.importing.jars import read_jars
from kcli.schemas.lookup import STOCK, Catalog
from kcli.schemas.table_files import Imported, import_releases, load_tables, log_name, to_files
from tests.schemas.assembler import enum_class
from tests.schemas.definitions import field, jar, message


def release(folder: Path, minor: int, *fields: str, error: str = "NONE") -> Path:
    """A jar of release 1.MINOR with one API in versions 0 to MINOR."""
    versions = f"0-{minor}"
    pair = [
        message(f"Ping{kind}", *map(field, fields), kind=kind.lower(), apiKey=3, versions=versions)
        for kind in ("Request", "Response")
    ]
    record = message("PingRecord", kind="metadata", apiKey=7)
    errors = {f"{ERRORS_CLASS}.class": enum_class([(error, 0, "x/Y")])}
    return jar(folder, f"kafka-clients-1.{minor}.0.jar", *pair, record, **errors)


def write(folder: Path, imported: Imported) -> None:
    folder.mkdir()
    for name, text in to_files(imported).items():
        (folder / name).write_text(text)


def test_the_stock_tables_are_what_their_own_definitions_write() -> None:
    stored = {
        name: (STOCK / name).read_text() for name in ("messages.jsonl", "index.json", "errors.json", "notes.jsonl")
    }
    assert to_files(load_tables(STOCK)) == stored


def test_releases_one_after_the_other_or_all_at_once(tmp_path: Path) -> None:
    jars = [release(tmp_path, minor, *"ABC"[: minor + 1], error=f"NAME_{minor}") for minor in range(3)]
    whole = import_releases(Imported(), read_jars(jars[::-1]))
    tables = tmp_path / "tables"
    write(tables, import_releases(Imported(), read_jars(jars[:2])))
    later = import_releases(load_tables(tables), read_jars(jars[2:]))
    assert to_files(later) == to_files(whole)
    assert to_files(import_releases(whole, read_jars(jars[2:]))) == to_files(whole)


def test_tables_open_as_a_catalog(tmp_path: Path) -> None:
    jars = [release(tmp_path, 0, error="OLD"), release(tmp_path, 1, error="NEW")]
    write(tmp_path / "tables", import_releases(Imported(), read_jars(jars)))
    opened = Catalog.open(tmp_path / "tables")
    assert opened.releases == ("1.0", "1.1")
    assert [(key, api.name, api.log_name) for key, api in opened.apis.items()] == [(3, "Ping", "PING")]
    assert opened.records("metadata") == {7: "PingRecord"}
    assert opened.error_name(0) == "NEW"
    assert (tmp_path / "tables" / "errors.json").read_text() == '[\n[0,"NEW",false,["OLD"]]\n]\n'


def test_an_older_release_cannot_come_later(tmp_path: Path) -> None:
    newest = import_releases(Imported(), read_jars([release(tmp_path, 2)]))
    with pytest.raises(SchemaError, match=r"release 1\.1 is older than 1\.2"):
        import_releases(newest, read_jars([release(tmp_path, 1)]))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Fetch", "FETCH"),
        ("OffsetForLeaderEpoch", "OFFSET_FOR_LEADER_EPOCH"),
        ("ZkMigrationStateRecord", "ZK_MIGRATION_STATE_RECORD"),
    ],
)
def test_names_as_in_logs(name: str, expected: str) -> None:
    assert log_name(name) == expected
