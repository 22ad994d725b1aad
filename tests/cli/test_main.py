"""The `kcli` command itself: its table of commands, its exit codes, and how errors leave it."""

import importlib
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from kcli import __version__, errors
from kcli.cli import main as module
from kcli.cli.commands import COMMANDS, GROUPS, HELP, QUESTIONS
from kcli.cli.main import main
from tests.processes import ended

KCLI = [sys.executable, "-m", "kcli.cli"]
HEAVY = ("construct", "numpy", "pyarrow", "pyspark", "rich", "asyncio", "ssl", "zstandard", "cramjam")

# What scripts may call: a command that goes from here breaks them.
PINNED = """
    audit
    broker ctl
    broker move-leader
    broker serve
    capture
    check batch
    check request
    compare
    completion
    decode batch
    decode data
    decode pcap
    decode request
    decode response
    decode segment
    diagnose
    diff batch
    diff message
    down-convert
    encode batch
    encode request
    encode response
    fetch-session explain
    fetch-session lint
    fetch-session replay
    pipeline compact
    pipeline forget
    pipeline history
    pipeline report
    pipeline run
    pipeline tables
    pipeline vacuum
    produce
    proxy
    records
    redact
    replay
    report
    schema check
    schema diff
    schema doc
    schema export
    schema import
    schema list
    schema show
    schema vectors
    send
    snapshot backup
    snapshot check
    snapshot create
    snapshot diff
    snapshot doctor
    snapshot drift
    snapshot extract
    snapshot fetch
    snapshot image
    snapshot inspect
    snapshot log
    snapshot plan
    snapshot restore
    snapshot verify
    snapshot watch
    sql
    stats
    top
"""


def leaves(table: Mapping[str, str | Mapping[str, str]], path: str = "") -> Iterator[tuple[str, str]]:
    for name, target in table.items():
        if isinstance(target, str):
            yield path + name, target
        else:
            yield from leaves(target, f"{path}{name} ")


def test_the_command_list_is_pinned() -> None:
    assert sorted(name for name, _ in leaves(COMMANDS)) == [line.strip() for line in PINNED.strip().splitlines()]


@pytest.mark.parametrize(("name", "target"), list(leaves(COMMANDS)))
def test_every_command_is_there(name: str, target: str) -> None:
    source, _, attribute = target.partition(":")
    command = getattr(importlib.import_module(f"kcli.cli.{source}"), attribute)
    assert isinstance(command, click.Command)
    assert main([*name.split(), "--help"]) == 0


@pytest.mark.parametrize("words", [[], ["decode"]])
def test_a_group_alone_shows_its_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert ("Commands:\n" if words else "Understand a capture:\n") in said.out + said.err


def test_help_shows_each_command_in_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    assert main(["help"]) == 0
    text = capsys.readouterr().out
    assert all(question in text for question in QUESTIONS)
    assert main(["help", "decode", "pcap"]) == 0
    assert capsys.readouterr().out.startswith("Usage: kcli decode pcap")


def test_questions_have_commands_that_no_line_breaks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are there to be pasted, on a narrow terminal, too."""
    for columns in (50, 60, 80, 200):
        monkeypatch.setattr("click.formatting.FORCED_WIDTH", columns)
        assert main(["help"]) == 0
        lines = capsys.readouterr().out.splitlines()
        for question, command in QUESTIONS.items():
            [line] = [line for line in lines if line.endswith(f" {command}")]
            assert line.strip() in (command, f"{question:{len(max(QUESTIONS, key=len))}}  {command}")
            assert len(line) <= columns


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kcli {__version__} (compiled core)\n"


def test_help_of_a_group_needs_none_of_its_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail(f"{name} was imported"))
    assert main(["decode", "--help"]) == 0
    assert HELP["decode request"][:40] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("explain", "; did you mean fetch-session explain?"),
        ("verify", "; did you mean snapshot verify?"),
        ("Analyze", "; did you mean `kcli diagnose`?"),
        ("http://here/a.pcap", "; kcli reads files and pipes: `curl -s URL | kcli -`"),
        ("localhost:9092", "; `kcli --help` lists the commands for a live cluster"),
        ("what is wrong?", "; `kcli --help` lists questions and the command for each"),
        ("nothing/like/it.pcap", ""),
    ],
)
def test_a_first_word_that_is_nothing_is_told_what_was_meant(
    word: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    assert capsys.readouterr().err == f"kcli: {word}: no such command or file{hint} (see `kcli --help`)\n"


def test_a_file_that_is_named_alike_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "night.pcap.gz").touch()
    for word in ("night.pcap", "nigth.pcap.gz"):
        assert main([str(tmp_path / word)]) == 2
        assert f"{word}: no such command or file; did you mean {tmp_path}/night.pcap.gz?" in capsys.readouterr().err


def test_a_file_behind_a_group_is_told_that_a_command_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "night.pcap").touch()
    monkeypatch.chdir(tmp_path)
    for word in ("night.pcap", str(tmp_path / "night.pcap"), str(tmp_path / "nigth.pcap")):
        assert main(["fetch-session", word]) == 2
        missing = "no such command; a command of the group comes before a file (there are: explain, lint, replay)"
        assert f"kcli: {word}: {missing} (see" in capsys.readouterr().err
    assert main(["decode", "nigth.pcap"]) == 2
    assert "no such command or file; did you mean night.pcap?" in capsys.readouterr().err


def test_a_cold_start_imports_nothing_heavy() -> None:
    script = f"import sys; from kcli.cli.main import main; main(['--help']); print(*set({HEAVY!r}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["decod"], "kcli: decod: no such command or file; did you mean decode? (see `kcli --help`)"),
        (
            ["decode", "reqest"],
            "kcli: reqest: no such command or file; did you mean request? (see `kcli decode --help`)",
        ),
        (["--colour"], "kcli: No such option '--colour'. (see `kcli --help`)"),
        (
            ["encode", "request", "--hex"],
            "kcli: No such option '--hex'; did you mean: kcli encode request --to hex",
        ),
        (
            ["stats", "--csv", "-"],
            "kcli: No such option '--csv'; did you mean: kcli stats --format csv -",
        ),
    ],
)
def test_wrong_usage_is_one_line(argv: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.splitlines() == [line]


def test_an_unknown_command_without_a_near_one_lists_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["xyzzy"]) == 2
    assert f"(there are: {', '.join(sorted(COMMANDS))})" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (errors.UsageError("no such thing"), 2, "no such thing"),
        (
            errors.DecodeError("topics[1].name", 12, "needs 4 bytes", what="Fetch v1"),
            3,
            "Fetch v1: topics[1].name: needs",
        ),
        (errors.InputError("cut off", file="a.pcap"), 3, "a.pcap: cut off"),
        (errors.NetworkError("refused"), 4, "refused"),
        (
            errors.BrokerError(6, "NOT_LEADER_OR_FOLLOWER", "Produce t[0]"),
            4,
            "Produce t[0]: NOT_LEADER_OR_FOLLOWER (6)",
        ),
        (FileNotFoundError(2, "No such file or directory", "x.bin"), 3, "x.bin: No such file or directory"),
        (OSError(28, "No space left on device"), 3, "No space left on device"),
        (MemoryError(), 3, "out of memory"),
        (RecursionError("maximum recursion depth exceeded"), 3, "the input is nested too deep"),
        (errors.InputError("two\nlines"), 3, "two\\nlines"),
    ],
)
def test_an_error_is_one_line_and_its_code(
    error: BaseException, code: int, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, error)
    assert main([]) == code
    said = capsys.readouterr().err
    assert said.startswith(f"kcli: {text}")
    assert said.count("\n") == 1


def within_a_class() -> RuntimeError:
    """What Python 3.11 raises where an interrupt comes while it makes a class."""
    made = RuntimeError("Error calling __set_name__ on 'Field' instance")
    made.__cause__ = KeyboardInterrupt()
    return made


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.exceptions.Abort(), within_a_class()])
def test_an_interrupt_ends_quietly(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails_with(monkeypatch, error)
    assert main([]) == 130
    assert capsys.readouterr().err == ""


def test_an_interrupt_before_it_is_ready_for_one_ends_quietly() -> None:
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


EARLY = """
import sys
from kcli.cli import __main__ as process, main

def interrupt():
    raise KeyboardInterrupt

main.mend_streams = interrupt
sys.exit(process.start())
"""


def test_a_bug_shows_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    fails_with(monkeypatch, ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        main([])


@pytest.mark.parametrize(("answer", "code"), [(None, 0), (0, 0), (1, 1)])
def test_what_a_command_returns_is_the_exit_code(
    answer: int | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "run", lambda _: answer)
    assert main([]) == code


def fails_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(module, "run", fail)


def test_modules_of_the_current_folder_are_not_imported(tmp_path: Path) -> None:
    for name in ("click", "gc", "kcli_canary", "importlib"):
        (tmp_path / f"{name}.py").write_text("open('canary', 'w').close()\n")
    done = subprocess.run([*KCLI, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "canary").exists()


def test_a_folder_that_has_gone_is_no_error(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = " ".join([*KCLI, "--version"])
    done = subprocess.run(["sh", "-c", f"rmdir {gone}; {words}"], cwd=gone, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [["schema", "list"], ["--help"]])
def test_a_reader_that_goes_away_is_no_error(words: list[str]) -> None:
    with ended(subprocess.Popen([*KCLI, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)) as kcli:
        assert kcli.stdout
        assert kcli.stderr
        kcli.stdout.close()
        assert kcli.stderr.read() == b""
    assert kcli.returncode == 0


def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*KCLI, "schema", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "kcli: standard output: No space left on device\n")


def test_a_missing_file_is_one_line() -> None:
    done = subprocess.run([*KCLI, "decode", "request", "none.bin"], capture_output=True, text=True, check=False)
    assert done.returncode in (2, 3)
    assert done.stderr.count("\n") == 1
    assert "none.bin" in done.stderr


def test_garbage_is_looked_for_seldom() -> None:
    """A process of 100,000 objects that stay looks through them a few times, not more often the more there are."""
    work = "kept = [[n] for n in range(100_000)]; print(sum(each['collections'] for each in gc.get_stats()) - before)"
    script = f"""
import gc, sys
from kcli.cli import __main__ as process
sys.argv = ["kcli", "--version"]
assert process.start() == 0
gc.unfreeze()
before = sum(each["collections"] for each in gc.get_stats())
{work}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout.splitlines()[-1]) <= 6


@pytest.mark.parametrize("threads", [0, 1])
def test_the_process_ends_in_order(threads: int) -> None:
    script = f"""
import atexit, sys, threading
from kcli.cli import __main__ as process
atexit.register(print, "last words")
for _ in range({threads}):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
sys.argv = ["kcli", "none.pcap"]
process.run()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "last words\n")
    assert done.stderr.count("\n") == 1
