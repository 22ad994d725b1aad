"""Keys, values and headers of batches in JSON."""

import pytest

from kcli.records import build_batch
from tests.oracle.records.batch_json import header_row, shown, shown_key
from tests.oracle.records.framing import read_frame


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (None, None),
        (b"", ""),
        ("Grüße\t\n".encode(), "Grüße\t\n"),
        (b"\x1b[2K", {"base64": "G1sySw=="}),
        (b"\xff", {"base64": "/w=="}),
    ],
)
def test_text_that_prints_is_text_and_all_else_base64(data: bytes | None, form: object) -> None:
    assert shown(data) == form


def test_a_header_key_is_text_where_it_is_utf_8() -> None:
    assert shown_key("k") == "k" and shown_key("\udcff") == {"base64": "/w=="}


def test_the_header_of_a_batch() -> None:
    data = build_batch([(1000, b"k", b"v", ()), (2000, None, None, ())], codec="gzip", producer_id=7, producer_epoch=1)
    _, frame = read_frame(memoryview(data), 0, len(data))
    assert frame is not None
    row = header_row(frame, 61, (0, 2))
    assert (row["count"], row["lastOffset"], row["compression"], row["producerId"]) == (2, 1, "gzip", 7)
    assert row["crcValid"] and row["_position"] == 61 and row["timestampType"] == "CreateTime"
    unknown = header_row(frame, None, None)
    assert unknown["baseOffset"] is None and unknown["count"] is None and "_position" not in unknown
