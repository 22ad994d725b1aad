"""The lab itself: every kind of cluster that other tests build on comes up, does its work and goes away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.real.lab import Cluster, known_brokers, run_java
from tests.real.maven import compiled, jars


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# Those of 4.4.0 and 3.9.1, several nodes, their ends and returns, and TLS and SASL have tests that need them.
@pytest.mark.parametrize("version", ["4.1.0", "2.8.2", "0.10.2.2"])
def test_one_node_of_a_release(version: str) -> None:
    with Cluster(version) as cluster:
        pids = [process.pid for process in cluster.processes.values()]
        cluster.topics("--create", "--topic", "shelf", "--partitions", "2", "--replication-factor", "1")
        assert "shelf" in cluster.topics("--list").split()
        assert cluster.log_dir("shelf", 1).is_dir()
        folder = cluster.folder
    assert not folder.exists()
    assert not any(map(alive, pids))


def test_the_request_log_tells_of_each_exchange(kafka_44: Cluster) -> None:
    kafka_44.topics("--create", "--topic", "told", "--partitions", "1")

    def made() -> list[str]:
        creations = [one for one in kafka_44.requests() if one["requestHeader"]["requestApiKeyName"] == "CREATE_TOPICS"]
        return [topic["name"] for one in creations for topic in one["request"]["topics"]]

    kafka_44.wait_for(lambda: "told" in made())


def test_dump_log_reads_a_segment(kafka_39: Cluster) -> None:
    kafka_39.topics("--create", "--topic", "dumped", "--partitions", "1")
    segments = kafka_39.log_dir("__cluster_metadata").glob("*.log")
    text = kafka_39.dump_log(*segments, options=("--cluster-metadata-decoder",))
    assert '"type":"TOPIC_RECORD"' in text
    assert '"name":"dumped"' in text


def test_a_paused_broker_does_not_answer(kafka_44: Cluster) -> None:
    port = kafka_44.ports["PLAINTEXT"][0]
    kafka_44.pause(1)
    try:
        assert known_brokers(port) == -1
    finally:
        kafka_44.resume(1)
    assert known_brokers(port) == 1


LEAVE_A_BROKER = """
import os, sys
from tests.real.lab import Cluster
cluster = Cluster("4.4.0").launch()
print(cluster.processes[1].pid, cluster.folder, flush=True)
os._exit(9)
"""


def test_brokers_end_with_the_process_that_started_them() -> None:
    script = [sys.executable, "-c", LEAVE_A_BROKER]
    done = subprocess.run(script, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 9, done.stderr
    pid, folder = done.stdout.split()
    until = time.monotonic() + 60
    while alive(int(pid)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(int(pid))
    shutil.rmtree(folder)


def test_a_broker_that_cannot_start_says_why() -> None:
    cluster = Cluster("2.8.2", config={"num.network.threads": "many"})
    with pytest.raises(AssertionError, match=r"num\.network\.threads"):
        cluster.launch()
    assert not cluster.folder.exists()


def test_our_java_is_compiled_once() -> None:
    first = compiled("Tethered.java")
    assert (first / "Tethered.class").exists()
    assert compiled("Tethered.java") == first


def test_a_class_is_run_to_its_end() -> None:
    done = run_java(jars("kafka-clients", "4.4.0"), "org.apache.kafka.common.utils.AppInfoParser")
    assert done.returncode == 1
    assert b"main" in done.stderr.lower()
