"""Builds the compiled core. Everything else about the project stands in pyproject.toml.

The core needs a C compiler, and kcli needs the core. With KCLI_WITHOUT_CORE set, it is not built: `make` builds it once
pip has fetched what else there is. With KCLI_SANITIZE set, the core checks each access and each sum (AddressSanitizer,
UBSan): see tests/fuzz/sanitized.py. With CYTHON_CACHE_DIR set, what has been translated before is taken from there, in
whichever folder that was. With SOURCE_DATE_EPOCH set, the same sources give the same sdist and wheel, to the byte.
"""

import gzip
import os
import re
import shlex
import subprocess
import sysconfig
import tarfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import PlatformError

CORE = Path("kcli/core")
# What the C files include; cythonize finds the Cython files that each module is made of.
HEADERS = sorted(CORE.glob("*/*.h"))
# -g0, as Python's flags have -g: what debuggers read is two thirds of a module, and a quarter of the compiler's time.
COMPILE = ["-O3", "-g0", "-fno-plt", "-fvisibility=hidden", "-Wno-unused-function"]
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
# Compiled in less than half the time of -O1: a minute of fuzz is what it is made for.
SANITIZE = ["-O0", "-g1", "-fno-omit-frame-pointer", "-Wno-unused-function", *CHECKS]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "embedsignature": False,
    "emit_code_comments": False,
}
REMEDY = "install both (Debian: apt-get install gcc python3-dev; Fedora: dnf install gcc python3-devel), or a wheel"
# Where files of the project are read that its page on the package index links to.
SHOWN = "https://github.com/kcli-kafka/kcli/blob/main/"


def readme() -> str:
    """The README as the package index shows it: links between the project's files lead nowhere there."""
    text = Path("README.md").read_text("utf-8")
    return re.sub(r"(?<=\]\()(?![a-z]+:|#)", SHOWN, text)


def extensions() -> list[Extension]:
    sanitized = "KCLI_SANITIZE" in os.environ
    options = SANITIZE if sanitized else COMPILE
    linked = CHECKS if sanitized else []
    return [
        Extension(
            ".".join(path.with_suffix("").parts),
            [str(path)],
            extra_compile_args=options,
            extra_link_args=linked,
            depends=[str(header) for header in HEADERS],
            include_dirs=sorted({str(header.parent) for header in HEADERS}),
        )
        for path in sorted(CORE.glob("*/*.pyx"))
    ]


class BuildCore(build_ext):
    """Translates into C what is built, and nothing where nothing is, as in making an sdist: it takes a while."""

    def run(self) -> None:
        try_compiler()
        cached = "CYTHON_CACHE_DIR" in os.environ
        made = cythonize(extensions(), compiler_directives=DIRECTIVES, cache=cached)
        for extension, translated in zip(self.extensions, made, strict=True):
            extension.sources = translated.sources
            name_includes_alike(Path(translated.sources[0]))
        super().run()


def try_compiler() -> None:
    """Compile a line before the translation, which takes minutes. PlatformError: no C compiler, or no Python.h."""
    flags = [each for name in ("CPPFLAGS", "CFLAGS") for each in shlex.split(os.environ.get(name, ""))]
    folders = [f"-I{sysconfig.get_path(name)}" for name in ("include", "platinclude")]
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    source = b"#include <Python.h>\n"
    command = [*compiler, *flags, *folders, "-fsyntax-only", "-x", "c", "-"]
    try:
        tried = subprocess.run(command, input=source, capture_output=True, check=False)
    except OSError as error:
        raise PlatformError(
            f"the core of kcli needs a C compiler, and {compiler[0]} can't be run: {error.strerror}; {REMEDY}"
        ) from None
    if tried.returncode:
        said = next(
            (each for each in tried.stderr.decode(errors="replace").splitlines() if "error" in each), "it failed"
        )
        raise PlatformError(
            f"the core of kcli needs Python's headers, and {compiler[0]} can't compile with them: {said}; {REMEDY}"
        )


def name_includes_alike(source: Path) -> None:
    """Cython calls a file of its own by its path where it lies below this folder, as with .venv here, and by its
    module's name elsewhere. Always the latter: the same sources give the same C, which ccache knows again."""
    text = source.read_text("utf-8")
    named = re.sub(r'"[^"\n]*\bCython/Includes/', '"', text)
    if named != text:
        source.write_text(named, "utf-8")


class Sdist(sdist):
    """With SOURCE_DATE_EPOCH set, nothing of the machine and the moment is in the archive."""

    def make_archive(self, base_name: str, format: str, *args: object, **options: object) -> str:  # noqa: A002
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or format != "gztar":
            return str(super().make_archive(base_name, format, *args, **options))
        folder, path = Path(self.distribution.get_fullname()), Path(f"{base_name}.tar.gz")

        def alike(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime = int(epoch)
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            return member

        with (
            path.open("wb") as raw,
            gzip.GzipFile("", "wb", fileobj=raw, mtime=int(epoch)) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for each in [folder, *sorted(folder.rglob("*"))]:
                archive.add(each, recursive=False, filter=alike)
        return str(path)


setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    ext_modules=[] if "KCLI_WITHOUT_CORE" in os.environ else extensions(),
    cmdclass={"build_ext": BuildCore, "sdist": Sdist},
    options={"build_ext": {"parallel": True}},
)
