"""A broker's classes as the JVM holds them once they are loaded, in a file that the next one maps.

It takes half the processor time to start then. The file is made once, by a broker that is started and stopped for that,
and kept with the jars."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.real.maven import cache, digest, locked

__all__ = ["shared_classes"]

OFTEN = ("3.9.1", "4.4.0")  # a test run starts dozens of these, of others too few to be worth one more
QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def shared_classes(version: str, classpath: Sequence[Path], run: Callable[[Sequence[str]], None]) -> list[str]:
    """The JVM's options for a broker of this release whose classpath begins so; a JVM that can't use them says nothing.

    run: starts a broker with such options, and stops it in good order
    """
    if version not in OFTEN:
        return []
    java = os.path.realpath(shutil.which("java") or "java")
    file = cache() / f"classes-{digest(java, *map(str, classpath))}.jsa"
    with locked("shared-classes"):
        if not file.exists():
            made = file.with_suffix(f".{os.getpid()}")
            run([f"-XX:ArchiveClassesAtExit={made}", *QUIET])
            if not made.exists():  # it had to be killed: the next one tries again
                return []
            made.replace(file)
    return [f"-XX:SharedArchiveFile={file}", *QUIET]
