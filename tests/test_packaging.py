"""Extras, recipes and the container file name what pyproject.toml has."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import kcli

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
FOR_DEVELOPERS = {"all", "bench", "dev", "docs", "release"}


def extras_in(text: str) -> set[str]:
    return {name for found in re.findall(r"\[([a-z]+(?:,[a-z]+)*)\](?!\()", text) for name in found.split(",")}


def test_all_is_every_extra_of_users() -> None:
    (line,) = EXTRAS["all"]
    assert extras_in(line) == EXTRAS.keys() - FOR_DEVELOPERS


def test_every_library_that_a_user_installs_is_imported() -> None:
    given = {"google-re2": "re2", "grpcio-tools": "grpc_tools", "opentelemetry-proto": "opentelemetry", "pyjwt": "jwt"}
    given["protobuf"] = "google.protobuf"
    lines = [*PROJECT["dependencies"], *(line for name in EXTRAS.keys() - FOR_DEVELOPERS for line in EXTRAS[name])]
    names = {re.split(r"[<>=]", line)[0] for line in lines}
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "kcli").rglob("*.py"))
    imported = {name: re.compile(rf"^\s*(?:import|from) {given.get(name, name)}\b", re.MULTILINE) for name in names}
    assert len(names) > 20 and not [name for name, line in imported.items() if not line.search(sources)]


@pytest.mark.parametrize("name", ["Containerfile", "packaging/kcli-kafka.rb", "docs/how-to/install.md", "README.md"])
def test_extras_that_are_named_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert extras_in(text) and extras_in(text) <= EXTRAS.keys()


def pinned(text: str) -> list[str]:
    """The pins of a file of requirements, names as the index has them."""
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)
    return sorted(f"{re.sub('[-_.]+', '-', name).lower()}=={version}" for name, version in found)


def test_every_pin_has_hashes() -> None:
    """`make hashes` makes the file anew; nothing in it says where the files come from."""
    hashed = (ROOT / "constraints-hashed.txt").read_text("utf-8")
    assert pinned(hashed) == pinned((ROOT / "constraints.txt").read_text("utf-8"))
    for each in re.split(r"\n(?=\S)", hashed.rstrip("\n")):
        assert re.fullmatch(r"[\w.-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+", each), each[:80]


def test_the_page_explains_every_extra_of_users() -> None:
    page = (ROOT / "docs/how-to/install.md").read_text("utf-8")
    rows = {name for row in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert rows == EXTRAS.keys() - (FOR_DEVELOPERS - {"all"})


def test_the_conda_recipe_needs_what_the_wheel_needs() -> None:
    """isal is called python-isal on conda-forge."""
    recipe = yaml.safe_load((ROOT / "packaging/conda-recipe.yaml").read_text("utf-8"))
    assert recipe["context"]["version"] == kcli.__version__
    needed = {f"python-{each}" if each.startswith("isal") else each for each in PROJECT["dependencies"]}
    (python, *others) = recipe["requirements"]["run"]
    assert python == f"python {PROJECT['requires-python']}"
    assert {each.replace(" ", "") for each in others} == needed


def test_the_formula_is_of_this_version() -> None:
    assert f"/tags/v{kcli.__version__}.tar.gz" in (ROOT / "packaging/kcli-kafka.rb").read_text("utf-8")


@pytest.mark.parametrize(
    ("compiler", "said"),
    [
        ("no-such-compiler", "needs a C compiler, and no-such-compiler can't be run: No such file or directory"),
        ("cc -nostdinc", "needs Python's headers, and cc can't compile with them: "),
    ],
)
def test_a_machine_without_a_compiler_is_told_before_the_core_is_translated(
    compiler: str, said: str, tmp_path: Path
) -> None:
    command = [
        sys.executable,
        "setup.py",
        "-q",
        "build_ext",
        "--build-lib",
        str(tmp_path),
        "--build-temp",
        str(tmp_path),
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"CC": compiler}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1 and f"error: the core of kcli {said}" in done.stderr, done.stderr[-2000:]
    assert "apt-get install gcc" in done.stderr and "Traceback" not in done.stderr and "ythoniz" not in done.stdout
