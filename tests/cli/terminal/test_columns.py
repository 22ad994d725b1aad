import json
from collections.abc import Callable

import pytest

from kcli.cli.terminal.columns import print_json, print_rows, row_lines

ROWS = [["1", "[red]x"], ["10", "a long one"]]


def test_columns_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(("n", "text"), ROWS, title="Two")
    assert capsys.readouterr().out == "Two\nn   text\n1   [red]x\n10  a long one\n"


def test_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(("n", "text"), [])
    assert capsys.readouterr().out == "n  text\n"


def test_a_table_on_a_terminal_takes_text_as_it_is(
    capsys: pytest.CaptureFixture[str], terminal: Callable[[int], None]
) -> None:
    terminal(80)
    print_rows(("n", "text"), ROWS)
    assert "[red]x" in capsys.readouterr().out


@pytest.mark.parametrize("count", [0, 1, 2])
def test_json_is_an_array_or_an_object_a_line(capsys: pytest.CaptureFixture[str], count: int) -> None:
    values = [{"n": number} for number in range(count)]
    print_json(values, "json")
    assert json.loads(capsys.readouterr().out) == values
    print_json(values, "jsonl")
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == values


def test_what_has_no_room_goes_on_below_or_is_named() -> None:
    """No column goes without a word, and no value loses its end."""
    headings, long = ("kind", "name", "text", "size"), "abcdefghij" * 3
    rows = [["api", long, "some words of a text", "12"]]
    for room in range(30, 90):
        lines = [*row_lines(headings, rows, room, {"size"})]
        shown = lines[0].split()
        table, said = "\n".join(lines).split("\nleft out: ") if len(shown) < 4 else ("\n".join(lines), "")
        assert all(len(line) <= room for line in lines)
        assert shown == [*headings[: len(shown)]] and len(shown) >= 2
        assert said.split("(")[0].replace(",", "").split() == [*headings[len(shown) :]]
        for value, name in zip(rows[0], shown, strict=False):
            ends = [*sorted(lines[0].index(each) for each in shown), None]
            begin = lines[0].index(name)
            end = ends[ends.index(begin) + 1] if name != "size" else None
            column = [line[begin:end].split() for line in table.split("\n")[1:]]
            pieces = [piece for line in column for piece in line]
            assert name == "size" or "".join(pieces) == value.replace(" ", "")
    assert [*row_lines(headings, rows, None, {"size"})][1].endswith("  12")


def test_values_below_each_other_end_together() -> None:
    lines = [*row_lines(("n", "name"), [["1", "a"], ["100", "b"]], 40, {"n"})]
    assert lines == ["  n  name", "  1  a", "100  b"]
