"""What a user installs: the sdist, the wheel built from it, and the wheel of a machine without a compiler.

The core is compiled once, in the checkout; the sdist has every file that it was made of."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

import kcli

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.timeout(900)

EPOCH = 1767225600
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
    for name in known_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    build("--sdist", copy, out, SOURCE_DATE_EPOCH=str(EPOCH))
    return next(out.glob("kcli_kafka-*.tar.gz"))


def known_files() -> list[str]:
    """All files of the checkout that git knows or would take."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def source(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist unpacked, its core in C, as Cython has translated the same sources in the checkout."""
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = next(folder.iterdir())
    take_over("*.c", source)
    return source


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the sdist, with the core as it was compiled in the checkout, by the same settings."""
    folder = tmp_path_factory.mktemp("wheel")
    take_over("*.so", folder / "lib")
    (folder / "settings.cfg").write_text(f"[build]\nbuild_lib = {folder / 'lib'}\n")
    build("--wheel", source, folder, DIST_EXTRA_CONFIG=str(folder / "settings.cfg"))
    return next(folder.glob("*.whl"))


def take_over(pattern: str, folder: Path) -> None:
    """Copy what the checkout's core was made into, younger than any source there, so that it isn't made anew."""
    soon = time.time() + 3600
    for made in (ROOT / "kcli/core").rglob(pattern):
        copy = folder / made.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, copy)
        os.utime(copy, (soon, soon))


def build(kind: str, folder: Path, out: Path, **environment: str) -> None:
    for left in ("build", "kcli_kafka.egg-info"):
        subprocess.run(["rm", "-rf", str(folder / left)], check=True)
    command = [sys.executable, "-m", "build", "--no-isolation", kind, "--outdir", str(out), str(folder)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_sdist_has_all_that_a_build_and_a_test_run_need(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    of_kcli = {name for name in known_files() if name.startswith("kcli/")}
    assert {"LICENSE", "README.md", "Makefile", "constraints.txt", *of_kcli} <= names
    assert {"tests/real/java/MessageOracle.java", "tools/manpages.py", "man/kcli.1"} <= names
    assert not [name for name in names if name.endswith((".so", ".c", ".pyc"))]


def test_the_sdist_says_nothing_of_the_machine_and_the_moment(sdist: Path) -> None:
    """So that the same sources give the same bytes, whoever makes it."""
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert {(each.mtime, each.uid, each.gid, each.uname, each.gname) for each in members} == {(EPOCH, 0, 0, "", "")}
    assert {each.mode for each in members} == {0o644, 0o755}
    assert [each.name for each in members[1:]] == sorted((each.name for each in members[1:]), key=Path)
    assert sdist.read_bytes()[3:8] == b"\0" + EPOCH.to_bytes(4, "little")  # no file's name, and when it was made


def test_the_wheel_has_the_core_the_tables_and_the_man_pages(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = {path.stem for path in (ROOT / "kcli/core").rglob("*.pyx")}
    assert sources == {Path(name).name.split(".")[0] for name in names if name.endswith(".so")}
    assert [name for name in names if name.startswith("kcli/schemas/stock/")]
    assert [name for name in names if name.endswith("share/man/man1/kcli.1")]
    assert not [name for name in names if name.startswith(("tests/", "tools/"))]


def test_the_page_on_the_index_has_links_that_lead_somewhere(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    text = archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))).decode()
    assert "Content-Type: text/markdown" in text
    links = re.findall(r"\]\(([^)]+)\)", text.partition("\n\n")[2])
    assert "https://github.com/kcli-kafka/kcli/blob/main/docs/how-to/install.md" in links
    assert not [link for link in links if not link.startswith("https://")]


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


def test_without_a_compiler_nothing_is_built(source: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="false can't compile"):
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
