"""Several sets of jars from one run of Maven; a script stands for Maven."""

import os
from pathlib import Path

import pytest

from tests.real import maven

# Knows one jar for each set, and nothing of those that name "lost"; writes down each run.
SCRIPT = """#!/bin/sh
while [ "$1" != -f ]; do shift; done
folder=$(dirname "$2")
echo run >> "{folder}/runs"
for pom in "$folder"/*/pom.xml; do
    grep -q lost "$pom" || echo "{folder}/a.jar" > "$(dirname "$pom")/classpath"
done
! grep -q lost "$folder"/*/pom.xml || { echo "[ERROR] lost is not there"; exit 1; }
"""


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven.classpath.cache_clear()
    (tmp_path / "a.jar").touch()
    (tmp_path / "mvn").write_text(SCRIPT.replace("{folder}", str(tmp_path)))
    (tmp_path / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("KCLI_TEST_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CI", raising=False)


def runs(folder: Path) -> int:
    return (folder / "runs").read_text().count("run")


def test_sets_that_are_wanted_next_come_along(tmp_path: Path) -> None:
    sets = (("g:one:1",), ("g:two:1:alone",))
    for each in sets:
        assert maven.classpath(each, sets) == (tmp_path / "a.jar",)
    assert runs(tmp_path) == 1


def test_a_set_that_cannot_be_had_leaves_the_others(tmp_path: Path) -> None:
    sets = (("g:one:1",), ("g:lost:1",))
    assert maven.classpath(sets[0], sets) == (tmp_path / "a.jar",)
    with pytest.raises(pytest.skip.Exception, match=r"could not fetch g:lost:1: \[ERROR\] lost is not there"):
        maven.classpath(sets[1], sets)
    assert runs(tmp_path) == 2


def test_under_ci_one_run_has_every_broker_and_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    for version in maven.CLIENTS:
        assert maven.jars("kafka-clients", version) == [tmp_path / "a.jar"]
    for version in maven.BROKERS:
        assert maven.broker_jars(version) == [tmp_path / "a.jar"]
    assert runs(tmp_path) == 1
