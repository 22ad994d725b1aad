from typing import Any

import pytest

from kcli.errors import UsageError
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.load import load_snapshot
from kcli.snapshots.writing.restoration import (
    DYNAMIC_LEVEL,
    Voter,
    fitness,
    new_voters,
    parse_voters,
    release_level,
    with_voters,
)
from tests.snapshots.made import DIRECTORIES, broker, image, snapshot

VOTERS: list[dict[str, Any]] = [
    {
        "voterId": number,
        "voterDirectoryId": directory,
        "endpoints": [{"name": "QUORUM", "host": f"c{number}", "port": 9093}],
        "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
    }
    for number, directory in DIRECTORIES.items()
]


def dynamic() -> Any:
    found = image()
    found.kraft_version, found.voters = 1, VOTERS
    return found


def test_voters_as_kafka_writes_them() -> None:
    text = f"1@a.b:9093,2@[::1]:9094:{DIRECTORIES[2]}"
    voters = parse_voters(text)
    assert voters == [Voter(1, "a.b", 9093), Voter(2, "::1", 9094, DIRECTORIES[2])]
    assert ",".join(map(str, voters)) == text


@pytest.mark.parametrize(
    "text",
    ["", "1", "1@h", "1@h:", "1@h:0", "1@h:65536", "1@h:1,", "1@h:1,1@i:2", "2147483648@h:1", "1@h:1:short", "x@h:1"],
)  # fmt: skip
def test_voters_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="--voters"):
        parse_voters(text)


def test_a_release() -> None:
    assert release_level("3.9") == release_level("3.9.1") == DYNAMIC_LEVEL
    with pytest.raises(UsageError):
        release_level("2.8")


def test_a_static_quorum_s_image_stays() -> None:
    found = image()
    voters = new_voters(found, parse_voters("1@h:1,2@h:2"))
    assert not with_voters(found, voters)
    assert found.voters is None
    assert new_voters(found, []) == []


def test_voters_on_other_hosts_keep_their_directories() -> None:
    found = dynamic()
    assert not with_voters(found, new_voters(found, []))
    voters = new_voters(found, parse_voters("1@h:1,2@h:2,3@c3:9093"))
    assert [each.directory for each in voters] == list(DIRECTORIES.values())
    assert with_voters(found, voters)
    again = load_snapshot(memoryview(snapshot(found)))
    assert again.kraft_version == 1
    assert again.voters is not None
    ends = [each["endpoints"] for each in again.voters]
    assert ends == [[{"name": "QUORUM", "host": h, "port": p}] for h, p in (("h", 1), ("h", 2), ("c3", 9093))]
    assert new_voters(again, []) == voters


def test_a_static_quorum_becomes_a_dynamic_one() -> None:
    found = image()
    voters = parse_voters(f"1@h:1:{DIRECTORIES[1]}")
    assert any("kraft.version 0 becomes 1" in each.what for each in fitness(found, voters))
    assert with_voters(found, voters)
    assert (found.kraft_version, new_voters(found, [])) == (1, voters)


def reasons(found: Any, text: str = "", release: str | None = None, severity: str = "error") -> list[str]:
    voters = new_voters(found, parse_voters(text) if text else [])
    level = release_level(release) if release else None
    return [each.what for each in fitness(found, voters, level) if each.severity == severity]


def test_what_keeps_a_quorum_from_starting() -> None:
    assert reasons(image(), release="4.3") == []
    assert reasons(image(), release="4.2") == ["metadata.version 4.3-IV0 is newer than the release, which has 4.2-IV1"]
    assert "no metadata.version" in reasons(Image())[0]
    assert "needs metadata.version 3.9-IV0" in reasons(image(level=20), f"1@h:1:{DIRECTORIES[1]}")[0]
    assert "its directory id is needed" in reasons(dynamic(), "1@h:1,4@h:2")[0]
    old = image(("FeatureLevelRecord", {"name": "share.version", "featureLevel": 2}), level=21)
    assert reasons(old, release="3.9") == ["feature share.version level 2 is not supported by the release"]


def test_what_is_to_be_known() -> None:
    found = dynamic()
    found.brokers[2] = broker(2, fenced=True)
    found.controllers = {1: {}, 7: {}}
    notes = "\n".join(reasons(found, f"1@c1:9093,2@x:1,5@h:2:{DIRECTORIES[1]}", severity="note"))
    assert "alive in the snapshot: 2 brokers (1, 3)" in notes
    assert f"voter 2@c2:9093:{DIRECTORIES[2]} becomes 2@x:1:{DIRECTORIES[2]}" in notes
    assert "voter 5@h:2" in notes
    assert f"voter 3@c3:9093:{DIRECTORIES[3]} is no voter any more" in notes
    assert "none of the voters: 7" in notes
    assert "voter 1@" not in notes
