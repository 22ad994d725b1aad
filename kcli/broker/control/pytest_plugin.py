"""The pytest plugin: an embedded broker for each test, or a shared one in which each test has topics of its own.

    kafka          a broker for this test; with `kafka_isolation = prefix` a view of the shared broker
    kafka_cluster  the same with three nodes
    @pytest.mark.kafka(nodes=2, config={"num.partitions": 3})    options of `embedded_broker` for one test

If a test fails, its report shows the latest requests of the client that got the last error, or of all clients.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kcli.broker.embedded import EmbeddedBroker

ISOLATIONS = ("broker", "prefix")
CLUSTER_NODES = 3
SHOWN = 20
TITLE = "Kafka requests"
brokers = pytest.StashKey["list[EmbeddedBroker]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of pytest.ini."""
    text = (
        "fixtures kafka and kafka_cluster: a broker a test (broker), or one for all with topics of their own (prefix)"
    )
    parser.addini("kafka_isolation", text, default="broker")
    parser.addini("kafka_config", "configs of the brokers, by Kafka's names: NAME=VALUE, one a line", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `kafka`."""
    config.addinivalue_line("markers", "kafka(**options): options of kcli.embedded_broker for the test's broker")


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """Start an embedded Kafka broker for this test."""
    yield from broker_of(request, 1, "shared_kafka")


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """Start an embedded Kafka cluster of three nodes for this test."""
    yield from broker_of(request, CLUSTER_NODES, "shared_kafka_cluster")


@pytest.fixture(scope="session")
def shared_kafka(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """Start the broker that all tests share, each with a prefix of its own."""
    yield from started(request.config, {"nodes": 1})


@pytest.fixture(scope="session")
def shared_kafka_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """Start the cluster that all tests share, each with a prefix of its own."""
    yield from started(request.config, {"nodes": CLUSTER_NODES})


def broker_of(request: pytest.FixtureRequest, nodes: int, shared: str) -> Iterator[EmbeddedBroker]:
    """Yield the broker of a test: one of its own, or a view of the shared one. shared: the fixture of that."""
    isolation = request.config.getini("kafka_isolation")
    if isolation not in ISOLATIONS:
        raise pytest.UsageError(f"kafka_isolation = {isolation}: {' or '.join(ISOLATIONS)} expected")
    mark = request.node.get_closest_marker("kafka")
    with ExitStack() as ends:
        if mark is None and isolation == "prefix":
            prefix = re.sub(r"[^a-zA-Z0-9_-]+", "-", request.node.name)[:80].strip("-") + f"-{next_number(request)}-"
            found = request.getfixturevalue(shared).with_prefix(prefix)
            ends.callback(found.forget_prefix)
            remember(request, found)
            yield found
        else:
            for each in started(request.config, {"nodes": nodes} | (mark.kwargs if mark is not None else {})):
                remember(request, each)
                yield each


def next_number(request: pytest.FixtureRequest) -> int:
    """Return a number that no other test of the session has."""
    config = request.config
    number: int = getattr(config, "_kcli_kafka_tests", 0) + 1
    config._kcli_kafka_tests = number  # type: ignore[attr-defined]
    return number


def started(config: pytest.Config, options: dict[str, Any]) -> Iterator[EmbeddedBroker]:
    """Yield a running broker. options: of `embedded_broker`, which override those of pytest.ini."""
    from kcli.broker.embedded import embedded_broker

    lines = (line.partition("=") for line in config.getini("kafka_config"))
    common = {name.strip(): value.strip() for name, _, value in lines}
    with embedded_broker(**options | {"config": common | dict(options.get("config") or {})}) as kafka:
        yield kafka


def remember(request: pytest.FixtureRequest, kafka: EmbeddedBroker) -> None:
    """Keep a test's broker for its report."""
    request.node.stash.setdefault(brokers, []).append(kafka)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[pytest.TestReport]:
    """Add the latest requests to the report of a failed test."""
    report: pytest.TestReport = yield  # type: ignore[misc,assignment]
    if call.when == "call" and report.failed:
        for kafka in item.stash.get(brokers, []):
            if lines := failing(kafka):
                report.sections.append((TITLE, "\n".join(lines)))
    return report  # type: ignore[return-value]


def failing(kafka: EmbeddedBroker) -> list[str]:
    """Return the test's latest requests as lines: of the client that got the last error, else of all clients."""
    seen = kafka.seen()
    failed = next((each.client for each in reversed(seen) if each.errors or each.response is None), None)
    return [str(each) for each in seen if failed is None or each.client == failed][-SHOWN:]
