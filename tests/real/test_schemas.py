"""The tables against the definitions in Kafka's own jars, and against the enums in its classes."""

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kcli.schemas.catalog import catalog
from kcli.schemas.errors import ERRORS, RETRIABLE, find_error_code
from kcli.schemas.importing.jars import read_jars
from kcli.schemas.layout import holds, layout
from kcli.schemas.lookup import STOCK
from kcli.schemas.model import Field, Message
from kcli.schemas.ranges import NONE, Range
from kcli.schemas.table_files import Imported, import_releases, to_files
from tests.real.lab import run_java
from tests.real.maven import compiled
from tests.real.oracle import NEWEST, RELEASES, classes


def kafka_jars(version: str) -> list[Path]:
    return [path for path in classes(version) if path.name.startswith("kafka")]


def test_importing_the_releases_gives_the_stock_tables_byte_for_byte() -> None:
    jars = [path for version in RELEASES.values() for path in kafka_jars(version)]
    for name, text in to_files(import_releases(Imported(), read_jars(jars))).items():
        assert (STOCK / name).read_text() == text, name


@functools.cache
def defined(release: str) -> Mapping[tuple[str, str], Message]:
    """By kind and name, what a release's own jars define."""
    return read_jars(kafka_jars(RELEASES[release]))[release].messages


def known_as(message: Message, release: str) -> list[Message]:
    """What the tables say of a message in a release: the variant of its day first."""
    record_type = message.kind == "data" and message.name.endswith("Key")
    stored = catalog().message(message.name)
    if record_type and stored.kind == "coordinator-key":
        return []
    spoken = [each.message for each in stored.variants if any(release in run for run in each.message.releases)]
    return [*spoken, stored]


def every_version(release: str) -> Iterator[tuple[Message, Message, int]]:
    """(message of the tables, the same of the release, version) for all that the release has."""
    for message in defined(release).values():
        for known in known_as(message, release)[:1]:
            for version in message.versions:
                yield known, message, version


@pytest.mark.parametrize("release", RELEASES)
def test_every_version_lies_as_its_release_says(release: str) -> None:
    for known, message, version in every_version(release):
        assert holds(layout(known, version), layout(message, version)), f"{message.name} v{version}"


@pytest.mark.parametrize("release", RELEASES)
def test_a_field_under_another_name_was_renamed_not_exchanged(release: str) -> None:
    """Layouts tell types, not meanings: two fields of one type in each other's place would go unseen."""
    for known, message, version in every_version(release):
        assert not exchanged(message.fields, known.fields, version), f"{message.name} v{version}"


def exchanged(theirs: tuple[Field, ...], ours: tuple[Field, ...], version: int) -> list[str]:
    """Fields that the tables have at another place than the release."""
    mine = [field for field in ours if version in field.versions and version not in field.tagged]
    old = [field for field in theirs if version in field.versions and version not in field.tagged]
    known = {field.name for field in mine}
    wrong = [a.name for a, b in zip(old, mine, strict=True) if a.name != b.name and a.name in known]
    return wrong + [name for a, b in zip(old, mine, strict=True) for name in exchanged(a.fields, b.fields, version)]


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_accepts_what_its_definitions_say(release: str) -> None:
    said = {
        message.api_key: message.releases[0].enabled
        for message in defined(release).values()
        if message.kind == "request" and message.versions
    }
    assert {key: versions for key, versions in said.items() if versions} == catalog().release_versions(release)


@functools.cache
def facts(version: str) -> list[list[str]]:
    classpath = kafka_jars(version) + [path for path in classes(version) if "slf4j" in path.name]
    done = run_java([compiled("ProtocolFacts.java", classes(NEWEST)), *classpath], "ProtocolFacts")
    assert done.returncode == 0, done.stderr.decode()
    return [line.split() for line in done.stdout.decode().splitlines()]


def test_errors_are_those_of_the_enum() -> None:
    errors = {int(row[1]): (row[2], row[3] == "true") for row in facts(NEWEST) if row[0] == "error"}
    assert errors == {code: (name, code in RETRIABLE) for code, name in ERRORS.items()}


@pytest.mark.parametrize("release", ["2.4", "2.8", "3.3", "3.9"])
def test_errors_of_older_releases_are_known_by_their_names(release: str) -> None:
    for row in facts(RELEASES[release]):
        if row[0] == "error":
            assert find_error_code(row[2]) == int(row[1])


@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_apis_are_those_of_the_enum(release: str) -> None:
    apis = catalog().apis
    for row in facts(RELEASES[release]):
        if row[0] == "header":
            key, version, request, response = map(int, row[1:])
            found = apis[key]
            headers = (found.request_header_version(version), found.response_header_version(version))
            assert headers == (request, response), f"{found.name} v{version}"
        elif row[0] == "api":
            found = apis[int(row[1])]
            # AlterPartition and ListConfigResources go by their newest names.
            assert row[2] == found.log_name or row[3] in found.aliases
            said = [run.versions for run in catalog().message(found.request).releases if release in run]
            # An API that was dropped has still its constant, without versions.
            assert (said or [NONE]) == [Range(int(row[4]), int(row[5]))], found.name
