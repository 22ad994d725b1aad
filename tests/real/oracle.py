"""Kafka's own message classes as a judge: bytes in, the bytes and the JSON that Kafka makes of them out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.real.lab import run_java
from tests.real.maven import compiled, message_jars

__all__ = ["RELEASES", "Answer", "Case", "ask", "classes"]

# A published version of each release that the tables know.
RELEASES = {
    "2.4": "2.4.1", "2.5": "2.5.1", "2.6": "2.6.3", "2.7": "2.7.2", "2.8": "2.8.2",
    "3.0": "3.0.2", "3.1": "3.1.2", "3.2": "3.2.3", "3.3": "3.3.2", "3.4": "3.4.1",
    "3.5": "3.5.2", "3.6": "3.6.2", "3.7": "3.7.2", "3.8": "3.8.1", "3.9": "3.9.1",
    "4.0": "4.0.0", "4.1": "4.1.0", "4.2": "4.2.0", "4.3": "4.3.1", "4.4": "4.4.0",
}  # fmt: skip
NEWEST = "4.4.0"


@dataclass(frozen=True, slots=True)
class Case:
    """names: today's and older ones; data: the message's bytes, or its JSON; None for one that Kafka makes with its own
    defaults."""

    names: tuple[str, ...]
    version: int
    data: bytes | str | None

    def line(self) -> str:
        data = "-" if self.data is None else f"={self.data}" if isinstance(self.data, str) else f".{self.data.hex()}"
        return f"{','.join(self.names)} {self.version} {data}\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """outcome: "ok", "absent" (the release has no such message or version), "error" (`text` says which)."""

    outcome: str
    data: bytes = b""
    text: str = ""


def classes(version: str) -> list[Path]:
    """The jars with the messages of one of RELEASES; Maven fetches those of all of them at once."""
    return message_jars(version, RELEASES.values())


def ask(version: str, cases: Sequence[Case]) -> list[Answer]:
    """What the classes of a Kafka version answer, case by case; one Java process for all."""
    program = compiled("MessageOracle.java", classes(NEWEST))
    stdin = "".join(case.line() for case in cases).encode()
    done = run_java([program, *classes(version)], "MessageOracle", stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    answers = [answer(line) for line in done.stdout.decode().split("\n")[:-1]]
    assert len(answers) == len(cases)
    return answers


def answer(line: str) -> Answer:
    outcome, _, rest = line.partition("\t")
    if outcome != "ok":
        return Answer(outcome, text=rest)
    data, _, text = rest.partition("\t")
    return Answer(outcome, bytes.fromhex(data), text)
