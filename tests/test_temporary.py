"""Temporary folders go, whatever ends the process, and at whatever moment."""

import os
import re
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from kcli.temporary import TemporaryFolder, lasting_folder

PACKAGE = Path(__file__).parents[1] / "kcli"
FOLDERS = ['TemporaryFolder("kcli-")', 'lasting_folder("kcli-")']
# A signal that comes as a folder or file is made, before whoever makes it is told that it is there:
# `tempfile` opens a file of its own to try TMPDIR with.
IN_THE_GAP = """
import os, signal
from kcli.cli.termination import tidy_up_at_signals
from kcli.temporary import TemporaryFolder, lasting_folder, temporary_file

making = os.{makes}

def make(*args, **more):
    made = making(*args, **more)
    os.kill(os.getpid(), signal.{signal})
    return made

tidy_up_at_signals()
os.{makes} = make
{made}
"""


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize(("makes", "made"), [*product(["mkdir", "open"], FOLDERS), ("open", "temporary_file()")])
def test_a_signal_in_the_moment_that_something_appears(number: str, makes: str, made: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", IN_THE_GAP.format(signal=number, makes=makes, made=made)]
    ended = subprocess.run(words, env=os.environ | {"TMPDIR": str(tmp_path)}, capture_output=True, check=False)
    assert ended.returncode == -getattr(signal, number)
    assert not [*tmp_path.iterdir()]


def test_a_folder_goes_with_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with TemporaryFolder("kcli-a-") as name:
        folder = Path(name)
        assert (
            folder.parent == tmp_path and folder.name.startswith("kcli-a-") and folder.stat().st_mode & 0o777 == 0o700
        )
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "deep" / "file").write_text("x")
    assert not folder.exists()
    made = TemporaryFolder("kcli-b-")
    Path(made.name).rmdir()
    made.cleanup()
    made.cleanup()
    assert not [*tmp_path.iterdir()]


def test_what_is_somebody_elses_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("os.urandom", bytes)
    theirs = Path(lasting_folder("kcli-"))
    with pytest.raises(FileExistsError):
        TemporaryFolder("kcli-")
    assert theirs.exists()


def test_a_forked_process_leaves_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = TemporaryFolder("kcli-")
    child = os.fork()
    if child == 0:
        made.cleanup()
        os._exit(0)
    os.waitpid(child, 0)
    assert Path(made.name).exists()
    made.cleanup()


def test_no_other_module_makes_one() -> None:
    makes = re.compile(r"\b(mkdtemp|mkstemp|TemporaryDirectory|NamedTemporaryFile|gettempdir|TemporaryFile)\(")
    assert not [
        str(path)
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "temporary.py" and makes.search(path.read_text())
    ]
