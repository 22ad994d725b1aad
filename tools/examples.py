"""The examples in README.md and docs/, shell and Python: run them, compare what they print, show them.

    python tools/examples.py check FILE...     run and compare; exit 1 when one printed something else
    python tools/examples.py show FILE...      run for a person to see (make demo); their files stay in build/demo
    python tools/examples.py update FILE...    put what was printed into the files, where it differs

An example stands in a fence marked `console`: lines that begin with "$ " (and "> " for what they go on with) are run by
a shell, the rest is what must come out, stdout and stderr as they come. A line "..." there stands for any lines, and
"…" within a line for any text. All examples of a file run in one folder, in order, with samples/ and tests/ in it.

Fences marked `python` run too, in order, in such a folder and in one namespace for the whole file. A fence with ">>> "
prompts is a doctest: what it prints is compared ("..." stands for any text, all white space is the same). A fence
without prompts is a program: it has to run without an exception; what it prints is not looked at.
"""

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

__all__ = [
    "Example",
    "Program",
    "check",
    "documents",
    "matches",
    "on_spark",
    "programs",
    "read",
    "run",
    "run_programs",
    "show",
    "update",
    "workplace",
]

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DEMO = ROOT / "build" / "demo"
SECONDS = 240
SCRIPTS = Path(sys.executable).parent


@dataclass(frozen=True)
class Example:
    file: Path
    line: int
    command: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file.name}:{self.line}: $ {self.command}"


@dataclass(frozen=True)
class Program:
    """A fence of Python; `line`: of its first statement, from 1."""

    file: Path
    line: int
    source: str


def documents() -> list[Path]:
    """Every document that may hold examples."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def read(file: Path) -> Iterator[Example]:
    """The examples of a file, in order."""
    text = file.read_text()
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start(1)) + 1
        command: list[str] = []
        expected: list[str] = []
        start = line
        for number, content in enumerate(fence[1].splitlines(), line):
            if content.startswith("$ "):
                if command:
                    yield Example(file, start, "\n".join(command), "\n".join(expected))
                command, expected, start = [content[2:]], [], number
            elif content.startswith("> ") and not expected:
                command.append(content[2:])
            else:
                expected.append(content)
        if command:
            yield Example(file, start, "\n".join(command), "\n".join(expected))


def programs(file: Path) -> list[Program]:
    """The Python fences of a file, in order."""
    text = file.read_text()
    return [Program(file, text.count("\n", 0, fence.start(1)) + 1, fence[1]) for fence in PYTHON.finditer(text)]


def run_programs(file: Path, folder: Path) -> list[str]:
    """Run the Python fences of a file in `folder`; what went wrong, a text for each fence that failed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder), warnings.catch_warnings(), mock.patch.dict(os.environ, environment(SCRIPTS)):
        # Short examples say open(name).read().
        warnings.simplefilter("ignore", ResourceWarning)
        return [wrong for program in programs(file) if (wrong := run_program(program, namespace))]


def run_program(program: Program, namespace: dict[str, Any]) -> str:
    """What went wrong, "" when nothing did. `namespace` has what the program left there."""
    name = f"{program.file.name}:{program.line}"
    if re.search(r"^>>> ", program.source, re.MULTILINE):
        wrong: list[str] = []
        test = doctest.DocTestParser().get_doctest(program.source, namespace, name, str(program.file), program.line - 1)
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(
            test, out=wrong.append, clear_globs=False
        )
        namespace.update(test.globs)
        return "".join(wrong)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n" * (program.line - 1) + program.source, str(program.file), "exec"), namespace)
    except Exception:
        return f"{name}\n{traceback.format_exc()}"
    return ""


def workplace(folder: Path) -> Path:
    """Make a folder ready for examples to run in, with the clone's own names, so that they can be typed in a clone."""
    for name in ("samples", "tests", "README.md"):
        link = folder / name
        if not link.exists():
            link.symlink_to(ROOT / name)
    return folder


def on_spark(example: Example) -> bool:
    """Whether it needs Java and the compiled core."""
    return "kcli pipeline run" in example.command


def environment(scripts: Path) -> dict[str, str]:
    """Like a person's shell, 110 columns wide, with the kcli of that folder first."""
    path = os.pathsep.join((str(scripts), os.environ.get("PATH", "")))
    return {**os.environ, "PATH": path, "COLUMNS": "110", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def run(example: Example, folder: Path, scripts: Path = SCRIPTS) -> str:
    """What the example prints, with the kcli in `scripts`."""
    done = subprocess.run(
        ["bash", "-c", example.command],
        cwd=folder,
        env={**environment(scripts), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    return "\n".join(line.rstrip() for line in done.stdout.decode(errors="replace").splitlines())


def matches(expected: str, printed: str) -> bool:
    """Whether what was printed is what was expected, with "..." lines and "…" for anything."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(map(re.escape, line.rstrip().split("…"))) + r"\n"
    text = printed.rstrip("\n")
    return re.fullmatch(pattern.rstrip(r"\n") + r"\n?", text + "\n" if text else "") is not None


def check(files: list[Path]) -> int:
    wrong = 0
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            for example in read(file):
                printed = run(example, workplace(Path(folder)))
                if not matches(example.expected, printed):
                    wrong += 1
                    print(f"{example}\n--- expected\n{example.expected}\n--- printed\n{printed}\n")
            for text in run_programs(file, workplace(Path(folder))):
                wrong += 1
                print(text)
    return 1 if wrong else 0


def show(files: list[Path]) -> int:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else ("", "")
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir(parents=True)
    for example in (example for file in files for example in read(file)):
        print(f"{bold}$ {example.command}{plain}", flush=True)
        shell = ["bash", "-c", example.command]
        subprocess.run(shell, cwd=workplace(DEMO), env=environment(SCRIPTS), timeout=SECONDS, check=False)
        print(flush=True)
    for page in DEMO.glob("*.html"):
        print(f"{bold}{page.as_uri()}{plain}")
    return 0


def update(files: list[Path]) -> int:
    for file in files:
        text = file.read_text()
        with tempfile.TemporaryDirectory() as folder:
            for example in list(read(file)):
                printed = run(example, workplace(Path(folder)))
                if not matches(example.expected, printed):
                    text = replaced(text, example, printed)
        file.write_text(text)
    return 0


def replaced(text: str, example: Example, printed: str) -> str:
    prompt = "$ " + example.command.replace("\n", "\n> ") + "\n"
    before = prompt + (example.expected + "\n" if example.expected else "")
    return text.replace(before, prompt + (printed + "\n" if printed else ""), 1)


if __name__ == "__main__":
    verbs = {"check": check, "show": show, "update": update}
    if len(sys.argv) < 3 or sys.argv[1] not in verbs:
        sys.exit(__doc__)
    sys.exit(verbs[sys.argv[1]]([Path(name).resolve() for name in sys.argv[2:]]))
