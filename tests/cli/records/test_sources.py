"""Where records come from; what comes of them stands in test_records.py."""

from __future__ import annotations

from pathlib import Path

from kcli.capture.filters import Filter
from kcli.cli.records.sources import MOST_PROBLEMS, Problems, record_rows
from kcli.errors import InputError
from tests.capture.wires import SAMPLES


def test_captures_come_first_and_every_byte_is_counted() -> None:
    log, capture = SAMPLES / "orders-0" / "00000000000000000000.log", SAMPLES / "java44-txn.pcap"
    problems, moved = Problems(), list[int]()
    rows = list(record_rows([str(log), str(capture)], problems, False, moved.append, {}, chosen=Filter()))
    assert [rows[0]["file"], rows[-1]["file"]] == [str(capture), str(log)] and not problems.count
    assert sum(moved) == log.stat().st_size + capture.stat().st_size


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    problems = Problems()
    one = list(
        record_rows([str(SAMPLES / "java44-txn.pcap")], problems, False, lambda count: None, {}, chosen=Filter())
    )
    two = list(
        record_rows([str(SAMPLES / "java44-txn.pcap")] * 2, problems, False, lambda count: None, {}, chosen=Filter())
    )
    assert one == two


def test_problems_are_counted_and_few_are_kept() -> None:
    problems = Problems()
    for number in range(50):
        problems.add(InputError(str(number)))
    assert problems.count == 50 and len(problems.failures) == MOST_PROBLEMS
