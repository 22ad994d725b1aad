from tests.oracle.records import framing
from tests.oracle.records.framing import read_frame
from tests.records.vectors import named


def status(data: bytes) -> int:
    return read_frame(memoryview(data), 0, len(data))[0]


def test_what_is_no_entry() -> None:
    one = named("one-record")
    assert status(one) == framing.DONE and status(b"") == framing.END
    assert status(one[:17]) == status(one[:-1]) == framing.PARTIAL
    assert status(bytes(40)) == framing.LENGTH
    assert status(one[:16] + b"\xff" + one[17:]) == framing.MAGIC
    assert status(one[:8] + b"\0\0\0\x20" + one[12:]) == framing.SHORT


def test_a_value_that_does_not_fit_leaves_the_frame() -> None:
    data = named("old-v0-value-length")
    _, frame = read_frame(memoryview(data), 0, len(data))
    assert frame is not None and frame.broken and not frame.plausible and frame.size == len(data)
