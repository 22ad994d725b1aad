"""What a user installs: the sdist, the wheel built from it, and the wheel of a machine without a compiler."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

import kcli
from tests.real import maven

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.timeout(900)

# A Metadata v0 request for all topics.
REQUEST = "0003 0000 00000007 0003 636c69 00000000"
DECODED = (
    '{"requestHeader":{"requestApiKey":3,"requestApiVersion":0,"correlationId":7,"clientId":"cli",'
    '"requestApiKeyName":"METADATA"},"request":{"topics":[]}}'
)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist of a clean copy of the checkout: nothing of it is there that git does not know."""
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("sdist")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    build("--sdist", copy, out)
    return next(out.glob("kcli_kafka-*.tar.gz"))


@pytest.fixture(scope="module")
def source(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """Built from the sdist; taken from the cache where nothing that goes into it has changed."""
    return built_once(source)


def built_once(source: Path) -> Path:
    """A wheel of these sources, of these tools and of this Python: compiling the core takes minutes."""
    digest = hashlib.sha256(sys.version.encode())
    inputs = [source / "setup.py", source / "pyproject.toml", source / "constraints.txt", source / "MANIFEST.in"]
    for path in [*inputs, *sorted((source / "kcli").rglob("*")), *sorted((source / "man").rglob("*"))]:
        if path.is_file() and path.suffix not in (".c", ".so", ".pyc"):
            digest.update(f"{path.relative_to(source)} {path.stat().st_size}\n".encode() + path.read_bytes())
    folder = maven.cache() / "wheels" / f"wheel-{digest.hexdigest()[:24]}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        out = Path(tempfile.mkdtemp(dir=folder.parent))
        build("--wheel", source, out)
        out.replace(folder)
    return next(folder.glob("*.whl"))


def build(kind: str, folder: Path, out: Path, **environment: str) -> None:
    for left in ("build", "kcli_kafka.egg-info"):
        subprocess.run(["rm", "-rf", str(folder / left)], check=True)
    command = [sys.executable, "-m", "build", "--no-isolation", kind, "--outdir", str(out), str(folder)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_sdist_has_all_that_a_build_and_a_test_run_need(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "LICENSE",
        "README.md",
        "Makefile",
        "constraints.txt",
        "kcli/core/codec/messages.pyx",
        "kcli/core/codec/messages.pxd",
    } <= names
    assert {"tests/real/java/MessageOracle.java", "tools/manpages.py", "man/kcli.1"} <= names
    assert not [name for name in names if name.endswith((".so", ".c", ".pyc"))]


def test_the_wheel_has_the_core_the_tables_and_the_man_pages(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = {path.stem for path in (ROOT / "kcli/core").rglob("*.pyx")}
    assert sources == {Path(name).name.split(".")[0] for name in names if name.endswith(".so")}
    assert [name for name in names if name.startswith("kcli/schemas/stock/")]
    assert [name for name in names if name.endswith("share/man/man1/kcli.1")]
    assert not [name for name in names if name.startswith(("tests/", "tools/"))]


def test_the_core_in_c_is_the_same_wherever_cython_lies() -> None:
    """So that a compiler's cache knows it again in the wheel's build, which is in another folder."""
    translated = sorted((ROOT / "kcli/core").rglob("*.c"))
    if not translated:
        pytest.skip("the core is not built")
    assert not [path.name for path in translated if "Cython/Includes/" in path.read_text("utf-8")]


def test_the_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    install(wheel, tmp_path)
    assert run(tmp_path, "--version").startswith(f"kcli {kcli.__version__} (compiled core)")
    assert run(tmp_path, "decode", "request", "--hex", stdin=REQUEST).strip() == DECODED


def test_without_a_compiler_nothing_is_built(source: Path, wheel: Path, tmp_path: Path) -> None:
    """After `wheel`, so that they don't share a build folder."""
    assert wheel.exists()
    for made in (source / "kcli/core").rglob("*.so"):
        made.unlink()
    with pytest.raises(AssertionError, match="'false'"):
        build("--wheel", source, tmp_path, CC="false", CXX="false")
    assert not list(tmp_path.iterdir())


def install(wheel: Path, folder: Path) -> None:
    """Unpack it into a folder that goes before everything else; what it depends on is this interpreter's."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder)]
    subprocess.run([*command, str(wheel)], check=True)


def run(folder: Path, *words: str, stdin: str = "") -> str:
    """What the kcli installed in that folder prints."""
    check = "import kcli, sys; assert kcli.__file__.startswith(sys.argv[1]), kcli.__file__"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, "-c", check, str(folder)], env=environment, cwd=folder, check=True)
    command = [sys.executable, "-m", "kcli.cli", *words]
    done = subprocess.run(
        command, env=environment, input=stdin, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
