import pytest

from kcli.schemas.errors import ERRORS, error_name, find_error_code, is_retriable


@pytest.mark.parametrize(
    ("code", "name"),
    [(-1, "UNKNOWN_SERVER_ERROR"), (0, "NONE"), (6, "NOT_LEADER_OR_FOLLOWER"), (35, "UNSUPPORTED_VERSION")],
)
def test_names_and_codes(code: int, name: str) -> None:
    assert error_name(code) == name
    assert find_error_code(name.lower()) == code


def test_a_name_of_an_earlier_release() -> None:
    assert find_error_code("NOT_LEADER_FOR_PARTITION") == 6


def test_what_is_not_there() -> None:
    assert error_name(999) == "ERROR_999"
    assert find_error_code("NO_SUCH_ERROR") is None


def test_retriable() -> None:
    assert is_retriable(6)
    assert not is_retriable(35)
    assert not is_retriable(999)


def test_the_codes_have_no_gap() -> None:
    assert sorted(ERRORS) == list(range(-1, len(ERRORS) - 1))
