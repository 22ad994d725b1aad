"""Client quotas: whose counts, how long who does more waits, and how they are set."""

from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.clock import Clock
from kcli.broker.configs import Configs
from kcli.broker.embedded import embedded_broker
from kcli.broker.security.quotas import FETCHED, SENT, Quotas, Rate
from kcli.broker.security.security_state import Entity
from kcli.schemas.apikeys import ALTER_CLIENT_QUOTAS, DESCRIBE_CLIENT_QUOTAS, FETCH, PRODUCE
from kcli.schemas.errors import error_name
from tests.broker.control.asking import ask, produce
from tests.broker.talk import Talk, batch, connected, fetch_body, produced, run, talking

DEFAULT = None


def test_a_rate_over_windows() -> None:
    rate = Rate(11, 1)
    assert rate.wait(500, 100, 0) == 0
    assert rate.wait(600, 100, 0.5) == pytest.approx(1)  # 110 a second over 10 s
    assert rate.wait(0, 100, 12) == 0  # all of it is long ago
    assert rate.wait(1200, 100, 13) == pytest.approx(2)


def test_whose_quota_counts() -> None:
    async def work() -> None:
        clock = Clock()
        values: dict[Entity, dict[str, float]] = {
            (("client-id", "c"), ("user", "u")): {SENT: 1},
            (("client-id", None), ("user", "u")): {SENT: 2},
            (("user", "u"),): {SENT: 3, FETCHED: 30},
            (("client-id", "c"), ("user", None)): {SENT: 4},
            (("user", None),): {SENT: 6},
            (("client-id", "c"),): {SENT: 7},
        }
        quotas = Quotas(Configs({}), values, clock)
        found = [quotas.limit(user, client, SENT) for user, client in (("u", "c"), ("u", "d"), ("v", "c"), ("v", "d"))]
        assert [each and each[1] for each in found] == [1, 2, 4, 6]
        assert quotas.limit("u", "c", FETCHED) == ((("user", "u"),), 30)
        assert quotas.limit("v", "c", FETCHED) is None
        assert quotas.wait("v", "c", FETCHED, 1e9) == 0
        # Each user that the default counts for has its own rate.
        assert quotas.wait("v", "d", SENT, 600) > 0 and quotas.wait("w", "d", SENT, 6) == 0
        clock.close()

    run(work())


def entity(**parts: str | None) -> list[dict[str, str | None]]:
    return [{"entityType": kind.replace("_", "-"), "entityName": name} for kind, name in parts.items()]


async def alter(talk: Talk, parts: list[dict[str, str | None]], *, check: bool = False, **values: float | None) -> str:
    ops = [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in values.items()]
    body = {"entries": [{"entity": parts, "ops": ops}], "validateOnly": check}
    return error_name((await talk(ALTER_CLIENT_QUOTAS, 1, body))["entries"][0]["errorCode"])


async def describe(talk: Talk, *asked: tuple[str, int, str | None], strict: bool = False) -> Any:
    rows = [{"entityType": kind, "matchType": how, "match": name} for kind, how, name in asked]
    answer = await talk(DESCRIBE_CLIENT_QUOTAS, 1, {"components": rows, "strict": strict})
    if answer["errorCode"]:
        return error_name(answer["errorCode"])
    return [
        {each["entityType"]: each["entityName"] for each in row["entity"]}
        | {each["key"]: each["value"] for each in row["values"]}
        for row in answer["entries"]
    ]


def test_quotas_are_set_kept_and_described(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await alter(talk, entity(user="u"), producer_byte_rate=1000, request_percentage=50.5) == "NONE"
            assert await alter(talk, entity(user="u", client_id=DEFAULT), consumer_byte_rate=7) == "NONE"
            assert await alter(talk, entity(ip="10.0.0.1"), connection_creation_rate=5) == "NONE"
            assert await alter(talk, entity(client_id="x"), consumer_byte_rate=7, check=True) == "NONE"
            assert await alter(talk, entity(user="u"), request_percentage=None) == "NONE"
        async with talking(Broker(tmp_path)) as talk:
            one = {"user": "u", SENT: 1000.0}
            both = {"user": "u", "client-id": None, FETCHED: 7.0}
            assert await describe(talk, ("user", 0, "u")) == [one, both]
            assert await describe(talk, ("user", 0, "u"), strict=True) == [one]
            assert await describe(talk, ("user", 2, None), ("client-id", 1, None)) == [both]
            assert await describe(talk) == [one, both, {"ip": "10.0.0.1", "connection_creation_rate": 5.0}]
            assert await describe(talk, ("ip", 0, "10.0.0.2")) == []

    run(work())


def test_what_makes_no_quota() -> None:
    async def work() -> None:
        async with talking() as talk:
            for parts in ([], entity(planet="x"), entity(user=""), entity(user="u", ip="10.0.0.1"), entity(ip="?")):
                assert await alter(talk, parts, producer_byte_rate=1) == "INVALID_REQUEST", parts
            assert await alter(talk, entity(user="u") * 2, check=True, producer_byte_rate=1) == "NONE"
            rates: list[float | None] = [0, -1, 1.5, 1e30, float("inf")]
            odd = [{SENT: rate} for rate in rates]
            odd += [{"speed": 1}, {"connection_creation_rate": 1}, {"request_percentage": float("nan")}]
            for values in odd:
                assert await alter(talk, entity(user="u"), check=False, **values) == "INVALID_REQUEST", values
            assert await describe(talk, ("planet", 0, "x")) == "UNSUPPORTED_VERSION"
            for asked in (
                [("user", 0, None)],
                [("user", 2, "u")],
                [("user", 9, None)],
                [("user", 2, None)] * 2,
                [("", 2, None)],
            ):
                assert await describe(talk, *asked) == "INVALID_REQUEST", asked

    run(work())


def test_who_sends_or_fetches_more_waits() -> None:
    """KIP-219: the answer comes at once and says how long; the next one only then."""

    async def work() -> None:
        async with talking() as talk, connected(talk.broker, client_id="fast") as fast:
            talk.broker.create_topic("t")
            await alter(talk, entity(client_id="fast"), producer_byte_rate=100, consumer_byte_rate=1000)
            body = {"acks": -1, "timeoutMs": 1000, "topicData": [produced("t", 0, batch("v" * 2000))]}
            throttle = (await fast(PRODUCE, 9, body))["throttleTimeMs"]
            assert 9_000 < throttle < 15_000
            waiting = fast(FETCH, 11, fetch_body(11, ("t", 0, 0)))
            assert (await talk(PRODUCE, 9, body))["throttleTimeMs"] == 0
            assert not waiting.done()
            talk.broker.clock.advance(throttle / 1000 + 1)
            answer = await waiting
            assert answer["responses"] and not answer["throttleTimeMs"]
            again = await fast(FETCH, 11, fetch_body(11, ("t", 0, 0), max_bytes=1 << 20))
            assert len(again["responses"][0]["partitions"][0]["records"]) > 2000
            assert (await fast(FETCH, 11, fetch_body(11, ("t", 0, 0))))["throttleTimeMs"] > 0

    run(work())


def test_a_test_sees_how_long_a_client_was_told_to_wait() -> None:
    quota: dict[str, Any] = {"entity": [{"entityType": "client-id", "entityName": "app"}]}
    quota["ops"] = [{"key": SENT, "value": 1.0, "remove": False}]
    with embedded_broker() as kafka:
        kafka.create_topic("t")
        ask(kafka, ALTER_CLIENT_QUOTAS, 1, {"entries": [quota], "validateOnly": False})
        produce(kafka, "t", client="app")
        (request,) = kafka.requests("Produce")
        assert request.response is not None and request.response["throttleTimeMs"] > 1000


def test_a_programs_response_gets_the_throttle_time_in_its_own_place() -> None:
    quota: dict[str, Any] = {"entity": [{"entityType": "client-id", "entityName": "talk"}]}
    quota["ops"] = [{"key": SENT, "value": 1.0, "remove": False}]
    with embedded_broker() as kafka:
        kafka.create_topic("t")
        ask(kafka, ALTER_CLIENT_QUOTAS, 1, {"entries": [quota], "validateOnly": False})
        with kafka.intercept("Produce", lambda _request: {"responses": []}):
            body = {"acks": -1, "timeoutMs": 1000, "topicData": [produced("t", 0, batch("v" * 2000))]}
            answer = ask(kafka, PRODUCE, 9, body)
    assert answer["responses"] == []
    assert answer["throttleTimeMs"] > 1000
