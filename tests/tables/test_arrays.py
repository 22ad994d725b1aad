"""Arrow arrays out of the core's buffers."""

import struct
from typing import Any

import pytest

from kcli.tables.arrays import Among, column_of, error_names, integers, rows_at, strings

numpy = pytest.importorskip("numpy")
pyarrow = pytest.importorskip("pyarrow")


def test_texts_end_where_they_are_said_to() -> None:
    assert strings((struct.pack("4i", 0, 2, 2, 4), "abü".encode())).to_pylist() == ["ab", "", "ü"]
    missing = numpy.array([False, True, False])
    assert strings((struct.pack("4i", 0, 2, 2, 4), b"abcd"), missing).to_pylist() == ["ab", None, "cd"]
    assert strings((bytes(4), b"")).to_pylist() == []


def test_numbers_take_the_width_of_their_column() -> None:
    column = integers(numpy.array([1, -1, 7]), "int16", numpy.array([False, True, False]))
    assert (str(column.type), column.to_pylist()) == ("int16", [1, None, 7])


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())], ids=str)
def test_texts_are_chosen_by_their_places(kind: Any) -> None:
    missing = numpy.array([False, False, True, False])
    made = Among(pyarrow.array(["a", "b"]), numpy.array([1, 0, -1, 1]), missing).array(kind)
    assert (made.type, made.to_pylist()) == (kind, ["b", "a", None, "b"])


def test_error_codes_become_their_names() -> None:
    made = error_names(struct.pack("4i", 0, 2, 2, 3), struct.pack("3q", 6, 5, 999))
    assert made.to_pylist() == [["NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"], [], ["ERROR_999"]]
    assert error_names(bytes(4), b"").to_pylist() == []


def test_values_become_columns_of_any_type() -> None:
    cases: list[tuple[Any, list[Any]]] = [
        (pyarrow.string(), ["ab", None, "", "ü"]),
        (pyarrow.list_(pyarrow.string()), [["a", "b"], [], None, ["c"]]),
        (pyarrow.bool_(), [True, None, False]),
        (pyarrow.int16(), [1, None, -7]),
        (pyarrow.int64(), []),
        (pyarrow.float64(), [0.5, None]),
    ]
    for kind, values in cases:
        made = column_of(values, kind)
        made.validate(full=True)
        assert (made.type, made.to_pylist()) == (kind, values)
    made = column_of([1_700_000_000_000_001, None], pyarrow.timestamp("us", "UTC"))
    assert made.to_pylist()[0].microsecond == 1 and made.null_count == 1


@pytest.mark.parametrize("values", [[5, 6, 7, 8, 9], [5, None, 7, None, 9]], ids=["whole", "with nulls"])
def test_rows_at_places_are_those_that_take_gives(values: list[int | None]) -> None:
    texts_of = [None if value is None else f"t{value}" for value in values]
    columns = [
        pyarrow.array(values, pyarrow.int16()),
        pyarrow.array(values, pyarrow.timestamp("us", "UTC")),
        pyarrow.array(texts_of).dictionary_encode(),
        pyarrow.array(values, pyarrow.float64()),
        pyarrow.array(texts_of),
        pyarrow.array([None if text is None else [text, "", text] for text in texts_of]),
    ]
    places = numpy.array([3, 0, 0, 1, 2])
    missing = numpy.array([False, True, False, False, True])
    for column in columns:
        assert rows_at(column, places).equals(column.take(pyarrow.array(places)))
        given = [None if lacks else place for place, lacks in zip(places.tolist(), missing, strict=True)]
        assert rows_at(column, places, missing).equals(column.take(pyarrow.array(given)))
        sliced = column.slice(1)
        assert rows_at(sliced, places[1:]).equals(sliced.take(pyarrow.array(places[1:])))
