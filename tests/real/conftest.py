"""Real brokers shared by the tests here: one start for many tests. Use topics of your own.

They end with the last of these tests in their process, as a broker that nobody asks still takes 3 % of a processor.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.lab import Cluster
from tests.real.proxied_clients import OAUTHBEARER

HERE = f"{Path(__file__).parent}/"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here is marked `real`."""
    for item in items:
        if str(item.path).startswith(HERE):
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="package")
def kafka_44() -> Iterator[Cluster]:
    """One 4.4.0 broker with a request log."""
    with Cluster("4.4.0", request_log=True) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def kafka_39() -> Iterator[Cluster]:
    """One 3.9.1 broker with a request log: the last release that converts record batches down."""
    with Cluster("3.9.1", request_log=True) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def three_44() -> Iterator[Cluster]:
    """Three 4.4.0 brokers with a request log, on every kind of listener; leaders stay where they were moved to."""
    config = {**OAUTHBEARER, "num.partitions": 6, "auto.leader.rebalance.enable": "false"}
    with Cluster("4.4.0", nodes=3, tls=True, sasl=True, request_log=True, config=config) as cluster:
        yield cluster
