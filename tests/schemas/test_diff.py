from kcli.schemas.catalog import catalog
from kcli.schemas.definition import build
from kcli.schemas.diff import SchemaChange, between_releases, between_versions, said_by
from tests.schemas.definitions import field, message


def test_between_versions() -> None:
    members = [field("X"), field("Y", "int8", "2+", default="-1")]
    built = build(
        message(
            "M",
            field("Gone", versions="0-1"),
            field("S", "[]S", fields=members),
            field("T", "string", nullableVersions="2+", default="null"),
            field("U", "uuid", "2+", taggedVersions="2+", tag=0),
            versions="0-2",
            flexibleVersions="2+",
        )
    )
    assert between_versions(built, 1, 2) == [
        SchemaChange("M", "", "changed", "not flexible", "flexible (compact lengths, tagged fields)"),
        SchemaChange("M", "gone", "removed", "int32", ""),
        SchemaChange("M", "s.y", "added", "", "int8 default -1"),
        SchemaChange("M", "t", "changed", "string", "string nullable default null"),
        SchemaChange("M", "u", "added", "", "uuid tag 0"),
    ]
    assert between_versions(built, 0, 1) == []
    assert [change.change for change in between_versions(built, 2, 1)] == [
        "changed",
        "added",
        "removed",
        "changed",
        "removed",
    ]


def test_between_releases() -> None:
    changes = {change.message: change for change in between_releases(catalog(), "3.9", "4.0")}
    assert changes["Fetch"] == SchemaChange("Fetch", "", "changed", "0-17", "4-17")
    assert changes["LeaderAndIsr"] == SchemaChange("LeaderAndIsr", "", "removed", "0-7", "")
    assert "LeaderAndIsrResponse" not in changes
    assert "Metadata" not in {change.message for change in between_releases(catalog(), "4.0", "4.1")}


def test_a_layout_that_changed_under_one_version_is_told() -> None:
    changes = {change.message: change for change in between_releases(catalog(), "3.2", "3.3")}
    assert changes["FeatureLevelRecord"] == SchemaChange(
        "FeatureLevelRecord", "", "changed", "0, layout before 3.3", "0"
    )


def test_a_release_without_the_message() -> None:
    assert said_by(catalog().message("UnregisterControllerRequest"), "4.3") == ""
    assert said_by(catalog().message("ConsumerGroupDescribeRequest"), "3.7") == "0, 0 unstable"
