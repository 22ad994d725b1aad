from kcli.schemas.catalog import catalog
from kcli.snapshots.reading.keys import DELTA_TYPES, KEYS, SNAPSHOT_TYPES, key_of
from tests.snapshots.made import broker


def test_every_type_is_a_thing_or_a_change() -> None:
    known = set(catalog().records("metadata"))
    assert known - SNAPSHOT_TYPES - DELTA_TYPES == {6}
    assert not SNAPSHOT_TYPES & DELTA_TYPES
    assert KEYS.keys() == SNAPSHOT_TYPES


def test_what_names_an_object() -> None:
    assert key_of(0, broker(3)) == 3
    quota = {
        "entity": [{"entityType": "user", "entityName": None}, {"entityType": "ip", "entityName": "a"}],
        "key": "k",
    }
    assert key_of(14, quota) == ((("ip", "a"), ("user", None)), "k")
    assert key_of(15, {}) == key_of(15, {"nextProducerId": 1})
    assert key_of(9, {}) is None
