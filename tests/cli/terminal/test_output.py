"""Files that commands write: an input is never one of them, and what is there stays until all is written."""

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kcli.cli.main import main
from kcli.cli.terminal.output import open_output, open_private, refuse_inputs
from kcli.errors import DecodeError, InputError, UsageError
from tests.commands import commands
from tests.processes import ended, on_full_disk

KCLI = [sys.executable, "-m", "kcli.cli"]
SEGMENT = "00000000000000000000.log"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    return path


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


# What is there


def test_output_goes_to_a_file_or_stdout(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with open_output(tmp_path / "out", ()) as out:
        out.write(b"a")
    for name in (None, "-", "/dev/stdout", "/dev/fd/1"):
        with open_output(name, ()) as out:
            out.write(b"b")
    assert (tmp_path / "out").read_bytes() == b"a"
    assert capfdbinary.readouterr().out == b"bbbb"


def test_a_file_is_replaced_at_the_end_and_keeps_its_mode(target: Path) -> None:
    target.chmod(0o640)
    with open_output(target, ()) as out:
        out.write(b"new" * 100_000)
        out.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new" * 100_000
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert names(target.parent) == ["out"]


def test_a_new_file_has_the_mode_of_new_files(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with open_output(tmp_path / "out", ()) as out:
        out.write(b"x")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one(target: Path, there: bool) -> None:
    if not there:
        target.unlink()
    link = target.parent / "link"
    link.symlink_to("out")
    with open_output(link, ()) as out:
        out.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, UsageError, OSError, BrokenPipeError])
def test_a_failure_leaves_what_was_there(target: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), open_output(target, ()) as out:
        out.write(b"new")
        raise error
    assert target.read_bytes() == b"old"
    assert names(target.parent) == ["out"]


def test_what_could_be_read_of_damaged_input_is_kept(target: Path) -> None:
    with pytest.raises(InputError), open_output(target, ()) as out:
        raise InputError("nothing could be read")
    assert target.read_bytes() == b"old"
    with pytest.raises(DecodeError), open_output(target, ()) as out:
        out.write(b"some")
        raise DecodeError("", 0, "damaged behind it")
    assert target.read_bytes() == b"some"
    assert names(target.parent) == ["out"]


def test_a_sealed_file_is_whole_and_read_only(tmp_path: Path) -> None:
    with pytest.raises(InputError), open_output(tmp_path / "out", (), sealed=True) as out:
        out.write(b"some")
        raise InputError("damaged")
    assert names(tmp_path) == []
    with open_output(tmp_path / "out", (), sealed=True) as out:
        out.write(b"all")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o400


def test_what_is_no_file_is_written_to_as_it_is(tmp_path: Path) -> None:
    with open_output("/dev/null", ()) as out:
        out.write(b"x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with open_output(pipe, ()) as out:
        out.write(b"x")
    reader.join()
    assert read == [b"x"]
    assert names(tmp_path) == ["pipe"]


def test_an_open_file_is_written_on(target: Path) -> None:
    with target.open("ab") as opened:
        with open_output(f"/dev/fd/{opened.fileno()}", ()) as out:
            out.write(b" and new")
        opened.write(b"er")
    assert target.read_bytes() == b"old and newer"


@pytest.mark.parametrize(
    ("name", "number"),
    [("/dev/full", errno.ENOSPC), ("none/out", errno.ENOENT), (".", errno.EISDIR), ("loop", errno.ELOOP)],
)
def test_errors_name_the_output(name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    with pytest.raises(OSError) as caught, open_output(name, ()) as out:
        out.write(b"x" * 1_000_000)
    assert (caught.value.errno, caught.value.filename) == (number, name)


def test_a_missing_folder_is_told_with_what_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link").symlink_to("gone/out")
    for name, folder in (("no such/deep/out", '"no such/deep"'), ("link", str(tmp_path / "gone"))):
        with pytest.raises(OSError) as caught, open_output(name, ()):
            pass
        assert caught.value.strerror == f"there is no folder {folder} to write it to (mkdir -p {folder})"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every file")
def test_a_file_that_is_not_to_be_written_stays(target: Path) -> None:
    target.chmod(0o444)
    with pytest.raises(PermissionError), open_output(target, ()):
        pass


@pytest.mark.parametrize(("flags", "code"), [(0, errno.EACCES), (os.ST_RDONLY, errno.EROFS)])
def test_why_a_file_is_not_to_be_written(target: Path, monkeypatch: pytest.MonkeyPatch, flags: int, code: int) -> None:
    """Root may write to every file but those of a file system that is read-only."""
    status = os.statvfs_result((0,) * 8 + (flags, 255))
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(os, "statvfs", lambda _: status)
    with pytest.raises(OSError) as caught, open_output(target, ()):
        raise AssertionError("opened")
    assert caught.value.errno == code and target.read_bytes() == b"old"


# Whole commands


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_a_full_disk_names_the_file_and_leaves_it(target: Path, samples: Path, form: str) -> None:
    capture = str(samples / "java44-txn.pcap")
    done = on_full_disk(["decode", "pcap", capture, "--format", form, "-o", str(target)], 4096)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, f"kcli: {target}: File too large")
    assert target.read_bytes() == b"old"
    assert names(target.parent) == ["out"]


def test_a_full_disk_under_a_redaction_is_named(target: Path, samples: Path) -> None:
    """The redacted packets wait in a file without a name, in the output's folder."""
    done = on_full_disk(["redact", str(samples / "java44-txn.pcap"), "-o", str(target)], 4096)
    assert (done.returncode, done.stderr) == (3, f"kcli: {target.parent}: File too large\n")
    assert (target.read_bytes(), names(target.parent)) == (b"old", ["out"])


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
def test_a_signal_leaves_the_file_and_nothing_beside_it(
    number: signal.Signals, code: int, target: Path, samples: Path
) -> None:
    capture = (samples / "java44-txn.pcap").read_bytes()
    words = [*KCLI, "decode", "pcap", "-", "-o", str(target)]
    with ended(subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE)) as kcli:
        assert kcli.stdin
        assert kcli.stderr
        kcli.stdin.write(capture)
        kcli.stdin.flush()
        while len(names(target.parent)) == 1 and kcli.poll() is None:
            pass
        kcli.send_signal(number)
        kcli.stdin.close()
        said = kcli.stderr.read()
    assert (kcli.returncode, b"Traceback" in said) == (code, False)
    assert target.read_bytes() == b"old"
    assert names(target.parent) == ["out"]


INTERRUPTED = """
import contextlib, gc, os, sys
from kcli.cli.terminal import output

def write(stop):
    seen = 0
    def trace(frame, event, _):
        nonlocal seen
        if frame.f_code.co_filename not in (output.__file__, contextlib.__file__):
            return None
        seen += 1
        if seen == stop:
            raise KeyboardInterrupt
        return trace
    sys.settrace(trace)
    try:
        with output.open_output(sys.argv[1], []) as out:
            out.write(b"new")
    finally:
        sys.settrace(None)
    return seen

for stop in range(1, write(0) + 1):
    child = os.fork()
    if not child:
        try:
            write(stop)
        except KeyboardInterrupt as error:
            error.kept = error  # a cycle, which nobody looks for any more
            gc.freeze()
            sys.exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, stop
    print(stop, *sorted(os.listdir(os.path.dirname(sys.argv[1]))))
"""


def test_an_interrupt_at_any_line_leaves_nothing_behind(target: Path) -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, target], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) > 60
    assert [line for line in lines if line.split()[1:] != ["out"]] == []


@pytest.mark.parametrize("form", ["table", "parquet"])
def test_a_damaged_capture_gives_what_could_be_read(target: Path, samples: Path, form: str) -> None:
    cut = target.parent / "cut.pcap"
    cut.write_bytes((samples / "java44-txn.pcap").read_bytes()[:-10])
    assert main(["decode", "pcap", str(cut), "--format", form, "-o", str(target), "--quiet"]) == 3
    assert len(target.read_bytes()) > 1000


@pytest.mark.parametrize("form", ["table", "jsonl", "tree", "parquet"])
def test_a_capture_that_is_none_leaves_the_file(target: Path, form: str) -> None:
    assert main(["decode", "pcap", "/etc/hostname", "--format", form, "-o", str(target), "--quiet"]) == 3
    assert main(["decode", "pcap", "none.pcap", "--format", form, "-o", str(target), "--quiet"]) == 3
    assert target.read_bytes() == b"old"


# Inputs


@pytest.fixture
def inputs(tmp_path: Path, samples: Path) -> Path:
    """A folder with an input of each kind."""
    shutil.copy(samples / "java44-txn.pcap", tmp_path / "in.pcap")
    shutil.copytree(samples / "orders-0", tmp_path / "orders-0")
    metadata = next(path.parent for path in sorted(samples.rglob("*.checkpoint")))
    shutil.copytree(metadata, tmp_path / "meta")
    assert (
        main(
            [
                "decode",
                "pcap",
                str(tmp_path / "in.pcap"),
                "--format",
                "jsonl",
                "--quiet",
                "-o",
                str(tmp_path / "in.jsonl"),
            ]
        )
        == 0
    )
    segment = str(tmp_path / "orders-0" / SEGMENT)
    assert main(["decode", "batch", segment, "--format", "jsonl", "-o", str(tmp_path / "batches.jsonl")]) == 0
    return tmp_path


SNAPSHOT = "meta/*.checkpoint"
ORDERS = f"orders-0/{SEGMENT}"
# Every command with -o FILE: its words, and the inputs that it must not write to.
REFUSED = [
    ("audit in.pcap", ["in.pcap"]),
    ("redact in.pcap", ["in.pcap"]),
    ("compare in.pcap in.pcap", ["in.pcap"]),
    ("diagnose in.pcap", ["in.pcap"]),
    *[(f"decode pcap in.pcap --format {form}", ["in.pcap"]) for form in ("table", "jsonl", "tree", "parquet")],
    *[(f"stats in.pcap --format {form}", ["in.pcap"]) for form in ("table", "jsonl", "csv")],
    *[(f"records in.pcap {form}", ["in.pcap"]) for form in ("--format jsonl", "--format parquet", "--values")],
    (f"records {ORDERS}", [ORDERS]),
    (f"decode batch {ORDERS}", [ORDERS]),
    (f"decode segment {ORDERS}", [ORDERS, "orders-0/00000000000000000000.index"]),
    ("decode segment orders-0", [ORDERS, "orders-0/00000000000000000000.timeindex"]),
    (f"decode segment {ORDERS} --format parquet", [ORDERS]),
    (f"decode segment {ORDERS} --verify", [ORDERS]),
    (f"down-convert {ORDERS} --to-magic 1", [ORDERS, "orders-0/00000000000000000000.index"]),
    ("encode request in.jsonl", ["in.jsonl"]),
    ("encode response in.jsonl", ["in.jsonl"]),
    ("encode batch batches.jsonl", ["batches.jsonl"]),
    (f"snapshot inspect {SNAPSHOT}", [SNAPSHOT]),
    (f"snapshot inspect {SNAPSHOT} --records", [SNAPSHOT]),
    ("snapshot inspect meta", [SNAPSHOT]),
    (f"snapshot image {SNAPSHOT}", [SNAPSHOT]),
    ("snapshot image meta --format json", [SNAPSHOT]),
    (f"snapshot diff {SNAPSHOT} {SNAPSHOT}", [SNAPSHOT]),
    ("snapshot diff meta meta", [SNAPSHOT]),
    ("snapshot log meta", [SNAPSHOT]),
    ("snapshot drift meta meta", [SNAPSHOT]),
]
# Tested where they are: commands whose -o is a folder, whose input is of the pipeline or live, whose words are a query.
ELSEWHERE = {
    "capture": "tests/cli/capture/test_command.py",
    "pipeline report": "tests/cli/pipeline/test_report.py",
    "proxy": "tests/cli/cluster/test_proxy.py",
    "report": "tests/cli/report/test_command.py",
    "sql": "tests/cli/sql/test_command.py",
    "schema export": "tests/cli/schema/test_export.py",
    "schema import": "tests/cli/schema/test_importing.py",
    "snapshot backup": "tests/cli/snapshot/test_backup.py",
    "snapshot create": "tests/cli/snapshot/test_create.py",
    "snapshot extract": "tests/cli/snapshot/test_extract.py",
    "snapshot fetch": "tests/cli/snapshot/test_fetch.py",
    "snapshot watch": "tests/cli/snapshot/test_watch.py",  # whose input is a live quorum
}


def test_every_command_with_an_output_is_tried() -> None:
    writing = {name for name, command in commands() if any("-o" in param.opts for param in command.params)}
    tried = {name for name in writing if any(words.startswith(f"{name} ") for words, _ in REFUSED)}
    assert tried | set(ELSEWHERE) == writing


def found(folder: Path, pattern: str) -> Path:
    return next(iter(sorted(folder.glob(pattern))))


def ways(path: Path) -> Iterator[str]:
    """Names of a file."""
    yield str(path)
    yield f"{path.parent}/../{path.parent.name}/./{path.name}"
    for make in (Path.symlink_to, Path.hardlink_to):
        link = path.parents[1] / "linked"
        link.unlink(missing_ok=True)
        make(link, path)
        yield str(link)


@pytest.mark.parametrize(("words", "outputs"), REFUSED, ids=[words for words, _ in REFUSED])
def test_an_input_is_no_output(
    words: str, outputs: list[str], inputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [str(found(inputs, word)) if "/" in word or list(inputs.glob(word)) else word for word in words.split()]
    for path in (found(inputs, pattern) for pattern in outputs):
        before = path.read_bytes()
        for name in ways(path):
            if name.endswith("linked") and not Path(name).is_symlink() and str(path) not in command:
                continue  # its other name keeps the bytes: a hard link is replaced, not written to
            assert main([*command, "-o", name]) == 2, name
            assert f"-o {name}: " in capsys.readouterr().err
            assert path.read_bytes() == before


def test_standard_input_is_no_output(inputs: Path) -> None:
    capture = inputs / "in.pcap"
    before = capture.read_bytes()
    for name in ("in.pcap", "/dev/stdin"):
        for source in ("-", "/dev/stdin"):
            with capture.open("rb") as stdin:
                words = [*KCLI, "decode", "pcap", source, "-o", name]
                done = subprocess.run(words, cwd=inputs, stdin=stdin, capture_output=True, text=True, check=False)
            assert done.returncode == 2, done.stderr
            assert done.stderr.count("\n") == 1
    with capture.open("ab") as stdout:
        done = subprocess.run(
            [*KCLI, "decode", "pcap", "in.pcap"],
            cwd=inputs,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, "standard output" in done.stderr) == (2, True)
    assert capture.read_bytes() == before


def test_other_files_of_a_folder_are_outputs(inputs: Path) -> None:
    for _ in range(2):
        assert main(["decode", "segment", str(inputs / "orders-0"), "-o", str(inputs / "orders-0" / "told.txt")]) == 0
    refuse_inputs(inputs / "orders-0" / "00000000000000000007.log", [inputs / "orders-0"])
    refuse_inputs(None, ["none"])


@click.command()
@click.option("--traces")
@click.option("-o", "--output")
def two_outputs(output: str, traces: str) -> None:
    for each in filter(None, (output, traces)):
        with open_output(each, ()) as out:
            out.write(each.encode())


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("new")
    for other in ("new", "link", "./new"):
        with pytest.raises(UsageError, match="one file for two outputs"):
            two_outputs.main(["-o", str(tmp_path / "new"), "--traces", f"{tmp_path}/{other}"], standalone_mode=False)
    assert names(tmp_path) == ["link"]
    for _ in range(2):  # the second time both are there, and are outputs still
        words = ["-o", str(tmp_path / "a"), "--traces", str(tmp_path / "b")]
        two_outputs.main(words, standalone_mode=False)
    assert (tmp_path / "b").read_text() == str(tmp_path / "b")
    two_outputs.main(["-o", "/dev/null", "--traces", "/dev/null"], standalone_mode=False)


@click.command()
@click.argument("files", nargs=-1)
@click.option("--key")
@click.option("--config", multiple=True)
@click.option("--dialect")
@click.option("--show-secrets", "secrets", is_flag=True)
@click.option("-o", "--output")
def writer(output: str, **_options: object) -> None:
    with open_output(output, ()) as out:
        out.write(b"new")


@pytest.mark.parametrize("way", ["itself", "symbolic", "hard", "other path"])
@pytest.mark.parametrize("option", ["--key", "--config", "--config=", "--dialect", ""])
def test_any_file_that_the_command_names_is_an_input(tmp_path: Path, option: str, way: str) -> None:
    (tmp_path / "folder").mkdir()
    named = tmp_path / "folder" / "named.json"
    named.write_bytes(b"old")
    output = named if way == "itself" else tmp_path / "folder" / ".." / "folder" / "named.json"
    if way in ("symbolic", "hard"):
        output = tmp_path / "link"
        output.symlink_to(named) if way == "symbolic" else output.hardlink_to(named)
    given = {"--dialect": ["--dialect", str(named.parent)], "--config=": ["--config", f"ssl.ca={named}"]}
    words = given.get(option, [option, str(named)] if option else [str(named)])
    with pytest.raises(UsageError, match="is the input"):
        writer.main([*words, "-o", str(output)], standalone_mode=False)
    assert named.read_bytes() == b"old"
    writer.main([*words, "-o", str(tmp_path / "other")], standalone_mode=False)


def test_what_shows_secrets_is_for_its_owner_alone(tmp_path: Path) -> None:
    out, link = tmp_path / "out", tmp_path / "link"
    out.write_bytes(b"old")
    out.chmod(0o644)
    link.symlink_to(out)
    with pytest.raises(UsageError, match="symbolic link"):
        writer.main(["--show-secrets", "-o", str(link)], standalone_mode=False)
    writer.main(["--show-secrets", "-o", str(out)], standalone_mode=False)
    assert out.read_bytes() == b"new" and stat.S_IMODE(out.stat().st_mode) == 0o600


def test_raw_traffic_is_for_its_owner_alone(tmp_path: Path) -> None:
    with open_output(tmp_path / "out", (), private=True) as out:
        out.write(b"x")
    for flags in (os.O_WRONLY, os.O_WRONLY | os.O_EXCL):
        os.close(open_private(tmp_path / f"private-{flags}", flags))
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    (tmp_path / "link").symlink_to(tmp_path / "planted")
    with pytest.raises(OSError, match="link"):
        open_private(tmp_path / "link", os.O_WRONLY)
    assert not (tmp_path / "planted").exists()
