import tracemalloc
import zipfile
from pathlib import Path

import pytest

from kcli.errors import InputError, SchemaError
from kcli.schemas.importing.classfile import ERRORS_CLASS
from kcli.schemas.importing.jars import read_jars, release_of
from tests.schemas.assembler import enum_class
from tests.schemas.definitions import field, jar, message


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kafka-clients-4.4.0.jar", ("kafka-clients", "4.4")),
        ("kafka_2.13-2.4.1.jar", ("kafka_2.13", "2.4")),
        ("kafka-metadata-4.5.0-rc1.jar", ("kafka-metadata", "4.5")),
        ("kafka-raft-3.10.0-SNAPSHOT.jar", ("kafka-raft", "3.10")),
    ],
)
def test_the_release_is_in_the_name(name: str, expected: tuple[str, str]) -> None:
    assert release_of(Path("/some/where") / name) == expected


def test_a_name_without_a_release() -> None:
    with pytest.raises(InputError, match=r"kafka\.jar: its name says no release"):
        release_of(Path("kafka.jar"))


def test_messages_and_errors_by_release(tmp_path: Path) -> None:
    errors = enum_class([("NONE", 0, "x/Y")])
    request = message("FetchRequest", field("A"), kind="request", apiKey=1, listeners=["broker"])
    first = jar(tmp_path, "kafka-clients-1.0.0.jar", request, **{f"{ERRORS_CLASS}.class": errors})
    second = jar(tmp_path, "kafka-clients-1.1.0.jar", {**request, "latestVersionUnstable": True})
    found = read_jars([second, first])
    assert sorted(found) == ["1.0", "1.1"]
    (one,) = found["1.0"].messages.values()
    assert [(run.since, run.listeners, run.unstable) for run in one.releases] == [("1.0", ("broker",), False)]
    assert [error.name for error in found["1.0"].errors] == ["NONE"]
    (other,) = found["1.1"].messages.values()
    assert other.releases[0].unstable


@pytest.mark.parametrize(
    ("artifact", "name", "component"),
    [
        ("kafka-clients", "FetchRequest", "clients"),
        ("kafka_2.13", "OffsetCommitKey", "group"),
        ("kafka_2.13", "TransactionLogKey", "transaction"),
        ("kafka-clients", "QuorumStateData", "raft"),
        ("kafka-share-coordinator", "ShareSnapshotKey", "share"),
    ],
)
def test_components(tmp_path: Path, artifact: str, name: str, component: str) -> None:
    found = read_jars([jar(tmp_path, f"{artifact}-2.8.0.jar", message(name))])
    (only,) = found["2.8"].messages.values()
    assert only.component == component


def test_progress_in_bytes(tmp_path: Path) -> None:
    paths = [jar(tmp_path, f"kafka-clients-1.{number}.0.jar", message("M")) for number in range(3)]
    seen: list[int] = []
    read_jars(paths, seen.append)
    assert seen[-1] == sum(path.stat().st_size for path in paths)
    assert seen == sorted(seen)


def test_a_jar_without_definitions_gives_nothing(tmp_path: Path) -> None:
    assert read_jars([jar(tmp_path, "x-1.0.jar", other=b"")]) == {}


def test_what_is_no_jar(tmp_path: Path) -> None:
    path = tmp_path / "kafka-clients-1.0.0.jar"
    path.write_bytes(b"GIF89a")
    with pytest.raises(InputError, match=r"kafka-clients-1\.0\.0\.jar: not a jar"):
        read_jars([path])


def test_a_definition_that_makes_no_sense_is_named_with_its_jar(tmp_path: Path) -> None:
    path = jar(tmp_path, "kafka-clients-1.0.0.jar", message("M", field("F", "Nothing")))
    with pytest.raises(SchemaError, match=r"1\.0\.0\.jar: common/message/M\.json: M\.f: "):
        read_jars([path])


@pytest.mark.parametrize("name", ["common/message/XRequest.json", f"{ERRORS_CLASS}.class"])
def test_a_jar_that_lies_about_a_size_fills_no_memory(name: str, tmp_path: Path) -> None:
    """Its directory says that a file has ten bytes, and it unfolds to 256 MiB."""
    path = tmp_path / "kafka-clients-9.9.0.jar"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made, made.open(name, "w", force_zip64=False) as file:
        for _ in range(256):
            file.write(bytes(1 << 20))
    data = path.read_bytes().replace((256 << 20).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises((InputError, SchemaError)):
            read_jars([path])
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
