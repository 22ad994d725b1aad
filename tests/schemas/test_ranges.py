import pytest

from kcli.errors import SchemaError
from kcli.schemas.ranges import ALL, HIGHEST, NONE, Range, covering


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", Range(3, 3)), ("0-12", Range(0, 12)), ("7+", Range(7, HIGHEST)), ("none", NONE), ("", NONE), ("0+", ALL)],
)
def test_a_text_and_its_range(text: str, expected: Range) -> None:
    assert Range.parse(text) == expected
    assert Range.parse(text) is Range.parse(text)


@pytest.mark.parametrize("text", ["a", "3-", "-3", "5-3", "1-2-3", "+", "99999", "1 ", "\u0663"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(SchemaError, match="no range of versions"):
        Range.parse(text)


@pytest.mark.parametrize("text", ["3", "0-12", "7+", "none"])
def test_a_range_prints_as_it_is_written(text: str) -> None:
    assert str(Range.parse(text)) == text


def test_members() -> None:
    assert 3 in Range(2, 4)
    assert 5 not in Range(2, 4)
    assert "3" not in Range(2, 4)
    assert list(Range(2, 4)) == [2, 3, 4]
    assert not NONE
    assert Range(0, 0)


def test_what_two_ranges_share() -> None:
    assert Range(0, 5) & Range(3, 9) == Range(3, 5)
    assert Range(0, 2) & Range(3, 9) == NONE
    assert Range(0, 5).holds(Range(1, 5))
    assert Range(0, 5).holds(NONE)
    assert not Range(0, 5).holds(Range(1, 6))


def test_covering() -> None:
    assert covering([4, 1, 2]) == Range(1, 4)
    assert covering([]) == NONE
