import pytest

from tests.oracle.records import crc


@pytest.mark.parametrize(("function", "check"), [(crc.crc32, 0xCBF43926), (crc.crc32c, 0xE3069283)])
def test_check_values(function: object, check: int) -> None:
    """The check values of the two polynomials' catalogue entries: of the text 123456789."""
    assert callable(function)
    assert function(b"123456789") == check == function(b"6789", function(b"12345"))
