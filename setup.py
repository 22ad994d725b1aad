"""Builds the compiled core. Everything else about the project stands in pyproject.toml.

The extensions are optional: where no compiler is at hand the install goes on without them, and kcli runs on its
interpreted grammars, slower, and says so in `kcli --version`. With KCLI_REQUIRE_CORE set, the build fails instead.
With KCLI_SANITIZE set, the core checks each access and each sum (AddressSanitizer, UBSan): see tests/fuzz/sanitized.py.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

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


def compiled() -> list[Extension]:
    found = extensions()
    made = cythonize(found, compiler_directives=DIRECTIVES) if found else []
    for extension in made:
        # Set here and not in extensions(): cythonize makes new ones, and forgets it.
        extension.optional = "KCLI_REQUIRE_CORE" not in os.environ
    return made


setup(ext_modules=compiled(), options={"build_ext": {"parallel": True}})
