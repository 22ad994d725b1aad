"""Numbers that code names are those of the tables."""

from kcli.schemas.catalog import catalog
from kcli.schemas.field_codes import ControlType, RecordType, names_of

ALSO_CALLED = {"ACL": "ACCESS_CONTROL_ENTRY", "REMOVE_ACL": "REMOVE_ACCESS_CONTROL_ENTRY"}


def test_types_of_records() -> None:
    table = catalog(None).records("metadata")
    for number, name in names_of(RecordType).items():
        assert table[number] == f"{ALSO_CALLED.get(name, name).title().replace('_', '')}Record"


def test_types_of_control_records() -> None:
    assert names_of(ControlType)[ControlType.KRAFT_VOTERS] == "KRAFT_VOTERS"
    assert list(names_of(ControlType)) == list(range(7))
