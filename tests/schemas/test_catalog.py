import subprocess
import sys

import pytest

from kcli.errors import UsageError
from kcli.schemas.catalog import catalog
from kcli.schemas.lookup import CONTROL_RECORDS
from kcli.schemas.ranges import Range


def test_every_api_there_ever_was() -> None:
    apis = catalog().apis
    assert list(apis) == list(range(95))
    for key, api in apis.items():
        request, response = catalog().message(api.request), catalog().message(api.response)
        assert (request.kind, response.kind) == ("request", "response")
        assert request.api_key == response.api_key == api.key == key
        assert request.versions == response.versions == api.versions
        assert request.flexible == response.flexible == api.flexible
        assert api.versions.lo == 0


def test_releases() -> None:
    assert catalog().releases[0] == "2.4"
    assert catalog().releases[-1] == "4.4"
    assert len(catalog().releases) == 20
    assert catalog().release("v3.9.1") == "3.9"


@pytest.mark.parametrize("name", ["Fetch", "fetch", "FETCH", "FetchRequest", "fetch_response", "1"])
def test_an_api_however_it_is_written(name: str) -> None:
    assert catalog().api_key(name) == 1


@pytest.mark.parametrize(("name", "key"), [("AlterIsr", 56), ("LIST_OFFSET", 2), ("ListClientMetricsResources", 74)])
def test_an_api_by_an_old_name(name: str, key: int) -> None:
    assert catalog().api_key(name) == key


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Fetcch", "Fetcch: no such API; did you mean Fetch"), ("Xyzzy", "no such API$"), ("99999", "99999: no such API")],
)
def test_an_api_that_is_not_there(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        catalog().api_key(name)


def test_messages_by_name() -> None:
    assert catalog().message("AlterIsrRequest").name == "AlterPartitionRequest"
    assert catalog().message("PartitionRecord") is catalog().message("PartitionRecord")
    with pytest.raises(UsageError, match="did you mean PartitionRecord"):
        catalog().message("PartitonRecord")
    with pytest.raises(UsageError, match="API key 500: not in the tables"):
        catalog().request(500)
    assert catalog().api(500) is None


@pytest.mark.parametrize(
    ("kind", "number", "name"),
    [
        ("metadata", 3, "PartitionRecord"),
        ("metadata", 6, "AccessControlRecord"),
        ("group-key", 2, "GroupMetadataKey"),
        ("group-value", 0, "LegacyOffsetCommitValue"),
        ("transaction-value", 0, "TransactionLogValue"),
        ("share-key", 1, "ShareUpdateKey"),
        ("control", 2, "LeaderChangeMessage"),
    ],
)
def test_records_by_type(kind: str, number: int, name: str) -> None:
    assert catalog().records(kind)[number] == name


def test_types_of_metadata_records_that_were_never_seen() -> None:
    assert set(range(30)) - set(catalog().records("metadata")) == {13}


def test_every_control_record_has_a_definition() -> None:
    assert all(catalog().message(name).kind == "data" for name in CONTROL_RECORDS.values())


def test_keys_and_values_of_coordinators() -> None:
    for component in ("group", "transaction", "share"):
        keys, values = (catalog().records(f"{component}-{part}") for part in ("key", "value"))
        assert list(keys) == list(values)
    with pytest.raises(UsageError, match="did you mean group-key"):
        catalog().records("group-keys")


@pytest.mark.parametrize(
    ("release", "key", "expected"),
    [
        ("4.4", 1, Range(4, 18)),
        ("3.9", 1, Range(0, 17)),
        ("2.4", 1, Range(0, 11)),
        ("4.0", 0, Range(3, 12)),
        ("3.9", 4, Range(0, 7)),
        ("3.6", 8, Range(0, 8)),
    ],
)
def test_what_a_release_accepts(release: str, key: int, expected: Range) -> None:
    assert catalog().release_versions(release)[key] == expected


def test_what_a_release_does_not_accept() -> None:
    assert 4 not in catalog().release_versions("4.0")
    assert 94 not in catalog().release_versions("4.3")
    # The one version of ConsumerGroupHeartbeat was unstable until 3.7.
    assert 68 not in catalog().release_versions("3.6")
    with pytest.raises(UsageError, match=r"release 1\.0: not in the tables"):
        catalog().release_versions("1.0")


def test_what_a_listener_accepts() -> None:
    assert 52 in catalog().release_versions("4.4", "controller")  # Vote
    assert 52 not in catalog().release_versions("4.4", "broker")
    assert 4 in catalog().release_versions("3.9", "zkBroker")
    assert 4 not in catalog().release_versions("3.9", "broker")
    assert len(catalog().release_versions("2.4", "broker")) == len(catalog().release_versions("2.4"))


# Where releases give one version two layouts, as it was found in their jars.
VARIANTS = {
    "EndQuorumEpochRequest": ["2.8"],
    "LeaderChangeMessage": ["2.8", "3.0"],
    "ConsumerGroupHeartbeatRequest": ["3.7"],
    "ConsumerGroupHeartbeatResponse": ["3.7"],
    "ConsumerGroupDescribeResponse": ["3.8"],
    "ReadShareGroupStateSummaryResponse": ["4.1"],
    "FeatureLevelRecord": ["3.0", "3.3"],
    "UserScramCredentialRecord": ["3.0", "3.5"],
    "DelegationTokenRecord": ["3.0", "3.6"],
    "PartitionRecord": ["3.0"],
    "ShareSnapshotValue": ["4.1"],
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name: str) -> None:
    assert [each.before for each in catalog().message(name).variants] == VARIANTS[name]


def test_opening_a_catalog_imports_nothing_heavy() -> None:
    program = (
        "import sys; from kcli.schemas.catalog import catalog; catalog().message('FetchRequest')\n"
        "print([name for name in ('zipfile', 'difflib', 'rich', 'click', 'construct') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
