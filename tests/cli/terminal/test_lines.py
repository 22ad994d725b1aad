"""Lines: one each, whatever their values hold; and the guards over standard output and error."""

import csv
import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.cli.terminal.lines import Lines, csv_line, guard_streams, joined, paint, print_line, print_note, unguarded

HOSTILE = "\x1b[31mred\x1b]0;t\x07\nFORGED\r\u202e\x9b\u2028\udcff"
SHOWN = "\\x1b[31mred\\x1b]0;t\\x07\\nFORGED\\r\\u202e\\x9b\\u2028\\udcff"


def test_a_line_stays_one_line() -> None:
    out = io.BytesIO()
    Lines(out).line("topic ", HOSTILE, " é")
    assert out.getvalue().decode() == f"topic {SHOWN} é\n"


@pytest.mark.parametrize("odd", ["", HOSTILE, "é", "a\nFORGED", "\udcff", "tab\there"])
def test_many_lines_are_as_each_by_itself(odd: str) -> None:
    texts = [f"line {number}" for number in range(700)] + [odd] + ["last"]
    at_once, one_by_one = io.BytesIO(), io.BytesIO()
    Lines(at_once).lines(iter(texts))
    for text in texts:
        Lines(one_by_one).line(text)
    assert at_once.getvalue() == one_by_one.getvalue()
    assert at_once.getvalue().count(b"\n") == len(texts)


def test_a_long_line_does_not_wait_for_others() -> None:
    out, written = io.BytesIO(), []

    def texts() -> Iterator[str]:
        for size in (5, 100_000, 5):
            written.append(out.tell())
            yield "x" * size

    Lines(out).lines(texts())
    assert written == [0, 0, 100_007] and out.tell() == 100_013


def test_lines_before_an_error_are_written() -> None:
    out = io.BytesIO()
    with pytest.raises(ZeroDivisionError):
        Lines(out).lines(str(1 // (3 - number)) for number in range(5))
    assert out.getvalue() == b"0\n0\n1\n"


def test_colours_are_those_of_paint_alone() -> None:
    out = io.BytesIO()
    Lines(out).line(paint(HOSTILE, True, fg="red"), HOSTILE, paint(HOSTILE, False, fg="red"))
    assert out.getvalue().decode() == f"\x1b[31m{SHOWN}\x1b[0m{SHOWN}{SHOWN}\n"


def test_a_line_that_is_put_together_keeps_its_colours() -> None:
    """`kcli diagnose` once showed \\x1b[31m on a terminal."""
    out = io.BytesIO()
    made = joined(paint("CRITICAL ", True, fg="red"), HOSTILE)
    Lines(out).lines([made, joined("plain ", HOSTILE)])
    assert out.getvalue().decode() == f"\x1b[31mCRITICAL \x1b[0m{SHOWN}\nplain {SHOWN}\n"


def test_lines_on_standard_output_and_error(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("a", paint("b", True, bold=True), HOSTILE)
    print_line()
    print_note("note ", HOSTILE)
    print_note("x" * 40_000)
    captured = capsys.readouterr()
    assert captured.out == f"a\x1b[1mb\x1b[0m{SHOWN}\n\n"
    note, long = captured.err.splitlines()
    assert note == f"note {SHOWN}"
    assert long == "x" * 1200 + "… (40,000 characters)"


def test_guards_escape_all_but_lines_and_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    before: Any = sys.stdout
    restore = guard_streams()
    try:
        again = guard_streams()
        print("a\tb", HOSTILE)
        sys.stderr.writelines(["x\x1b", "\u202ey\n"])
        guarded: Any = sys.stdout
        assert unguarded(sys.stdout) is before
        assert guarded.fileno == before.fileno
        again()
    finally:
        restore()
    assert sys.stdout is before
    captured = capsys.readouterr()
    assert captured.out == "a\tb " + SHOWN.replace("\\n", "\n") + "\n"
    assert captured.err == "x\\x1b\\u202ey\n"


def test_a_row_of_csv() -> None:
    assert csv_line(["a", 1, None, 'two "words"', "a,b"]) == 'a,1,,"two ""words""","a,b"'


def test_a_row_of_csv_with_a_long_cell() -> None:
    long = 'x"\n,' * (1 << 18) + "y"
    row = ["a", long, None, "", 1, 'two "words"', "a,b"]
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(row)
    assert csv_line(row) == text.getvalue()


def test_lines_that_may_wait_keep_their_order() -> None:
    out = io.BytesIO()
    lines = Lines(out)
    lines.later("one")
    lines.later("tw\x1bo")
    assert not out.getvalue()
    lines.line("three")
    assert out.getvalue() == b"one\ntw\\x1bo\nthree\n"
    lines.later("four")
    lines.flush()
    lines.flush()
    assert out.getvalue().endswith(b"three\nfour\n")
    for number in range(1000):
        lines.later(str(number))
    assert out.getvalue().count(b"\n") > 700
