"""The table of `kcli stats` at all widths."""

import itertools

import pytest
from rich.cells import cell_len

from kcli.capture.statistics import Figures
from kcli.cli.stats.command import FIGURES
from kcli.cli.stats.table import Row, table_lines, time_text

LONG = "a-client-id-that-is-so-long-that-no-terminal-has-room-for-all-of-it-in-a-table-with-figures"


def row(group: dict[str, object] | None) -> Row:
    figures = Figures(exchanges=1_234_567)
    figures.codes.update({6: 3, 74: 2, -1: 1, 27: 1})
    values = [1_234_567, 7, 12_345_678, 987_654_321, 0.4, 12.34, 4321.0, None]
    return group, dict(zip(FIGURES, values, strict=True)), figures


ROWS = [
    row({"client": LONG, "api": "OFFSET_FOR_LEADER_EPOCH"}),
    row({"client": "日本語" * 20, "api": "FETCH"}),
    row({"client": "\x1b[31mred\n", "api": None}),
    row(None),
]


@pytest.mark.parametrize("columns", [20, 40, *range(60, 251, 5)])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    every = list(table_lines(("client", "api"), ROWS, columns))
    assert all(cell_len(line) <= columns for line in every)
    lines = [*itertools.takewhile(lambda line: not line.startswith("left out:"), every)]
    left_out = " ".join(every[len(lines) :])
    wide = next(table_lines(("client", "api"), ROWS, None))
    for name in ("req bytes", "resp bytes", "p50 ms", "p95 ms", "p99 ms"):  # what is left out is told
        assert name in wide and (columns < 60 or (name in lines[0]) != (name in left_out))
    below = [line for line in lines if line.startswith("  ")]
    assert len(lines) - len(below) == 5 and bool(below) == ("errors by name" not in lines[0])
    assert all(line.isprintable() for line in lines)
    if columns >= 60:
        assert all(heading in lines[0] for heading in ("client", "api", "exchanges", "errors", "max ms"))


def test_there_is_room_for_all() -> None:
    lines = list(table_lines(("client", "api"), ROWS, 250))
    assert lines[1].startswith(LONG[:59]) and lines[1].endswith(
        "NOT_LEADER_OR_FOLLOWER 3, FENCED_LEADER_EPOCH 2, REBALANCE_IN_PROGRESS 1 and 1 more"
    )
    assert "1,234,567       7    12.3 MB      988 MB   0.400    12.3   4,321       -" in lines[1]
    assert lines[4].startswith("(others)") and lines[3].startswith("\\x1b[31mred\\n")


def test_a_pipe_has_all_columns_and_no_rows_have_headings() -> None:
    assert "errors by name" in next(table_lines(("client", "api"), ROWS, None))
    assert [*table_lines(("api",), [], None)] == [
        "api  exchanges  errors  req bytes  resp bytes  p50 ms  p95 ms  p99 ms  max ms  errors by name"
    ]


def test_times() -> None:
    assert [time_text(ms) for ms in (0.0, 0.4126, 12.34, 4321.0)] == ["0.000", "0.413", "12.3", "4,321"]


def test_names_of_errors_go_below_where_there_is_no_room() -> None:
    lines = list(table_lines(("api",), [row({"api": "FETCH"}), ({"api": "PRODUCE"}, row(None)[1], Figures())], 60))
    assert "errors by name" not in lines[0] and lines[1].startswith("FETCH") and lines[4].startswith("PRODUCE")
    assert lines[2] == "  NOT_LEADER_OR_FOLLOWER 3, FENCED_LEADER_EPOCH 2,"
    assert lines[3] == "  REBALANCE_IN_PROGRESS 1 and 1 more" and lines[5].startswith("left out: req bytes, ")


def test_figures_that_no_row_has_have_no_column() -> None:
    group, values, figures = row({"client": "c"})
    more = values | {"per_second": 61.234, "records_per_request": 0.125, "empty_share": 0.9999, "connections": 4}
    (head, line) = table_lines(("client",), [(group, more, figures)], None)
    assert "/s" in head and "rec/req" in head and "opened" not in head and "rtt ms" not in head
    assert "61.2" in line and "0.12" in line and ">99 %" in line


def test_names_of_errors_stay_before_bytes() -> None:
    heads = {columns: next(table_lines(("api",), [row({"api": "FETCH"})], columns)) for columns in (100, 140, 200)}
    assert "errors by name" not in heads[100] and "resp bytes" in heads[200] and "p95 ms" in heads[200]
    assert "errors by name" in heads[140] and "resp bytes" not in heads[140] and "p95 ms" not in heads[140]
    calm = ({"api": "FETCH"}, row(None)[1], Figures(exchanges=1))
    assert "resp bytes" in next(table_lines(("api",), [calm], 80)) and "errors by" not in next(
        table_lines(("api",), [calm], 80)
    )


def test_names_of_rows_get_a_quarter_of_a_line() -> None:
    """Before figures that may be left out: DESCRIBE_PRODUCERS and DESCRIBE_TRANSACTIONS differ behind 16 characters."""
    rows = [row({"api": "DESCRIBE_PRODUCERS"})]
    assert [next(itertools.islice(table_lines(("api",), rows, room), 1, 2))[:18] for room in (60, 80, 100)] == [
        "DESCRIBE_PRODUCE… ",
        "DESCRIBE_PRODUCERS",
        "DESCRIBE_PRODUCERS",
    ]


def test_connections_are_told_apart_where_they_are_cut() -> None:
    rows = [row({"connection": f"127.0.0.1:9092-127.0.0.1:{port}"}) for port in (40001, 40002)]
    lines = list(table_lines(("connection",), rows, 60))
    assert "0.0.1:40001 " in lines[1] and lines[1].startswith("…") and "0.0.1:40002 " in lines[4]
