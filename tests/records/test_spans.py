import pytest

from kcli.errors import DecodeError
from kcli.grammar.words.trace import FAULT, Span
from kcli.records.spans import batch_spans, with_faults
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


def faults_of(data: bytes) -> list[tuple[str, int, str]]:
    return [
        (span.path, span.start, span.value)
        for span in with_faults(*with_problem(data))
        if span.type == FAULT and span.start == span.end
    ]


def with_problem(data: bytes) -> tuple[list[Span], bytes, DecodeError | None]:
    spans, problem = batch_spans(data)
    return spans, data, problem


@pytest.mark.parametrize("case", [case for case in good() if len(case.data) < 3000], ids=str)
def test_sound_batches_have_no_faults(case: Case) -> None:
    assert faults_of(case.data) == []


def test_a_fault_stands_behind_its_field() -> None:
    data = bytearray(named("one-record") * 2)
    second = len(data) // 2
    data[second + 16] = 9
    assert faults_of(bytes(data)) == [("batches[1].magic", second + 16, "magic 9: 0, 1 or 2 expected")]
    data[second + 16], data[second + 17] = 2, data[second + 17] ^ 1
    assert [(path, at) for path, at, _ in faults_of(bytes(data))] == [("batches[1].crc", second + 17)]
    spans = [*with_faults(*with_problem(bytes(data)))]
    index = next(index for index, span in enumerate(spans) if span.type == FAULT)
    assert (spans[index - 1].path, spans[index - 1].start) == ("batches[1].crc", second + 17)


def test_a_fault_says_where_reading_stopped() -> None:
    sound = named("one-record")
    stopped = faults_of(sound + sound[:30])
    assert stopped == [("batches[1]", len(sound) + 8, f"says {len(sound) - 12} bytes at {len(sound) + 8:#x}, 18 left")]
    assert [*with_faults(*with_problem(sound + sound[:30]))][-1].path == "batches[1]._rest"
    more = bytearray(sound)
    more[57:61] = (5).to_bytes(4, "big")  # without a byte left behind the records
    last = [*with_faults(*with_problem(bytes(more)))][-1]
    assert (last.type, last.path, last.start) == (FAULT, "batches[0].records[1].length", len(sound))
