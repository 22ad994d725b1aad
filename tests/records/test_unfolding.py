"""Batches of a message unfold within one budget."""

import pytest

from kcli.errors import InputError
from kcli.jsontext import loads
from kcli.records import codecs, columns, unfolding
from kcli.records.builder import build_batch
from kcli.records.columns import record_arrays
from kcli.records.rows import field_rows
from kcli.records.text import batches_json
from kcli.records.unfolding import Unfolding


def batch_of(values: list[bytes], codec: str) -> bytes:
    return build_batch([(0, None, value, []) for value in values], codec=codec)


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfolding, "MOST_BYTES", 100_000)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_below_the_bound_add_up(codec: str) -> None:
    data = batch_of([bytes(40_000)], codec) * 5
    made = loads(batches_json(data))
    assert [len(batch["records"]) for batch in made] == [1, 1, 0, 0, 0]
    assert "were taken by batches before it in the message" in made[2]["_error"]["reason"]


def test_fields_of_a_message_share_the_budget_and_messages_do_not() -> None:
    data, unfold = batch_of([bytes(60_000)], "zstd"), Unfolding(shared=True)
    first, second = (loads(batches_json(data, unfold=unfold)) for _ in range(2))
    assert "_error" not in first[0] and "_error" in second[0]
    unfold.begin()
    assert "_error" not in loads(batches_json(data, unfold=unfold))[0]


def test_rows_of_a_field_share_it_too() -> None:
    problems = list[str]()
    data = memoryview(batch_of([bytes(60_000)], "gzip") * 3)
    assert len(list(field_rows(data, problems, unfold=Unfolding(shared=True)))) == 1 and len(problems) == 2


def test_what_is_not_compressed_does_not_count() -> None:
    unfold = Unfolding(shared=True)
    assert len(unfold(0, bytes(200_000))) == 200_000 and unfold.used == 0  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unfolds to more than"):
        unfold(4, codecs.compress(4, bytes(200_000)))


def test_columns_take_the_messages_budget_and_go_on_with_the_next_message() -> None:
    data = memoryview(batch_of([bytes(60_000)], "zstd") * 4)
    counts = []
    for messages in (None, [1, 1, 2, 2], [1, 1, 1, 1]):
        problems = list[tuple[int, int, str]]()
        parts = record_arrays(data, problems=problems, messages=messages)
        counts.append((sum(len(of_batch) for _, of_batch in parts), len(problems)))
    assert counts == [(4, 0), (2, 2), (1, 3)]


def test_columns_come_in_parts_that_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "PART_BYTES", 100_000)
    data = memoryview(batch_of([bytes(60_000)], "zstd") * 5)
    found = [(of_batch.tolist(), arrays["value"].to_pylist()) for arrays, of_batch in record_arrays(data)]
    assert [batches for batches, _ in found] == [[0, 1], [2, 3], [4], []][: len(found)] and len(found) in (3, 4)
    assert all(value == bytes(60_000) for _, values in found for value in values)
