"""One version, wherever it is asked for."""

import tomllib
from pathlib import Path

import kcli
from kcli.version import __version__


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert __version__ == kcli.__version__ == project["version"]
