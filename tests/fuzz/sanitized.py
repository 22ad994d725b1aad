"""The fuzz targets on a core that checks itself: `python -m tests.fuzz.sanitized [MINUTES|SECONDSs] [SEED] [NAME...]`.

The core is built with AddressSanitizer and UBSan into build/sanitized, beside the usual one; a first report ends the
run. Python's own allocator is left out, so that an access beyond a bytes object is seen too. Leaks are not looked for:
the interpreter has its own.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["build", "environment", "main"]

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "sanitized"
LIBRARIES = ("libasan.so", "libstdc++.so.6")  # the second: an exception of a C++ library is none of ours
PROGRESS = "KCLI_FUZZ_PROGRESS"
ASAN = "detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=32:handle_segv=1"
UBSAN = "halt_on_error=1:print_stacktrace=1"


def build() -> Path:
    """The folder with the package, built anew where a source has changed."""
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    flags = {"KCLI_SANITIZE": "1", "CC": compiler}
    words = ["--quiet", "build", "--build-base", str(BUILD), "--build-lib", str(BUILD / "lib")]
    subprocess.run([sys.executable, "setup.py", *words], cwd=ROOT, env=os.environ | flags, check=True)
    return BUILD / "lib"


def environment(package: Path) -> dict[str, str]:
    """Of a Python that runs on the package in this folder: the sanitizers' libraries must be there before any other."""
    found = [
        subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
        for name in LIBRARIES
    ]
    return os.environ | {
        "LD_PRELOAD": " ".join(found),
        "ASAN_OPTIONS": ASAN,
        "UBSAN_OPTIONS": UBSAN,
        "PYTHONMALLOC": "malloc",
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join((str(package), str(ROOT))),
        PROGRESS: str(BUILD / "round"),
    }


def check(package: Path) -> None:
    """The checked core is the one that runs."""
    words = [sys.executable, "-c", "import kcli.core.codec.messages; print(kcli.core.codec.messages.__file__)"]
    found = subprocess.run(words, cwd=ROOT, env=environment(package), check=True, capture_output=True, text=True).stdout
    assert found.startswith(str(package)), found


def main(words: list[str]) -> int:
    if len(words) < 2:
        words = [*words[:1], *(["10"] if not words else []), str(int(time.time()))]
    package = build()
    check(package)
    again = f"make fuzz SANITIZE=1 SEED={words[1]} " + (
        f"SECONDS={words[0].removesuffix('s')}" if words[0].endswith("s") else f"MINUTES={words[0]}"
    )
    print(again, flush=True)
    done = subprocess.run([sys.executable, "-m", "tests.fuzz.run", *words], cwd=ROOT, env=environment(package))
    if done.returncode:
        print(f"found at: {(BUILD / 'round').read_text().strip()}\nthe same run again: {again}", flush=True)
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
