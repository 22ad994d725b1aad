"""One Spark session for all tests that need one; without Java they are skipped, and say so."""

import contextlib
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

collect_ignore: list[str] = []

# Spark plans each query once and reads rows as they come, without a program compiled for each query: half as much to do
# where rows are few. Runs that tests start as a user does have Spark's own way.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
# For few rows: not four tasks in each shuffle, but still more than one.
SHUFFLES = {"spark.sql.shuffle.partitions": "2"}


# Of modules that Python would take from the folder that it is started in.
CANARIES = ("pandas", "pyarrow", "numpy", "pyspark", "kcli", "click", "pickle", "socket", "struct")


def lay_canaries(folder: Path) -> Path:
    """Modules that write their name into the file, when something imports them."""
    for name in CANARIES:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'canary')!r}, 'a').write('{name} ')\n")
    return folder / "canary"


def need_java() -> None:
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        if os.environ.get("CI"):
            pytest.fail("no Java here: the pipeline's tests need Java 17")
        pytest.skip("NO JAVA: the pipeline is not tested on Spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """local[2], quiet, and brief: a session's tests read little. It is started in a folder that has canaries."""
    need_java()
    from kcli.pipeline.spark import session

    folder = tmp_path_factory.mktemp("spark")
    lay_canaries(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # This process, unlike kcli, may import from the folder that it is in.
        with contextlib.chdir(folder), mock.patch.object(sys, "path", [each for each in sys.path if each]):
            made = session("local[2]", log=str(folder / "spark.log"), brief=True, settings=INTERPRETED | SHUFFLES)
        yield made
        made.stop()


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out"
