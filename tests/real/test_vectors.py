"""`kcli schema vectors` in the eyes of Kafka's own generated code: the same JSON, and the same bytes again."""

import json
from typing import Any

from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.schemas.vectors.values import vectors
from tests.real.oracle import RELEASES, Case, ask
from tests.real.test_messages import plain

# The newest of each run of releases whose classes know what later ones dropped.
JUDGES = ("4.4", "4.0", "3.9", "3.3", "3.2", "2.8")


def test_kafka_reads_every_vector_alike_and_writes_the_same_bytes() -> None:
    left = [
        (f"{name} v{version}: {case}", Case((name, *message.aliases), version, codec.write(value)), codec)
        for name in catalog().names
        for message in [catalog().message(name)]
        for version in message.versions
        for codec in [messages.data(name, version)]
        for case, value in vectors(message, version)
    ]
    assert len(left) > 24_000
    wrong: list[str] = []
    for release in JUDGES:
        answers = ask(RELEASES[release], [case for _, case, _ in left])
        pairs, left = list(zip(left, answers, strict=True)), []
        for (name, case, codec), answer in pairs:
            if answer.outcome == "absent":
                left.append((name, case, codec))
            elif answer.data != case.data:
                wrong.append(f"{name}: {answer.text or answer.data.hex()}, not {case.data!r}")
            elif answer.text and said(codec.json(answer.data, secrets=True)[0]) != said(answer.text):
                wrong.append(f"{name}: {answer.text}")
    assert not wrong
    assert not left


def said(text: str | bytes) -> Any:
    return plain(json.loads(text))
