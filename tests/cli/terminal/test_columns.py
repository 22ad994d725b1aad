import json
from collections.abc import Callable

import pytest

from kcli.cli.terminal.columns import print_json, print_rows

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
