"""Numbers for texts that repeat."""

import pyarrow
import pytest

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


def test_of_many_texts_the_older_ones_are_packed_and_keep_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.diagnose.words.MOST_FRESH", 2)
    words = Words()
    given = [("a", "b", "c"), ("d", None, "a"), ("a", "d", "e")]
    found = [number for each in given for number in numbers(words, *each)]
    table = words.kinds["topic"].table().to_pydict()
    text_of = dict(zip(table["number"], table["word"], strict=True))
    assert [text_of[number] for number in found] == ["a", "b", "c", "d", "", "a", "a", "d", "e"]
    assert found[5] != found[0] and len(words.kinds["topic"].numbers) <= 3


def test_keys_keep_their_numbers_however_many_they_are_and_null_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.diagnose.words.MOST_FRESH", 2)
    words = Words()
    given = [("a", "b", "c"), ("d", None, "a"), ("a", "d", "e")]
    batches = [rows(*each).rename_columns(["connection"]) for each in given]
    found = [words.numbered("tcp", each).column("connection").to_pylist() for each in batches]
    assert found == [[1, 2, 3], [4, None, 1], [1, 4, 5]]
    plain = pyarrow.record_batch([pyarrow.array(["e", None, "f"]), pyarrow.array(["x", "y", "z"])], ["connection", "c"])
    assert words.numbered("tcp", plain).to_pydict() == {"connection": [5, None, 6], "c": ["x", "y", "z"]}
