"""Releases, dialects and folders beside each other, field by field."""

from pathlib import Path

import pytest

from kcli.errors import UsageError
from kcli.schemas.catalog import catalog
from kcli.schemas.diff import SchemaChange
from kcli.schemas.set_diff import between_sides, side_of
from tests.greeting import greeting, newer_metadata


def changes(one: str, other: str) -> list[SchemaChange]:
    return between_sides(side_of(one, catalog()), side_of(other, catalog()))


def test_releases() -> None:
    """Versions that came and went, messages too, and in each new version the fields."""
    found = changes("3.9", "4.0")
    assert SchemaChange("FetchRequest", "", "changed", "0-17", "4-17") in found
    assert SchemaChange("LeaderAndIsrRequest", "", "removed", "0-7", "") in found
    assert SchemaChange("ClearElrRecord", "", "added", "", "0") in found
    assert SchemaChange("DescribeClusterRequest", "includeFencedBrokers", "added", "", "bool", "2") in found
    assert changes("4.0", "4.0") == []


def test_layouts_of_old_releases() -> None:
    """Versions whose layout changed under their number."""
    found = [each for each in changes("3.9", "4.0") if each.message == "ShareGroupPartitionMetadataValue"]
    assert found == [] or all(each.versions == "0" for each in found)
    old = side_of("3.9", catalog()).messages
    message = catalog().message("ShareGroupPartitionMetadataValue")
    assert old["ShareGroupPartitionMetadataValue"].fields == message.variants[0].message.fields


def test_a_release_and_a_dialect() -> None:
    """Only what the dialect defines is compared."""
    found = changes("4.4", "kip-1018")
    assert found == [
        SchemaChange("FetchRequest", "", "changed", "4-18", "18"),
        SchemaChange("FetchRequest", "topics.partitions.highWatermark", "removed",
               "int64 tag 1 default 9223372036854775807", "", "18"),
        SchemaChange("FetchRequest", "topics.partitions.remotePartitionMaxBytes", "added", "", "int32", "18"),
    ]  # fmt: skip


def test_a_new_version_in_a_folder(tmp_path: Path) -> None:
    found = changes("4.4", newer_metadata(tmp_path))
    fields = [each for each in found if each.path]
    assert fields == [
        SchemaChange("MetadataRequest", "mood", "added", "", "int32 default 7", "14"),
        SchemaChange("MetadataResponse", "mood", "added", "", "int32 default 7", "14"),
    ]


def test_two_folders(tmp_path: Path) -> None:
    one, other = greeting(tmp_path / "one"), greeting(tmp_path / "other")
    assert changes(one, other) == []
    path = tmp_path / "other" / "GreetResponse.json"
    path.write_text(path.read_text().replace('"int16"', '"int32"'))
    (tmp_path / "other" / "GreetRequest.json").unlink()
    assert changes(one, other) == [
        SchemaChange("GreetRequest", "", "removed", "0-1", ""),
        SchemaChange("GreetResponse", "errorCode", "changed", "int16", "int32", "0-1"),
    ]


def test_what_is_no_side() -> None:
    with pytest.raises(UsageError, match=r"^3.99: a release \(3.9\), a dialect \(kip-1018, .*\) or a folder"):
        side_of("3.99", catalog())
