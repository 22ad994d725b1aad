"""An API in one version: headers and bodies of responses."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.broker.api_version import ApiVersion
from kcli.broker.fetch.records_slot import INLINE, SLOT
from kcli.broker.storage.file_pool import LogFile
from kcli.broker.storage.segment import Slice
from kcli.errors import KcliError
from kcli.schemas.apikeys import API_VERSIONS, FETCH, METADATA


@pytest.mark.parametrize(
    ("key", "version", "expected"),
    [(METADATA, 8, "fffffffe"), (METADATA, 9, "fffffffe00"), (API_VERSIONS, 3, "fffffffe")],
)
def test_response_headers(key: int, version: int, expected: str) -> None:
    assert ApiVersion(key, version, None).header(-2).hex() == expected


def test_fields_of_other_versions_are_left_out() -> None:
    rows = [{"nodeId": 1, "host": "h", "port": 2, "rack": None}]
    value = {"throttleTimeMs": 0, "brokers": rows, "clusterId": None, "controllerId": 1, "topics": []}
    assert ApiVersion(METADATA, 0, None).encode(value).hex() == "000000010000000100016800000002" + "00000000"


@pytest.mark.parametrize("version", [11, 12])
def test_records_fill_their_slots(tmp_path: Path, version: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 100)
    records = Slice(LogFile(path), 7, INLINE + 1)
    api = ApiVersion(FETCH, version, None)

    def value(data: bytes) -> dict[str, object]:
        return {"responses": [{"topic": "t", "partitions": [{"partitionIndex": 0, "errorCode": 0, "records": data}]}]}

    made = api.encode_with(value(SLOT), [records])
    sent = b"".join(each if isinstance(each, bytes) else b"".join(each) for each in made.pieces)
    assert sent == api.encode(value(records.read()))


def test_no_such_version() -> None:
    with pytest.raises(KcliError):
        ApiVersion(METADATA, 99, None)
