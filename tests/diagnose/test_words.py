"""Numbers for texts that repeat."""

import numpy
import pyarrow
import pytest

from kcli.core.columns.numbers import TextNumbers
from kcli.diagnose.words import Words


def rows(*texts: str | None) -> pyarrow.RecordBatch:
    return pyarrow.record_batch([pyarrow.array(texts, pyarrow.string()).dictionary_encode()], names=["topic"])


def numbers(words: Words, *texts: str | None) -> list[int]:
    return [*words.numbered("fetch_partitions", rows(*texts)).column("topic").to_pylist()]


def test_a_text_has_the_same_number_in_all_rows_and_null_has_none() -> None:
    words = Words()
    assert numbers(words, "a", None, "b", "a") == [1, 0, 2, 1]
    assert numbers(words, "c", "b", None) == [3, 2, 0]
    assert numbers(words, None, None) == [0, 0]


def test_a_part_of_a_batch_has_the_numbers_of_its_rows() -> None:
    words = Words()
    whole = rows("a", "b", None, "c")
    assert words.numbered("fetch_partitions", whole).column("topic").to_pylist() == [1, 2, 0, 3]
    assert words.numbered("fetch_partitions", whole.slice(1)).column("topic").to_pylist() == [2, 0, 3]


def test_rows_from_before_there_were_many_texts_become_as_those_behind_it() -> None:
    words = Words()
    few = words.numbered("fetch_partitions", rows("a", None))
    many = words.numbered("fetch_partitions", rows(*(str(number) for number in range(1 << 16))))
    assert (few.schema.field(0).type, many.schema.field(0).type) == (pyarrow.uint16(), pyarrow.uint32())
    first, second = words.with_same_types("fetch_partitions", [few, many])
    assert first.schema == second.schema and first.column("topic").to_pylist() == [1, 0]
    assert second.column("topic")[-1].as_py() == (1 << 16) + 1


def test_texts_are_listed_by_number_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.diagnose.words.MOST_BYTES", 3)
    words = Words()
    given = [("a", "bb", "c"), ("dddd", None, "a"), ("", "a", "d\u00e9")]
    found = [number for each in given for number in numbers(words, *each)]
    table = words.kinds["topic"].table()
    assert [each.num_rows for each in table.to_batches()] == [1, 2, 1, 1, 2]
    assert table.to_pydict() == {"number": [*range(7)], "word": ["", "a", "bb", "c", "dddd", "", "d\u00e9"]}
    assert found == [1, 2, 3, 4, 0, 1, 5, 1, 6]


def test_texts_are_told_apart_whatever_their_number() -> None:
    known = TextNumbers()
    given = [b"%d" % each for each in range(5000)]
    ends = numpy.cumsum([0, *map(len, given)]).astype(numpy.int32)
    for _ in range(2):
        made = numpy.zeros(5000, numpy.uint32)
        known.put(ends, numpy.frombuffer(b"".join(given), numpy.uint8), made)
        assert made.tolist() == [*range(1, 5001)] and known.count == 5000
    made_ends, data = known.texts(4999, 5000)
    assert (numpy.frombuffer(made_ends, numpy.int32).tolist(), data) == ([0, 4, 8], b"49984999")


@pytest.mark.parametrize("ends", [[0, 3], [2, 1], [-1, 1]])
def test_texts_end_within_their_bytes(ends: list[int]) -> None:
    known = TextNumbers()
    with pytest.raises(IndexError):
        known.put(numpy.array(ends, numpy.int32), numpy.zeros(2, numpy.uint8), numpy.zeros(1, numpy.uint32))
    with pytest.raises(IndexError):
        known.texts(1, 1)


def test_null_stays_in_a_key() -> None:
    words = Words()
    given = [("a", "b", "c"), ("d", None, "a"), ("a", "d", "e")]
    batches = [rows(*each).rename_columns(["connection"]) for each in given]
    found = [words.numbered("tcp", each).column("connection").to_pylist() for each in batches]
    assert found == [[1, 2, 3], [4, None, 1], [1, 4, 5]]
    plain = pyarrow.record_batch([pyarrow.array(["e", None, "f"]), pyarrow.array(["x", "y", "z"])], ["connection", "c"])
    assert words.numbered("tcp", plain).to_pydict() == {"connection": [5, None, 6], "c": ["x", "y", "z"]}
