"""Apache Kafka's own jars, fetched by name through Maven and remembered.

A set of jars is the runtime classpath that Maven works out for a few coordinates. It is asked for once; after that the
list stands in the cache folder (`$KCLI_TEST_CACHE`, else `$XDG_CACHE_HOME/kcli-tests`, else `~/.cache/kcli-tests`) and
the jars in Maven's own repository, so that a second run needs neither Maven nor a network.

Where they cannot be had, the test that asks is skipped with the reason; with CI=true it fails.
"""

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import pytest

__all__ = [
    "LIGHT",
    "broker_jars",
    "cache",
    "classpath",
    "command",
    "compiled",
    "compiled_jar",
    "digest",
    "jars",
    "locked",
    "member_jars",
    "message_jars",
    "release",
    "unavailable",
]

KAFKA = "org.apache.kafka"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
JAVA_SOURCES = Path(__file__).parent / "java"
FETCH_SECONDS = 600
# A JVM that is quick to start: the simple collector, the first compiler only.
LIGHT = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

# Logging back ends that Kafka's poms bring along, several at once; one is chosen below. The tools api is not published
# for every release, so it is named where it is wanted. The last three are no longer published at all.
UNWANTED = (
    ("org.slf4j", "slf4j-log4j12"),
    ("log4j", "log4j"),
    (KAFKA, "kafka-tools-api"),
    ("com.sun.jdmk", "jmxtools"),
    ("com.sun.jmx", "jmxri"),
    ("javax.jms", "jms"),
)
RELOAD4J = (
    "ch.qos.reload4j:reload4j:1.2.25",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-reload4j:1.7.36",
)
LOG4J2 = (
    "org.apache.logging.log4j:log4j-core:2.24.3",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3",
    "org.apache.logging.log4j:log4j-1.2-api:2.24.3",
    "org.slf4j:slf4j-api:1.7.36",
)
QUIET = ("org.slf4j:slf4j-api:1.7.36", "org.slf4j:slf4j-nop:1.7.36")
JACKSON = (
    "com.fasterxml.jackson.core:jackson-databind:2.16.2",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.16.2",
)
ZOOKEEPER = "org.apache.zookeeper:zookeeper:3.5.10"  # older ones do not run on today's Java
JAXB = "javax.xml.bind:jaxb-api:2.3.1"  # part of Java until 11
# Releases whose brokers and clients the tests run: under CI, where all are wanted, one run of Maven fetches them.
BROKERS = ("4.4.0", "4.1.0", "3.9.1", "2.8.2", "0.10.2.2")
CLIENTS = ("4.4.0", "3.9.1", "2.8.2", "0.10.2.2", "0.9.0.1")
# The release of kafka-tools to take where that of the broker was never published. It runs with its own release's jars.
TOOLS_INSTEAD = {"4.4.0": "4.3.1"}


def release(version: str) -> tuple[int, ...]:
    """A release as numbers to compare by: (0, 10, 2, 2)."""
    return tuple(int(part) for part in version.split("."))


def under_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


def unavailable(reason: str) -> NoReturn:
    """Skip the test that needs real Kafka, loudly; under CI=true, fail it."""
    if under_ci():
        pytest.fail(f"real Kafka is needed under CI: {reason}")
    pytest.skip(f"no real Kafka: {reason}", allow_module_level=True)


def cache() -> Path:
    """The folder of everything fetched or compiled for tests."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(os.environ.get("KCLI_TEST_CACHE") or Path(home) / "kcli-tests")
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Only one process at a time: two test runs may want the same jars."""
    with (cache() / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def jars(artifact: str, version: str) -> list[Path]:
    """A Kafka artifact with all it needs at run time, a silent logger and Jackson (for the JsonConverter classes).

    >>> jars("kafka-clients", "4.4.0")  # doctest: +SKIP
    [PosixPath('.../kafka-clients-4.4.0.jar'), ...]
    """
    return list(classpath(coordinates_of(artifact, version), wanted_by_all()))


def coordinates_of(artifact: str, version: str) -> tuple[str, ...]:
    return (f"{KAFKA}:{artifact}:{version}", *QUIET, *JACKSON)


def wanted_by_all() -> tuple[tuple[str, ...], ...]:
    """The sets of all brokers and clients under CI, else none."""
    if not under_ci():
        return ()
    clients = (coordinates_of("kafka-clients", version) for version in CLIENTS)
    return (*map(broker_coordinates, BROKERS), *clients)


# Where generated message classes live, and since when. Before, group and transaction records were in the broker itself.
MESSAGE_ARTIFACTS = {
    "kafka-clients": (0,),
    "kafka-raft": (2, 7),
    "kafka-metadata": (2, 8),
    "kafka-group-coordinator": (3, 4),
    "kafka-transaction-coordinator": (3, 8),
    "kafka-share-coordinator": (4, 0),
}


def message_jars(version: str, beside: Iterable[str] = ()) -> list[Path]:
    """The jars with a release's generated messages, without what else those artifacts need.

    beside: releases that are wanted next; where these are not known yet, one run of Maven serves them all.
    """
    return list(classpath(message_coordinates(version), tuple(map(message_coordinates, beside))))


def message_coordinates(version: str) -> tuple[str, ...]:
    parts = release(version)
    names = [name for name, since in MESSAGE_ARTIFACTS.items() if parts >= since]
    names += ["kafka_2.13"] if parts < (3, 9) else []
    return (*(f"{KAFKA}:{name}:{version}:alone" for name in names), *QUIET, *JACKSON)


def member_jars(version: str) -> list[Path]:
    """What Connect's workers and Streams need to write the data of their group protocols."""
    names = ("connect-runtime", "connect-api", "kafka-streams", "kafka-clients")
    return list(classpath((*(f"{KAFKA}:{name}:{version}:alone" for name in names), *QUIET, *JACKSON)))


def broker_jars(version: str) -> list[Path]:
    """All that a broker of this release runs on: server, tools, logging, and a ZooKeeper where it needs one."""
    return list(classpath(broker_coordinates(version), wanted_by_all()))


def broker_coordinates(version: str) -> tuple[str, ...]:
    parts = release(version)
    scala = "2.11" if parts < (0, 11) else "2.12" if parts < (2, 4) else "2.13"
    names = [f"{KAFKA}:kafka_{scala}:{version}", *(LOG4J2 if parts >= (4,) else RELOAD4J)]
    if parts < (2, 4):
        names.append(ZOOKEEPER)
    if parts < (0, 11):
        names.append(JAXB)
    if parts >= (3, 3):
        tools = tools_release(version)
        names += [f"{KAFKA}:kafka-tools-api:{tools}:alone"]
        names += [f"{KAFKA}:kafka-tools:{tools}:alone"] if tools == version else []
        names += ["net.sf.jopt-simple:jopt-simple:5.0.4", "net.sourceforge.argparse4j:argparse4j:0.7.0"]
    return tuple(names)


def tools_release(version: str) -> str:
    """The release whose command-line classes serve for a broker of this one."""
    return TOOLS_INSTEAD.get(version, version)


@functools.cache
def command(version: str, name: str) -> tuple[list[Path], str]:
    """The jars to run one of Kafka's command-line classes with, and its full name, which moved with the years."""
    for candidate in (version, tools_release(version)):
        found = broker_jars(candidate)
        for package in ("org.apache.kafka.tools", "kafka.tools", "kafka.admin"):
            entry = f"{package}.{name}".replace(".", "/") + ".class"
            if any(entry in zipfile.ZipFile(jar).namelist() for jar in found if jar.name.startswith("kafka")):
                return found, f"{package}.{name}"
    unavailable(f"Kafka {version} has no {name}")


@functools.cache
def classpath(coordinates: tuple[str, ...], beside: tuple[tuple[str, ...], ...] = ()) -> tuple[Path, ...]:
    """The jars for `group:artifact:version` coordinates; `:alone` leaves out what that one depends on.

    beside: sets of coordinates that are fetched along with these, where these are not known yet.
    """
    with locked("maven"):
        if remembered(coordinates) is None:
            others = (each for each in beside if each != coordinates and remembered(each) is None)
            fetch([coordinates, *others])
        found = remembered(coordinates)
    if not found:
        unavailable(f"Maven named jars that are not there for {coordinates[0]}")
    return found


def known(coordinates: Sequence[str]) -> Path:
    """The file that remembers their classpath."""
    return cache() / f"classpath-{digest(*coordinates)}"


def remembered(coordinates: Sequence[str]) -> tuple[Path, ...] | None:
    file = known(coordinates)
    if not file.exists():
        return None
    paths = tuple(Path(part) for part in file.read_text().strip().split(os.pathsep))
    return paths if all(path.exists() for path in paths) else None


def fetch(wanted: Sequence[Sequence[str]]) -> None:
    """Have Maven work out the classpath of each of these sets, and remember it. The first has to be there then."""
    maven = shutil.which("mvn")
    if maven is None:
        unavailable("mvn (Maven) is not installed")
    with tempfile.TemporaryDirectory(dir=cache()) as folder:
        modules = {f"set-{number}": coordinates for number, coordinates in enumerate(wanted)}
        for name, coordinates in modules.items():
            (Path(folder) / name).mkdir()
            (Path(folder) / name / "pom.xml").write_bytes(project(name, coordinates))
        pom = Path(folder) / "pom.xml"
        pom.write_bytes(project("sets", modules=modules))
        options = ["-Dmdep.includeScope=runtime", "-Dmdep.outputFile=classpath"]  # in each module's folder
        command = [maven, "-q", "-B", "--fail-at-end", "-f", str(pom), PLUGIN, *options]
        try:
            done = subprocess.run(
                command,
                env={"MAVEN_OPTS": " ".join(LIGHT)} | os.environ,
                capture_output=True,
                text=True,
                timeout=FETCH_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            unavailable(f"Maven took over {FETCH_SECONDS} s for {wanted[0][0]}")
        for name, coordinates in modules.items():
            if (made := Path(folder) / name / "classpath").exists():
                known(coordinates).write_text(made.read_text())
    if remembered(wanted[0]) is None:
        reason = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stderr[-300:])
        unavailable(f"Maven could not fetch {wanted[0][0]}: {reason[:300]}")


def project(name: str, coordinates: Sequence[str] = (), modules: Iterable[str] = ()) -> bytes:
    """A pom with nothing but dependencies, or nothing but modules."""
    root = ElementTree.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    packaging = "pom" if modules else "jar"
    add(root, modelVersion="4.0.0", groupId="kcli", artifactId=name, version="1", packaging=packaging)
    listed = ElementTree.SubElement(root, "modules")
    for module in modules:
        add(listed, module=module)
    dependencies = ElementTree.SubElement(root, "dependencies")
    for coordinate in coordinates:
        group, artifact, version, *alone = coordinate.split(":")
        dependency = ElementTree.SubElement(dependencies, "dependency")
        add(dependency, groupId=group, artifactId=artifact, version=version)
        exclusions = ElementTree.SubElement(dependency, "exclusions")
        for group_out, artifact_out in (("*", "*"),) if alone else UNWANTED:
            add(ElementTree.SubElement(exclusions, "exclusion"), groupId=group_out, artifactId=artifact_out)
    return ElementTree.tostring(root)


def add(parent: ElementTree.Element, **texts: str) -> None:
    for name, text in texts.items():
        ElementTree.SubElement(parent, name).text = text


def compiled(source: str, classpath: Sequence[Path] = ()) -> Path:
    """The folder of the classes of one of our Java programs (tests/real/java), compiled when it or that changed."""
    path = JAVA_SOURCES / source
    folder = cache() / "classes" / digest(path.read_text(), *map(str, classpath))
    with locked("javac"):
        if not folder.exists():
            compile_into(folder, path, classpath)
    return folder


def compiled_jar(source: str) -> Path:
    """The same in a jar, which shared classes (tests/real/shared_classes.py) want instead of a folder."""
    folder = compiled(source)
    jar = folder.with_suffix(".jar")
    with locked("javac"):
        if not jar.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
                made = Path(scratch) / jar.name
                with zipfile.ZipFile(made, "w") as archive:
                    for path in sorted(folder.glob("*.class")):
                        archive.write(path, path.name)
                made.replace(jar)
    return jar


def compile_into(folder: Path, source: Path, classpath: Sequence[Path]) -> None:
    if (javac := shutil.which("javac")) is None:
        unavailable("javac (a Java 17 development kit) is not installed")
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        path = os.pathsep.join(map(str, classpath)) or "."
        options = ["-Xlint:all", "-Werror", "--release", "17", "-cp", path]
        command = [javac, *(f"-J{each}" for each in LIGHT), *options, "-d", f"{scratch}/classes", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"javac {source.name}:\n{done.stdout}{done.stderr}"
        (Path(scratch) / "classes").rename(folder)


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
