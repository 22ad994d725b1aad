import pytest

from kcli.snapshots.image.image import Image
from kcli.snapshots.image.image_tables import TABLES
from kcli.snapshots.reading.load import load_snapshot
from tests.snapshots.files import LAST_431, TRUTH, log_file

IMAGE = load_snapshot(memoryview(log_file(LAST_431).read_bytes()), end_offset=1600, epoch=1)
MIGRATING = Image(zk_migration_state=1)
COUNTS = {
    "brokers": "brokers",
    "controllers": "controllers",
    "topics": "topics",
    "partitions": "partitions",
    "configs": "configValues",
    "clientQuotas": "quotaValues",
    "scramCredentials": "scram",
    "acls": "acls",
    "delegationTokens": "tokens",
}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_rows_have_the_columns_and_a_key_each(name: str) -> None:
    table = TABLES[name]
    rows = list(table.rows(MIGRATING if name == "migration" else IMAGE, False))
    assert rows
    assert {tuple(sorted(row)) for row in rows} == {tuple(sorted(table.columns))}
    keys = [tuple(row[column] for column in table.key) for row in rows]
    assert len(set(keys)) == len(keys)
    assert name not in COUNTS or len(rows) == TRUTH["files"][LAST_431][COUNTS[name]]


def test_secrets_only_when_asked() -> None:
    hidden = list(TABLES["scramCredentials"].rows(IMAGE, False))
    shown = list(TABLES["scramCredentials"].rows(IMAGE, True))
    assert all(set(row["salt"]) == {"redacted"} for row in hidden)
    assert len({row["salt"] for row in shown}) == 9
    configs = [row["value"] for row in TABLES["configs"].rows(IMAGE, False) if row["name"].endswith("jaas.config")]
    assert [set(value) for value in configs] == [{"redacted"}]


def test_a_default_quota_says_so() -> None:
    assert "user=<default>" in {row["entity"] for row in TABLES["clientQuotas"].rows(IMAGE, False)}
