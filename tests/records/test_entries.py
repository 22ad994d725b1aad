"""The head of an entry is the grammar's."""

from kcli.core.records.batches import MAGIC_AT
from kcli.grammar import batches
from kcli.grammar.words.fixed import fixed_layout
from kcli.records import entries


def test_the_layout_is_the_grammars() -> None:
    heads = (*batches.MESSAGE_HEADS, batches.BATCH_HEADER)
    assert {fixed_layout(head).offsets["magic"] for head in heads} == {MAGIC_AT}
    assert batches.MESSAGE_HEADS[0].sizeof() == entries.LEAST_ENTRY


def test_sizes() -> None:
    assert entries.entry_size(bytes(8) + b"\0\0\0\5") == 17
    assert entries.entry_size(b"??" + bytes(8) + b"\xff\xff\xff\xff", 2) == 11
