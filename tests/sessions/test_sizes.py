"""Computed sizes are those of messages that are really written."""

from typing import Any

import pytest

from kcli.grammar import messages
from kcli.sessions.fetch_exchange import TOPIC_IDS_SINCE
from kcli.sessions.session import count_bytes, fetch_sizes

VERSIONS = range(4, 19)


def topics(version: int, counts: list[int]) -> list[tuple[str, dict[str, Any]]]:
    made = []
    for number, count in enumerate(counts):
        text = "t" * (number * 90) if version < TOPIC_IDS_SINCE else f"{number:021d}A"
        name = "topic" if version < TOPIC_IDS_SINCE else "topicId"
        made.append((text, {name: text, "partitions": [{}] * count}))
    return made


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("counts", [[], [1], [3, 200], [126, 127, 128, 0]])
def test_full_fetches(version: int, counts: list[int]) -> None:
    entries = topics(version, counts)
    sizes = fetch_sizes(version)
    for side, codec, name in (
        (sizes.request, messages.request(1, version), "topics"),
        (sizes.response, messages.response(1, version), "responses"),
    ):
        size = side.fixed + sum(side.topic_bytes(text, len(entry["partitions"])) for text, entry in entries)
        size += count_bytes(len(entries), side.flexible) - count_bytes(0, side.flexible)
        assert size == len(codec.write({name: [entry for _, entry in entries]}))


@pytest.mark.parametrize("version", range(7, 19))
@pytest.mark.parametrize("counts", [[], [1], [3, 200], [130, 1, 1]])
def test_forgotten_partitions(version: int, counts: list[int]) -> None:
    entries = topics(version, counts)
    codec = messages.request(1, version)
    forgotten = [{**entry, "partitions": [0] * len(entry["partitions"])} for _, entry in entries]
    more = len(codec.write({"forgottenTopicsData": forgotten})) - len(codec.write({}))
    assert fetch_sizes(version).forgotten_bytes({text: len(e["partitions"]) for text, e in entries}) == more


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 16382, 16383, 2**21])
def test_lengths(count: int) -> None:
    groups = 1
    while (count + 1) >> (7 * groups):
        groups += 1
    assert (count_bytes(count, True), count_bytes(count, False)) == (groups, 4)
