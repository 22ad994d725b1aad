"""Values with more than one form."""

import pytest

from kcli.core.codec.values import bytes_of, records_of, uuid_bytes, uuid_text


def test_uuids_go_both_ways() -> None:
    for data in (bytes(16), bytes(range(16)), b"\xff" * 16):
        assert uuid_bytes(uuid_text(data)) == data
    assert uuid_text(b"\xfb\xff" * 8).startswith("-_")


@pytest.mark.parametrize("wrong", ["", "A" * 22 + "=", "A" * 21 + "B", "+" * 22, None, 5])
def test_what_is_no_uuid(wrong: object) -> None:
    with pytest.raises(ValueError, match="needs a uuid"):
        uuid_bytes(wrong)


def test_bytes_and_records_from_either_form() -> None:
    assert bytes_of(b"a") == b"a"
    assert bytes_of("YQ==") == b"a"
    assert records_of({"sizeInBytes": 1, "base64": "YQ=="}) == b"a"
    assert records_of({"sizeInBytes": 0}) == b""
    wrongs: tuple[object, ...] = ({"sizeInBytes": 1}, {"batches": []}, 5, "*")
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"only the size|encoded first|needs bytes"):
            records_of(wrong)
