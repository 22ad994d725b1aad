"""Builds the compiled core. Everything else about the project stands in pyproject.toml.

The extensions are optional: where no compiler is at hand the install goes on without them, and kcli runs on its
interpreted grammars, slower, and says so in `kcli --version`. With KCLI_REQUIRE_CORE set, the build fails instead. With
KCLI_WITHOUT_CORE set, none is built: `make` builds them while pip fetches what else there is. With KCLI_SANITIZE set,
the core checks each access and each sum (AddressSanitizer, UBSan): see tests/fuzz/sanitized.py.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CORE = Path("kcli/core")
# What the C files include; cythonize finds the Cython files that each module is made of.
HEADERS = sorted(CORE.glob("*/*.h"))
COMPILE = ["-O3", "-fno-plt", "-fvisibility=hidden", "-Wno-unused-function"]
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
SANITIZE = ["-O1", "-g1", "-fno-omit-frame-pointer", "-Wno-unused-function", *CHECKS]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "embedsignature": False,
    "emit_code_comments": False,
}


def extensions() -> list[Extension]:
    sanitized = "KCLI_SANITIZE" in os.environ
    options = SANITIZE if sanitized else COMPILE
    linked = CHECKS if sanitized else []
    optional = "KCLI_REQUIRE_CORE" not in os.environ
    return [
        Extension(
            ".".join(path.with_suffix("").parts),
            [str(path)],
            extra_compile_args=options,
            extra_link_args=linked,
            depends=[str(header) for header in HEADERS],
            include_dirs=sorted({str(header.parent) for header in HEADERS}),
            optional=optional,
        )
        for path in sorted(CORE.glob("*/*.pyx"))
    ]


class BuildCore(build_ext):
    """Translates into C what is built, and nothing where nothing is, as in making an sdist: it takes a while."""

    def run(self) -> None:
        for extension, translated in zip(
            self.extensions, cythonize(extensions(), compiler_directives=DIRECTIVES), strict=True
        ):
            extension.sources = translated.sources
        super().run()


setup(
    ext_modules=[] if "KCLI_WITHOUT_CORE" in os.environ else extensions(),
    cmdclass={"build_ext": BuildCore},
    options={"build_ext": {"parallel": True}},
)
