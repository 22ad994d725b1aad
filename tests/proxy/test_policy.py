"""Who may use the proxy, and for what."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from kcli.broker.faults import parse_rule
from kcli.errors import InputError, KcliError, NetworkError, UsageError
from kcli.proxy.policy import OPEN, Policy, apis_of, networks_of, read_policy
from kcli.schemas.apikeys import API_VERSIONS, DELETE_TOPICS, METADATA
from tests.proxy.talk import Both, proxied


@pytest.mark.parametrize(
    ("networks", "host", "admitted"),
    [
        ([], "10.0.0.1", True),
        (["10.0.0.0/8"], "10.9.9.9", True),
        (["10.0.0.0/8"], "11.0.0.1", False),
        (["10.0.0.0/8"], "::ffff:10.1.1.1", True),
        (["10.0.0.0/8"], "fe80::1%eth0", False),
        (["fe80::/10", "127.0.0.1"], "fe80::1%eth0", True),
        (["fe80::/10", "127.0.0.1"], "127.0.0.1", True),
    ],
)
def test_networks(networks: list[str], host: str, admitted: bool) -> None:
    assert Policy(networks_of(networks)).admits(host) == admitted


@pytest.mark.parametrize("text", ["10.0.0.1/8", "10.0.0.0/33", "x", "", "10.0.0.0/8/8"])
def test_what_is_no_network(text: str) -> None:
    with pytest.raises(UsageError, match="ADDRESS/BITS expected"):
        networks_of([text])


def test_apis_are_those_of_a_list_or_all_but_these() -> None:
    some, most = Policy(apis=apis_of(["Metadata"])), Policy(apis=apis_of(["!DeleteTopics"]))
    assert [some.allows(key) for key in (METADATA, API_VERSIONS, DELETE_TOPICS)] == [True, True, False]
    assert [most.allows(key) for key in (METADATA, API_VERSIONS, DELETE_TOPICS)] == [True, True, False]
    assert all(map(OPEN.allows, range(200))) and not apis_of([])


FILE = """
allow-networks = ["10.0.0.0/8"]
allow-apis = ["Produce,Fetch", "Metadata"]
max-connections = 100
faults = ["api=Fetch,delay=5,for=10m"]
"""


def test_a_file_counts_instead_of_options_where_it_has_a_key(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(FILE)
    made = read_policy(str(path), Policy(per_address=3, connections=7))
    assert (made.per_address, made.connections, len(made.apis)) == (3, 100, 6)
    assert made.admits("10.1.1.1") and not made.admits("127.0.0.1") and made.faults


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max-connections = 0", "max-connections: a number of 1 or more expected"),
        ("max-connections = true", "max-connections: a number of 1 or more expected"),
        ('max-connections = "9"', "max-connections: a number of 1 or more expected"),
        ('allow-networks = "10.0.0.0/8"', "allow-networks: a list of texts expected"),
        ('allow-networks = ["x"]', "network x: ADDRESS/BITS expected"),
        ('allow-apis = ["Fetcch"]', "Fetcch"),
        ("allow-network = []", "allow-network is unknown; there are allow-networks"),
        ("x", "not TOML"),
        ("a = " + "[" * 9000, "not TOML"),
        ("\x00", "not TOML"),
        ("#" * (1 << 21), "more than 1,048,576 bytes"),
    ],
)
def test_a_file_that_makes_no_sense_is_one_line_with_its_name(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_policy(str(path), OPEN)
    assert said in str(caught.value) and str(path) in str(caught.value)


async def refused(both: Both) -> bool:
    """Whether a client can't even ask for versions."""
    try:
        async with both.client(request_timeout_ms="2000") as client:
            await client(API_VERSIONS, 0, {})
    except KcliError:
        return True
    return False


def test_other_networks_and_more_connections_are_closed_with_a_line() -> None:
    async def run() -> None:
        async with proxied(policy=Policy(networks_of(["10.0.0.0/8"]))) as both:
            assert await refused(both)
            assert both.notes[-1] == "127.0.0.1: not in an allowed network: closed"
            both.proxy.change(Policy(per_address=1))
            async with both.client():
                assert await refused(both)
                assert both.notes[-1] == "127.0.0.1: 1 connection open already: closed"
            both.proxy.change(Policy(connections=1))
            assert both.proxy.gate.limit == 1
            assert not await refused(both)

    asyncio.run(run())


def test_requests_of_other_apis_end_their_connection_and_never_reach_the_broker() -> None:
    async def run() -> None:
        async with proxied(policy=Policy(apis=apis_of(["!DeleteTopics"]))) as both, both.client() as client:
            await client(METADATA, 1, {"topics": []})
            with pytest.raises(NetworkError):
                await client(DELETE_TOPICS, 1, {"topicNames": ["t"], "timeoutMs": 1000})
            assert both.notes[-1].endswith("closed: DeleteTopics is not allowed here")

    asyncio.run(run())


def test_open_connections_end_when_the_policy_changes_and_not_otherwise() -> None:
    async def run() -> None:
        async with proxied() as both, both.client() as client:
            both.proxy.change(Policy())
            await client(METADATA, 1, {"topics": []})
            both.proxy.change(Policy(apis=apis_of(["Metadata"])))
            with pytest.raises(NetworkError):
                await client(METADATA, 1, {"topics": []})
            with pytest.raises(UsageError):
                both.proxy.change(Policy(faults=("api=Fetch,evict",)))
            assert both.proxy.policy == Policy(apis=apis_of(["Metadata"]))

    asyncio.run(run())


def test_rules_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    short, dated = parse_rule("delay=1,for=10m"), parse_rule("delay=1,until=1970-01-12T14:00:00Z")
    chance: Any = None

    class Always:
        def random(self) -> float:
            return 0.0

    chance = Always()
    assert short.fires(chance) and dated.fires(chance)
    now[0] += 599
    assert short.fires(chance)
    now[0] += 2
    assert not short.fires(chance) and dated.fires(chance)
    now[0] = 1_000_000.0 + 3600
    assert not dated.fires(chance)


@pytest.mark.parametrize("part", ["for=", "for=x", "until=x", "until=", "for=-1"])
def test_an_expiry_that_is_no_time(part: str) -> None:
    with pytest.raises(UsageError):
        parse_rule(f"delay=1,{part}")
