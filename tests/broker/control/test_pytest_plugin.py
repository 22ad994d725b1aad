"""The pytest plugin, as pytest runs it for somebody else's tests."""

import subprocess
import sys
from pathlib import Path

PLUGIN = "kcli.broker.control.pytest_plugin"
PRODUCE = """
import asyncio
from tests.broker.control.asking import ask, produce
"""


def run(folder: Path, text: str, ini: str = "") -> str:
    """Run tests in a process of their own, without this project's configuration; return what pytest says."""
    (folder / "test_it.py").write_text(PRODUCE + text)
    (folder / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{ini}")
    root = Path(__file__).parents[3]
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", PLUGIN, "-q", "-rA", "test_it.py"],
        cwd=folder,
        env={"PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return listed.stdout + listed.stderr


def test_each_test_has_a_broker_of_its_own(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
import pytest

def test_one(kafka):
    kafka.append(kafka.topic("t"), "x")
    assert kafka.topic("t") == "t"
    assert kafka.call(lambda broker: broker.configs.int("num.partitions")) == 4

def test_two(kafka):
    assert "t" not in kafka.call(lambda broker: broker.topics.by_name)

@pytest.mark.kafka(nodes=2, config={"num.partitions": 7})
def test_three(kafka):
    assert len(kafka.bootstrap_servers.split(",")) == 2
    assert kafka.call(lambda broker: broker.configs.int("num.partitions")) == 7

def test_cluster(kafka_cluster):
    assert len(kafka_cluster.bootstrap_servers.split(",")) == 3
""",
        "kafka_config =\n    num.partitions=4\n",
    )
    assert "4 passed" in said, said


def test_tests_share_a_broker_and_have_topics_of_their_own(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
seen = []

def test_one(kafka):
    kafka.create_topic("t")
    kafka.fault(api="Produce", topic="t", error="NOT_LEADER_OR_FOLLOWER")
    assert produce(kafka, kafka.topic("t"))[0]["errorCode"] == 6
    kafka.append("t", "x")
    assert kafka.topic("t").startswith("test_one-1-") and kafka.records(kafka.topic("t"))
    kafka.observe("Fetch")
    seen.append(kafka.bootstrap_servers)

def test_two(kafka):
    kafka.create_topic("t")
    assert produce(kafka, kafka.topic("t"))[0]["errorCode"] == 0
    assert kafka.call(lambda broker: [each.name for each in broker.topics]) == [kafka.topic("t")]
    assert seen == [kafka.bootstrap_servers] and not kafka.control.watches
""",
        "kafka_isolation = prefix\n",
    )
    assert "2 passed" in said, said


def test_a_failure_shows_the_latest_requests_of_the_client_that_failed(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        """
def test_it(kafka):
    kafka.create_topic("t")
    produce(kafka, "t", client="well")
    with kafka.fault(api="Produce", error="NOT_LEADER_OR_FOLLOWER"):
        produce(kafka, "t", client="app")
    assert False
""",
    )
    assert "1 failed" in said and "Kafka requests" in said
    assert "app 127.0.0.1:" in said and "Produce v9 [t]: NOT_LEADER_OR_FOLLOWER" in said
    assert "well 127.0.0.1:" not in said


def test_an_isolation_that_there_is_not(tmp_path: Path) -> None:
    said = run(tmp_path, "def test_it(kafka): pass\n", "kafka_isolation = nothing\n")
    assert "kafka_isolation = nothing: broker or prefix expected" in said


def test_a_test_among_others_has_its_own_requests_errors_and_faults_and_leaves_all_nodes_running(
    tmp_path: Path,
) -> None:
    said = run(
        tmp_path,
        """
import pytest
from kcli.errors import UsageError

def boom(request):
    raise ValueError("of one")

def test_one(kafka_cluster):
    kafka_cluster.create_topic("t")
    kafka_cluster.intercept("Produce", boom)
    kafka_cluster.fault("api=Fetch,topic=t,error=NOT_LEADER_OR_FOLLOWER")
    (rule,) = kafka_cluster.broker.faults.rules
    assert rule.topic == kafka_cluster.topic("t")
    with pytest.raises(Exception):
        produce(kafka_cluster, kafka_cluster.topic("t"))
    kafka_cluster.stop_node(2)

def test_two(kafka_cluster):
    assert not kafka_cluster.requests() and not kafka_cluster.latest()
    kafka_cluster.create_topic("t", replication=3)
    produce(kafka_cluster, kafka_cluster.topic("t"), node=kafka_cluster.leader("t") - 1)
    kafka_cluster.wait(topic="t", records=1)
    assert kafka_cluster.requests("Produce")
""",
        "kafka_isolation = prefix\n",
    )
    assert "2 passed, 1 error" in said and "ERROR test_it.py::test_one" in said and "ValueError: of one" in said, said
