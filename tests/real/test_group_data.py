"""The data of group protocols, as Connect's workers and Kafka Streams write it."""

from typing import Any

from kcli.grammar import messages
from kcli.grammar.group_data import open_data
from kcli.schemas.catalog import catalog
from tests import messages as made
from tests.real.jvm import run_java
from tests.real.maven import compiled, member_jars
from tests.real.oracle import NEWEST, Case, answer, classes

RELEASE = "4.3.1"


def written() -> list[tuple[str, int, bytes]]:
    jars = member_jars(RELEASE)
    done = run_java([compiled("GroupData.java", jars), *jars], "GroupData")
    assert done.returncode == 0, done.stderr.decode()
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    return [(name, int(version), bytes.fromhex(text)) for name, version, text in lines]


def test_what_connect_and_streams_write_is_read_to_its_end_and_written_again() -> None:
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for name, version, data in written():
        codec, start, said = open_data(name, data)
        value, end = codec.read(data, start)
        assert (end, said, codec.version) == (len(data), version, version), (name, version)
        assert codec.write(value) == data[start:]
        found.setdefault((name, version), value)
    tasks = [{"connector": "sink", "tasks": [-1, 0, 1]}]
    revoked = [{"connector": "old", "tasks": [-1, 3]}]
    common = {"error": 0, "leader": "leader", "leaderUrl": "http://a:8083/", "configOffset": 7, "assignment": tasks}
    assert found["ConnectProtocolAssignment", 0] == common
    assert found["ConnectProtocolAssignment", 2] == common | {"revoked": revoked, "delay": 300}
    assert found["ConnectProtocolSubscription", 0] == {"url": "http://a:8083/", "configOffset": 7}
    newest = found["AssignmentInfo", 11]
    assert (newest["nextRebalanceMs"], newest["errorCode"]) == (1234567890123, 0)
    assert newest["activeTasks"][0] == {"topicGroupId": 0, "partition": 1, "namedTopology": [*map(ord, "näme")]}
    assert [host["host"] for host in newest["standbyPartitionsByHost"]] == ["one", "two"]
    assert {key for key in found if key[0] == "AssignmentInfo"} == {("AssignmentInfo", each) for each in range(1, 12)}


def test_streams_reads_and_writes_its_subscriptions_as_kcli_does() -> None:
    message = catalog().message("SubscriptionInfoData")
    cases = []
    for version in range(1, 12):
        value = made.filled(message, version) | {"version": version}
        cases.append(Case((message.name,), version, messages.data(message.name, version).write(value)))
    jars = [*classes(NEWEST), *member_jars(RELEASE)]
    program = compiled("MessageOracle.java", classes(NEWEST))
    done = run_java([program, *jars], "MessageOracle", stdin="".join(case.line() for case in cases).encode())
    answers = [answer(line) for line in done.stdout.decode().splitlines()]
    assert [each.outcome for each in answers] == ["ok"] * len(cases), answers
    assert [each.data for each in answers] == [case.data for case in cases]
