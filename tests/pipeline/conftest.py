"""One Spark session for all tests that need one; without Java they are skipped, and say so."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

collect_ignore: list[str] = []

# Spark reads rows as they come, without a program compiled for each query: a quarter less to do where rows are few.
# Runs that tests start as a user does have Spark's own way.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def need_java() -> None:
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        if os.environ.get("CI"):
            pytest.fail("no Java here: the pipeline's tests need Java 17")
        pytest.skip("NO JAVA: the pipeline is not tested on Spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """local[2], quiet, and brief: a session's tests read little."""
    need_java()
    from kcli.pipeline.spark import session

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = session("local[2]", log=str(log), brief=True, settings=INTERPRETED)
        yield made
        made.stop()


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out"
