from __future__ import annotations

import pytest

from kcli.records.spans import batch_spans
from tests.records.vectors import Case, good, mixed_batches, named


@pytest.mark.parametrize("case", [case for case in good() if len(case.data) < 3000], ids=str)
def test_every_byte_belongs_to_a_field(case: Case) -> None:
    spans, problem = batch_spans(case.data)
    covered: set[int] = set()
    for span in spans:
        covered.update(range(span.start, span.end))
    assert problem is None and covered == set(range(len(case.data)))


def test_fields_are_named_with_their_values() -> None:
    spans = {span.path: span for span in batch_spans(mixed_batches())[0]}
    assert spans["batches[0].producerId"].value == 7 and spans["batches[0].records[0].key"].value == b"k0"
    assert spans["batches[0].records[0].headers[1].value"].value is None
    assert spans["batches[1].messageSize"].value > 0
    last = max(path for path in spans if path.endswith("coordinatorEpoch"))
    assert spans[last].value == 2 and spans[last].end - spans[last].start == 4


def test_what_cannot_be_read_is_one_span_behind_the_error() -> None:
    data = named("value-length-long")
    spans, problem = batch_spans(data)
    assert problem is not None and problem.path.endswith("value")
    assert spans[-1].path.endswith("_rest") and spans[-1].end == len(data)
    for cut in (b"\0" * 10, named("one-record")[:30], bytes(40)):
        assert batch_spans(cut)[1] is not None
