from kcli.cli.schema.views import definition, field_rows, headline, listed, provenance
from kcli.schemas.catalog import catalog
from kcli.schemas.definition import build
from tests.schemas.definitions import field, message


def test_one_version_as_a_definition_has_the_fields_of_that_version() -> None:
    for name in catalog().names:
        stored = catalog().message(name)
        for version in stored.versions:
            alone = build(definition(catalog(), stored, version))
            rows = list(field_rows(stored.fields, version))
            assert list(field_rows(alone.fields, version)) == rows, (name, version)
            assert list(field_rows(alone.fields, None)) != [] or rows == [], (name, version)


def test_indentation_shows_structs() -> None:
    built = build(message("M", field("S", "[]S", fields=[field("X")])))
    assert [row[0] for row in field_rows(built.fields, 0)] == ["s", "  x"]


def test_ranges_that_differ_from_the_fields_are_said() -> None:
    raw = field("F", "string", "0+", nullableVersions="2+", taggedVersions="1+", tag=3, default="null")
    (row,) = field_rows(build(message("M", raw)).fields, None)
    assert row[3] == "nullable 2+, tag 3 1+, default null"


def test_headlines() -> None:
    header = catalog().message("RequestHeader")
    assert headline(header, None, None) == "RequestHeader: header, versions 0-2, flexible 2+"
    assert headline(header, 1, None) == "RequestHeader v1: header"
    key = catalog().message("OffsetCommitKey")
    assert headline(key, 0, None, " before 9.9") == "OffsetCommitKey v0 before 9.9: group-key 1"


def test_unstable_versions_are_said() -> None:
    assert "3.5-3.6: 0 (the newest unstable)" in provenance(catalog().message("ConsumerGroupHeartbeatRequest"))[0]


def test_a_release_lists_what_it_had() -> None:
    rows = {row["name"]: row for row in listed(catalog(), "3.6")}
    assert rows["ConsumerGroupHeartbeat"]["versions"] == "0, 0 unstable, layout before 3.7"
    assert "GetTelemetrySubscriptions" not in rows
