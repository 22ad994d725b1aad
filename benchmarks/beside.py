"""One bench on this kcli and on another by turns, and the ratio of their figures.

The other one comes out of a wheel or a git revision. It is installed into build/bench/NAME, without what it depends on:
both run on the same Python and the same libraries, and only kcli differs. The benches are this checkout's; for one that
imports what the other kcli does not have, there is the revision's own in its folder OWN, which takes turns where this
checkout's does.
"""

import compileall
import difflib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.ratios import NUMBER, Ratio, ratios, shape, value
from benchmarks.turns import TURNS

__all__ = ["compared", "install", "run_both", "side_for", "surroundings", "with_turns"]

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build" / "bench"
# What benches read of a checkout, beside the package.
CHECKOUT = ("benchmarks", "tests", "tools", "samples")
EARLIER = Path("tests", "bench")  # where benches lay until 0.2.0
OWN = "own"
# Whether all is there that a bench imports, also in programs that it runs.
PROBE = r"""
import re, sys
for line in re.findall(r"^ *(from (?:benchmarks|kcli|tests)\b.* import .+)", open(sys.argv[1]).read(), re.M):
    exec(line)
"""
TURN = re.compile(r" *(turn\(\)|from (benchmarks|tests\.bench)\.turns import .*)\n")


def install(old: str) -> Path:
    """The folder of an installed wheel or git revision, with links to the rest of this checkout beside it."""
    wheel = Path(old)
    name = hashlib.sha256(wheel.read_bytes()).hexdigest()[:12] if wheel.is_file() else revision(old)
    folder = HOME / name
    if not folder.is_dir():
        HOME.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=HOME) as scratch:
            made = Path(scratch) / "made"
            wheel = wheel if wheel.is_file() else build(name, Path(scratch))
            pip("install", "--no-deps", "--no-index", "--target", str(made), str(wheel))
            if (scratch_source := Path(scratch) / "source").is_dir():
                keep_own(scratch_source, made)
            made.rename(folder)
    for each in CHECKOUT:
        (folder / each).unlink(missing_ok=True)  # of another checkout, where the folder was copied
        (folder / each).symlink_to(ROOT / each)
    compileall.compile_dir(ROOT / "kcli", quiet=1)  # as pip has done with the other one
    return folder


def keep_own(source: Path, made: Path) -> None:
    """What the revision's own benches read, beside a link to its package."""
    own = made / OWN
    own.mkdir()
    for each in CHECKOUT:
        if (source / each).is_dir():
            (source / each).rename(own / each)
    (own / "kcli").symlink_to(Path("..") / "kcli")
    benches = folder_of(own)
    shutil.copy(ROOT / "benchmarks" / "turns.py", own / benches)
    package = ".".join(benches.parts)
    for bench in (own / benches).glob("bench_*.py"):
        ours = ROOT / "benchmarks" / bench.name
        if ours.is_file():
            text = ours.read_text().replace("from benchmarks.", f"from {package}.")
            bench.write_text(with_turns(bench.read_text(), text))


def side_for(script: Path, old: Path) -> Path | None:
    """Return the folder whose bench of this name takes turns with ours: that of this checkout's bench where the other
    kcli can run it, else that of the revision's own; None: there is neither.
    """
    return next((root for root in (old, old / OWN) if can_run(root, script)), None)


def can_run(root: Path, script: Path) -> bool:
    """Return whether the kcli in a folder has what its bench imports."""
    path = root / path_in(root, script)
    command = [sys.executable, "-c", PROBE, str(path)]
    return (
        path.exists()
        and not subprocess.run(
            command, env=surroundings(root), cwd=root, stderr=subprocess.DEVNULL, check=False
        ).returncode
    )


def path_in(root: Path, script: Path) -> Path:
    """Return the path of a bench of this checkout in another one, below it."""
    return script if (root / script).exists() else folder_of(root) / script.name


def folder_of(root: Path) -> Path:
    """Return where a checkout has its benches, below it."""
    return EARLIER if (root / EARLIER).is_dir() else Path("benchmarks")


def with_turns(own: str, ours: str) -> str:
    """A bench as it was, with the lines that take turns in the bench as it is."""
    lines, known, merged = own.splitlines(True), ours.splitlines(True), []
    for _, i, j, k, m in difflib.SequenceMatcher(None, lines, known, autojunk=False).get_opcodes():
        merged += lines[i:j]
        merged += [line for line in known[k:m] if TURN.fullmatch(line) and line not in lines[i:j]]
    return "".join(merged)


def revision(name: str) -> str:
    command = ["git", "rev-parse", "--short=12", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: neither a wheel nor a git revision")
    return done.stdout.strip()


def build(name: str, folder: Path) -> Path:
    """The wheel of a revision."""
    archive, source = folder / "source.tar", folder / "source"
    subprocess.run(["git", "archive", "--output", str(archive), name], cwd=ROOT, check=True)
    shutil.unpack_archive(archive, source, filter="data")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source))
    return next(folder.glob("*.whl"))


def pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    subprocess.run(command, env=os.environ | {"KCLI_REQUIRE_CORE": "1"}, check=True)


def surroundings(root: Path) -> dict[str, str]:
    """The environment of a bench whose kcli and tests are in this folder."""
    return {**os.environ, "PYTHONPATH": str(root), "PYTHONUNBUFFERED": "1"}


def run_both(script: Path, words: Sequence[str], old: Path) -> tuple[dict[str, int], list[Ratio]]:
    """Run the bench at this path below the checkout on both; exit codes by "new" and "old", and the ratios."""
    to_new, to_old = os.pipe(), os.pipe()
    sides = {"new": (ROOT, to_new[0], to_old[1], 1), "old": (old, to_old[0], to_new[1], 0)}
    outputs, processes = {}, {}
    for name, (root, source, target, first) in sides.items():
        path = path_in(root, script)
        outputs[name] = tempfile.TemporaryFile("w+")  # noqa: SIM115  read when both have ended
        processes[name] = subprocess.Popen(
            [sys.executable, str(root / path), *words],
            env=surroundings(root) | {TURNS: f"{source},{target},{first}"},
            cwd=root,
            stdout=outputs[name],
            pass_fds=(source, target),
        )
    for descriptor in (*to_new, *to_old):
        os.close(descriptor)  # so that a side sees the other's end
    codes = {name: process.wait() for name, process in processes.items()}
    lines = {}
    for name, output in outputs.items():
        output.seek(0)
        lines[name] = output.read().splitlines()
        output.close()
    for line in compared(lines["new"], lines["old"]):
        print(line, flush=True)
    return codes, list(ratios(script.stem.removeprefix("bench_"), lines["new"], lines["old"]))


def compared(new: Sequence[str], old: Sequence[str]) -> Iterator[str]:
    """The new lines, each with new/old below those of its figures that differ from the old line that reads like it."""
    known: Mapping[str, list[str]] = defaultdict(list)
    for line in old:
        known[shape(line)].append(line)
    for line in new:
        yield line
        if not NUMBER.search(line):
            continue
        if not known[shape(line)]:
            yield "   (no such line from the old one)"
        elif ratios := beneath(line, known[shape(line)].pop(0)):
            yield f"{ratios}   new/old"


def beneath(new: str, old: str) -> str:
    """Ratios in the columns where the new figures end."""
    answer = ""
    for mine, other in zip(NUMBER.finditer(new), NUMBER.finditer(old), strict=True):
        if mine[0] != other[0]:
            before = value(other[0])
            ratio = f"{value(mine[0]) / before:.2f}" if before else "-"
            answer += f"{ratio:>{max(mine.end() - len(answer), len(ratio) + bool(answer))}}"
    return answer
