"""One version, wherever it is asked for."""

import subprocess
import sys

import kcli
from kcli.version import __version__


def test_the_version_is_that_of_the_package() -> None:
    assert kcli.__version__ == __version__
    done = subprocess.run([sys.executable, "-m", "kcli.cli", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"kcli {__version__} ")
