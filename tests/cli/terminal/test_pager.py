"""What is longer than the terminal goes to a pager; nothing else does."""

import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.processes import ended

ROWS = 24
PAGED = """import sys
text = sys.stdin.read()
open(sys.argv[1], "w").write(text)
print("PAGED", text.count("\\n"))
"""
PROGRAM = """
import sys, click
from kcli.cli.options.inputs import pager_option
from kcli.cli.terminal.lines import print_line, print_note
from kcli.cli.terminal.pager import page, stop_paging
from kcli.cli.terminal.streams import mend_streams

@click.command()
@click.argument("lines", type=int)
@pager_option
def command(lines):
    if lines < 0:
        stop_paging()
        print_line("asked")
    with page():
        for number in range(abs(lines)):
            print_line(f"line {number} \\x1b[2J")
    sys.stdout.buffer.write(b"raw\\n")
    sys.stdout.buffer.flush()
    print_note("noted")

mend_streams()
command(sys.argv[1:], standalone_mode=False)
"""


def on_terminal(words: list[str], tmp_path: Path, pager: str | None = None, **more: str) -> str:
    """What a command says on a terminal of ROWS lines."""
    script = tmp_path / "pager.py"
    script.write_text(PAGED)
    paged = f"{sys.executable} {script} {tmp_path / 'paged'}" if pager is None else pager
    environment = {**os.environ, "TERM": "xterm", "PAGER": paged} | more
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (ROWS, 80))
    with ended(subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # of Linux, at the end
                break
            if not piece:
                break
            said += piece
        os.close(ours)
    assert process.returncode == 0, said
    return said.decode().replace("\r\n", "\n")


def printed(lines: int, *options: str) -> list[str]:
    """A command that prints so many lines, one with a control character in it, and says something."""
    return [sys.executable, "-c", PROGRAM, *options, "--", str(lines)]


def test_what_is_longer_is_paged_and_notes_wait(tmp_path: Path) -> None:
    assert on_terminal(printed(60), tmp_path) == "PAGED 61\nnoted\n"
    assert (tmp_path / "paged").read_text().splitlines()[59:] == ["line 59 \\x1b[2J", "raw"]


@pytest.mark.parametrize(
    ("lines", "options", "pager", "term"),
    [(10, [], None, "xterm"), (60, ["--no-pager"], None, "xterm"), (60, [], "cat", "xterm"), (60, [], "", "xterm"),
     (60, [], "/no/such/pager", "xterm"), (60, [], None, "dumb")],
)  # fmt: skip
def test_else_it_is_not(lines: int, options: list[str], pager: str | None, term: str, tmp_path: Path) -> None:
    said = on_terminal(printed(lines, *options), tmp_path, pager, TERM=term)
    assert said.count("line ") == lines and said.endswith("raw\nnoted\n") and "PAGED" not in said


def test_a_pager_may_be_left_early(samples: Path, tmp_path: Path) -> None:
    """What does not fit into the pipe behind it is of no use any more."""
    captures = [str(samples / "kcat-codecs.pcap")] * 20
    words = [sys.executable, "-m", "kcli.cli", "decode", "pcap", *captures, "--format", "jsonl", "-q"]
    assert on_terminal(words, tmp_path, "true") == ""


def test_each_answer_of_a_prompt_has_its_own_pages(tmp_path: Path) -> None:
    assert on_terminal(printed(-60), tmp_path) == "asked\nPAGED 60\nraw\nnoted\n"


def test_a_pipe_has_no_pages(tmp_path: Path) -> None:
    done = subprocess.run(printed(60), capture_output=True, text=True, env={**os.environ, "PAGER": "false"})
    assert done.stdout.count("\n") == 61 and done.stderr == "noted\n"


def test_a_command(samples: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "kcli.cli", "decode", "pcap", str(samples / "java44-txn.pcap")]
    said = on_terminal(words, tmp_path)
    assert said.startswith("PAGED ") or "\nPAGED " in said
    assert (tmp_path / "paged").read_text().count("lab-java") > 50
