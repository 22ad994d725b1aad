import pytest

from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.file_survey import survey
from kcli.snapshots.reading.log_spans import count_segment, header_time, log_spans, total
from tests.snapshots.files import NODES, partition_folder
from tests.snapshots.made import snapshot


@pytest.mark.parametrize("node", NODES)
def test_spans_add_up_to_what_inspect_counts(node: str) -> None:
    for path in partition_folder(node).glob("*.log"):
        data, decoder = memoryview(path.read_bytes()), Decoder()
        found = survey(data, path.name)
        first, last = found.offsets or (0, 0)
        spans = log_spans([first, (first + last) // 2, last])
        assert count_segment(spans, data, decoder, []) == (last + 1, None)
        whole = total(spans)
        counted: dict[str, list[int]] = {}
        for (key, _), (records, size, *_) in found.types.items():
            row = counted.setdefault(decoder.type_names[key], [0, 0])
            row[0] += records
            row[1] += size
        assert {name: row for name, row in whole.types.items() if name in counted} == counted
        assert (whole.size, whole.records, whole.end) == (len(data), last + 1 - first, last + 1)
        assert (whole.first_ms, whole.last_ms) == found.timestamps


def test_damage_ends_the_count() -> None:
    end, fault = count_segment(log_spans([0]), memoryview(snapshot() + b"\xff" * 70), Decoder(), [])
    assert end > 0 and fault is not None and fault.reason == "batchLength -1 is less than a header takes (49)"
    end, fault = count_segment(log_spans([0]), memoryview(b"\0" * 100), Decoder(), [])
    assert end == 0 and fault is not None and fault.reason == "100 zero bytes where a batch should begin"


def test_a_batch_that_can_t_be_decompressed_is_named() -> None:
    data = bytearray(snapshot())
    data[22] |= 1  # gzip
    problems: list[str] = []
    count_segment(log_spans([0]), memoryview(bytes(data)), Decoder(), problems)
    assert len(problems) == 1 and problems[0].startswith("at byte 0: ")


def test_the_time_of_a_snapshot() -> None:
    assert header_time(memoryview(snapshot())) == 1_700_000_000_000
    for data in (b"", b"\0" * 80, snapshot()[:70]):
        assert header_time(memoryview(data)) is None
