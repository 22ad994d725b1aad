"""Topics that are made for a replay."""

import pytest

from kcli.client.topics import batches
from kcli.errors import NetworkError


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"t": 1_000_000}, "topic t can't be made: the capture names partition 999999"),
        ({"t": 1, "u": 10_001}, "topic u can't be made"),
        ({f"t-{number}": 9_000 for number in range(12)}, "108,000 partitions would have to be made"),
    ],
)
def test_a_capture_names_more_partitions_than_are_made(sizes: dict[str, int], words: str) -> None:
    """A number in a message is not a reason to make a million partitions: not one is made."""
    with pytest.raises(NetworkError, match=words):
        next(iter(batches(sizes)))


def test_topics_are_made_by_as_many_requests_as_they_take() -> None:
    made = list(batches({"a": 6_000, "b": 4_000, "c": 1, "d": 10_000, "e": 2}))
    assert made == [{"a": 6_000, "b": 4_000}, {"c": 1}, {"d": 10_000}, {"e": 2}] and not list(batches({}))
