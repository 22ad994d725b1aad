"""Every message of the tables against Kafka's own classes, of every release that has it, byte for byte and in JSON."""

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.schemas.catalog import catalog
from tests import messages as made
from tests.real.oracle import RELEASES, Answer, Case, ask

# 2.7 wraps records in a class that only its network code can make, so its FetchResponse is read with empty ones only.
CLOSED = {("2.7", "FetchResponse")}
# Defaults that changed from one release to the next: Kafka's newest is in the tables, so only that one is compared.
OWN_DEFAULTS = "default"
HIDDEN = {"records", "recordSet", "unalignedRecords", "_unknownTaggedFields"}


@dataclass(frozen=True, slots=True)
class Question:
    """One message, version and shape, in the layout that the release gives them, with the bytes that kcli writes."""

    name: str
    version: int
    shape: str
    data: bytes
    case: Case

    def __str__(self) -> str:
        return f"{self.name} v{self.version} {self.shape}"

    @property
    def codec(self) -> MessageCodec:
        return messages.data(self.name, self.version)


@functools.cache
def judged(release: str) -> list[tuple[Question, Answer]]:
    """What a release's classes say to everything; what it does not have is left out."""
    questions = list(ask_of(tuple(int(part) for part in release.split("."))))
    answers = ask(RELEASES[release], [question.case for question in questions])
    return [pair for pair in zip(questions, answers, strict=True) if pair[1].outcome != "absent"]


def ask_of(release: tuple[int, ...]) -> Iterator[Question]:
    for message, version in made.every_message():
        yield from questions(message.name, version, made.layout(message, version, release)[0])


@functools.cache  # most releases lay out a message alike
def questions(name: str, version: int, variant: str) -> list[Question]:
    message, codec = catalog().message(name), messages.data(name, version)
    names = (name, *message.aliases)
    mark = {"_variant": variant} if variant else {}
    older = (each.message for each in message.variants if each.name == variant and version in each.versions)
    shape_of = next(older, message)
    found = []
    for shape, make in made.SHAPES.items():
        data = codec.write(make(shape_of, version) | mark)
        found.append(Question(name, version, shape, data, Case(names, version, data)))
    return [*found, Question(name, version, OWN_DEFAULTS, codec.write(mark), Case(names, version, None))]


@pytest.mark.parametrize("release", RELEASES)
def test_kafka_reads_what_kcli_writes_and_writes_the_same(release: str) -> None:
    wrong = [
        f"{question}: {answer.text if answer.outcome == 'error' else answer.data.hex()}, not {question.data.hex()}"
        for question, answer in judged(release)
        if question.shape != OWN_DEFAULTS and (release, question.name) not in CLOSED and answer.data != question.data
    ]
    assert not wrong


def test_a_message_with_nothing_given_is_what_kafka_makes_of_a_new_object() -> None:
    wrong = [str(question) for question, answer in newest_words(OWN_DEFAULTS) if answer.data != question.data]
    assert not wrong


def test_every_version_of_every_message_was_judged() -> None:
    judged_by_kafka = {(question.name, question.version) for release in RELEASES for question, _ in judged(release)}
    assert {(message.name, version) for message, version in made.every_message()} == judged_by_kafka


def test_every_old_layout_was_judged() -> None:
    known = catalog()
    variants = {(name, variant.name) for name in known.names for variant in known.message(name).variants}
    met = {
        (message.name, made.layout(message, version, tuple(map(int, release.split("."))))[0])
        for release in RELEASES
        for message, version in made.every_message()
    }
    assert variants <= met


@pytest.mark.parametrize("shape", made.SHAPES)
def test_json_is_what_kafka_prints(shape: str) -> None:
    """In the words of the newest release that has the message: kcli uses one set of names for all versions."""
    pairs = [(question, *in_json(question, answer)) for question, answer in newest_words(shape) if answer.text]
    wrong = [f"{question}: {ours} is not Kafka's {theirs}" for question, ours, theirs in pairs if ours != theirs]
    assert not wrong
    assert len(pairs) > 800


def newest_words(shape: str) -> Iterator[tuple[Question, Answer]]:
    """For each message and version the newest release that has it."""
    seen: set[tuple[str, int]] = set()
    for release in reversed(RELEASES):
        for question, answer in judged(release):
            key = (question.name, question.version)
            if question.shape == shape and key not in seen:
                seen.add(key)
                yield question, answer


def in_json(question: Question, answer: Answer) -> tuple[Any, Any]:
    ours = json.loads(question.codec.json(question.data, secrets=True)[0])
    return plain(ours), plain(json.loads(answer.text))


def plain(value: Any) -> Any:
    """Without records, which Kafka shows by size in some releases and as an empty text in others, and without what
    only kcli shows."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {name: plain(item) for name, item in value.items() if not name.endswith("SizeInBytes")}
    return {name: item for name, item in kept.items() if name not in HIDDEN}
