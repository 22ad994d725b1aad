"""What is said, by numbers."""

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.core.columns.exchange_columns import ExchangeRows
from kcli.pipeline.rows.projections import commit_layout
from kcli.pipeline.rows.sayings import Sayings
from tests.capture.messages import metadata, request, response, sasl_handshake

METADATA, OFFSET_COMMIT, SASL_HANDSHAKE = 3, 8, 17


@pytest.fixture
def owner() -> Iterator[SimpleNamespace]:
    """An owner of the rows: `said` has the numbers of what is new."""
    made = SimpleNamespace(bodies=Bodies(), said=[])
    made.layout = made.fields = lambda key, version: None
    made.voice = lambda link: 0
    made.learn = lambda *exchange: None
    apis = (METADATA, OFFSET_COMMIT, SASL_HANDSHAKE)
    made.sayings = Sayings(apis)
    made.sayings.numbers.read_commits(partial(commit_layout, made.bodies))
    made.more = lambda *exchange: made.said.append(made.sayings.numbers.number)
    made.rows = ExchangeRows(made, apis, parted=False, sayings=made.sayings.numbers)
    yield made


def say(owner: Any, frames: tuple[bytes, bytes], server: str = "b:1", ns: int = 1, answered: int | None = 2) -> None:
    asked, answer = frames
    response = None if answered is None else answer[4:]
    assert owner.rows.put(Exchange(Link(server, "c:2"), ns, asked[4:], answered, response, owner.bodies), ns)


def test_what_was_said_before_is_read_once(owner: Any) -> None:
    for number in range(3):
        say(owner, metadata(number), ns=5_000 + number, answered=7_000)
    first = owner.said[0]
    assert owner.said == [first]
    say(owner, metadata(4), server="b:2")
    assert owner.said == [first, first + 1], "another broker may say otherwise"
    say(owner, metadata(5), ns=9_000, answered=None)
    assert owner.said == [first, first + 1, first + 2], "no answer is another saying"
    for number in range(2):
        say(owner, sasl_handshake(number, 1))
    assert owner.said == [*range(first, first + 5)], "a login is of its connection"
    say(owner, metadata(6))
    links = owner.sayings.take_links()
    link, other = links.column("link").to_pylist()
    assert [*zip(*(links.column(name).to_pylist() for name in ("connection", "server", "client")), strict=True)] == [
        ("b:1-c:2", "b:1", "c:2"), ("b:2-c:2", "b:2", "c:2"),
    ]  # fmt: skip
    assert owner.sayings.take_links() is None
    batch = owner.sayings.take()
    places = [each - first for each in batch.column("saying").to_pylist()]
    assert places == [0, 0, 0, 1, 2, 3, 4, 0]
    assert batch.column("link").to_pylist() == [link] * 3 + [other] + [link] * 4
    assert batch.column("correlation_id").to_pylist() == [0, 1, 2, 4, 5, 0, 1, 6]
    assert batch.column("completed_ns").to_pylist()[:5] == [7_000, 7_000, 7_000, 2, 9_000]
    assert owner.sayings.take() is None
    say(owner, metadata(7), server="b:3")
    say(owner, metadata(8), server="b:1")
    links = owner.sayings.take_links()
    assert links.column("link").to_pylist() == [other + 1], "those that were taken keep their numbers"
    assert links.column("server").to_pylist() == ["b:3"]
    assert owner.sayings.take().column("link").to_pylist() == [other + 1, link]


def test_numbers_of_two_processes_are_none_of_each_other(owner: Any) -> None:
    say(owner, metadata(0))
    before = owner.said[0]
    owner.sayings = Sayings([METADATA])
    owner.rows = ExchangeRows(owner, (METADATA,), parted=False, sayings=owner.sayings.numbers)
    say(owner, metadata(0))
    assert abs(owner.said[1] - before) >= 1 << 30
    assert all(0 <= each < (1 << 63) - (1 << 30) for each in owner.said)


def commit(number: int, *offsets: int, member: str = "m", version: int = 8) -> tuple[bytes, bytes]:
    """An OffsetCommit of two topics, with the offsets of the first one's partitions and of the other one's only one."""
    *first, last = offsets
    topics = [
        {"name": name, "partitions": [{"partitionIndex": i, "committedOffset": each} for i, each in enumerate(of)]}
        for name, of in (("a", first), ("b", [last]))
    ]
    answer = [
        {"name": each["name"], "partitions": [{"partitionIndex": i} for i, _ in enumerate(each["partitions"])]}
        for each in topics
    ]
    asked = {"groupId": "g", "memberId": member, "generationIdOrMemberEpoch": 4, "topics": topics}
    if not version:
        del asked["memberId"], asked["generationIdOrMemberEpoch"]
    return request(8, version, number, asked), response(8, version, number, {"topics": answer})


@pytest.mark.parametrize("version", [0, 5, 8])
def test_commits_differ_only_by_offsets(owner: Any, version: int) -> None:
    say(owner, commit(1, 10, 20, 30, version=version))
    say(owner, commit(2, 11, 21, 31, version=version))
    say(owner, metadata(3))
    say(owner, commit(4, 12, 32, version=version))  # fewer partitions
    first = owner.said[0]
    assert owner.said == [first, first + 1, first + 2]
    assert owner.sayings.take().column("offsets").to_pylist() == [[10, 20, 30], [11, 21, 31], None, [12, 32]]
    say(owner, commit(5, 13, 33, version=version))
    assert owner.sayings.take().column("offsets").to_pylist() == [[13, 33]]
    if version:
        say(owner, commit(6, 13, 33, member="n", version=version))
        assert owner.said[-1] == first + 3, "another member says the rest anew"
        assert not owner.sayings.numbers.lacks_offsets


def test_offsets_of_a_commit_that_the_core_does_not_read(owner: Any) -> None:
    owner.sayings.numbers.read_commits(lambda key, version: None)
    offsets = [[10, 20], [10, 20], [11, 21]]

    def more(*_exchange: Any) -> None:
        owner.said.append(owner.sayings.numbers.number)
        owner.sayings.add_offsets(offsets[len(owner.said) - 1])

    owner.more = more
    for number, each in enumerate(offsets):
        say(owner, commit(number, *each))
    assert len(set(owner.said)) == 3, "each is new, as only its reader knows its offsets"
    assert owner.sayings.take().column("offsets").to_pylist() == offsets
