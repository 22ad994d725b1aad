"""Where records come from; what comes of them stands in test_records.py."""

from collections.abc import Callable
from pathlib import Path

from kcli.capture.decoder import DecodeOptions
from kcli.capture.kafka.record_fields import RecordSink
from kcli.cli.records.sources import MOST_PROBLEMS, Problems, Row, record_groups
from kcli.errors import InputError
from tests.capture.wires import SAMPLES


def rows_of(files: list[str], problems: Problems, moved: Callable[[int], None] = lambda count: None) -> list[Row]:
    groups = record_groups(files, problems, moved, RecordSink(), DecodeOptions())
    return [row for group in groups for row in group.rows()]


def test_captures_come_first_and_every_byte_is_counted() -> None:
    log, capture = SAMPLES / "orders-0" / "00000000000000000000.log", SAMPLES / "java44-txn.pcap"
    problems, moved = Problems(), list[int]()
    rows = rows_of([str(log), str(capture)], problems, moved.append)
    assert [rows[0]["file"], rows[-1]["file"]] == [str(capture), str(log)] and not problems.count
    assert sum(moved) == log.stat().st_size + capture.stat().st_size


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = str(SAMPLES / "java44-txn.pcap")
    assert rows_of([path], Problems()) == rows_of([path, path], Problems())


def test_problems_are_counted_and_few_are_kept() -> None:
    problems = Problems()
    for number in range(50):
        problems.add(InputError(str(number)))
    assert problems.count == 50 and len(problems.failures) == MOST_PROBLEMS
