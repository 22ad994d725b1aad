"""A broker's life: data that stays, folders that are taken, several nodes."""

from pathlib import Path

import pytest

from kcli.broker import Broker
from kcli.errors import UsageError
from kcli.records import scan
from kcli.schemas.apikeys import API_VERSIONS, METADATA
from kcli.schemas.errors import error_name
from tests.broker.talk import batch, parts, run, talking


@pytest.mark.parametrize("orderly", [True, False])
def test_everything_is_there_after_a_restart(tmp_path: Path, orderly: bool) -> None:
    async def first() -> None:
        broker = Broker(tmp_path)
        async with talking(broker) as talk:
            broker.create_topic("t", 2, configs={"retention.ms": "9"})
            broker.create_topic("gone")
            broker.controller.delete_topic(broker.topics.by_name["gone"])
            for number in range(20):
                await talk.produce("t", batch(str(number)), number % 2)
        if not orderly:
            (tmp_path / ".kafka_cleanshutdown").unlink()

    async def second() -> None:
        async with talking(Broker(tmp_path)) as talk:
            topics = list(talk.broker.topics)
            assert [(each.name, each.configs.own) for each in topics] == [("t", {"retention.ms": "9"})]
            got = parts(await talk.fetch(12, ("t", 1, 0)))["t", 1]["records"]
            values = [record.value for each in scan(got) for record in each.records()]
            assert values == [b"%d" % number for number in range(1, 20, 2)]
            assert (await talk.produce("t", batch("more")))["baseOffset"] == 10

    run(first())
    run(second())


def test_the_folder_is_kafkas(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            await talk.produce("t", batch("a"))

    run(work())
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    zero = "0" * 20
    assert {f"t-0/{zero}.log", f"t-0/{zero}.index", f"t-0/{zero}.timeindex", "t-0/leader-epoch-checkpoint"} <= names
    assert {"t-0/partition.metadata", "meta.properties", f"__cluster_metadata-0/{zero}.log"} <= names
    assert "cluster.id=" in (tmp_path / "meta.properties").read_text()


def test_one_folder_serves_one_broker(tmp_path: Path) -> None:
    async def work() -> None:
        async with Broker(tmp_path):
            with pytest.raises(UsageError, match="another broker uses"):
                await Broker(tmp_path).start()
        with pytest.raises(UsageError, match=r"cluster\.id is"):
            await Broker(tmp_path, config={"cluster.id": "other"}).start()

    run(work())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"config": {"num.partition": "1"}}, "did you mean num.partitions"),
        ({"config": {"num.partitions": "x"}}, "a whole number"),
        ({"config": {"auto.create.topics.enable": "maybe"}}, "true or false"),
        ({"nodes": 0}, "1 or more"),
        ({"faults": ["nonsense"]}, "is unknown"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Broker(**options)  # type: ignore[arg-type]


def test_a_cluster_of_three() -> None:
    async def work() -> None:
        async with talking(nodes=3, config={"broker.rack": "a,b,c"}) as talk:
            talk.broker.create_topic("t", 6, replication=2)
            answer = await talk(METADATA, 12, {"topics": [{"name": "t"}]})
            assert [(each["nodeId"], each["rack"]) for each in answer["brokers"]] == [(1, "a"), (2, "b"), (3, "c")]
            assert len({each["port"] for each in answer["brokers"]}) == 3
            rows = answer["topics"][0]["partitions"]
            assert sorted(each["leaderId"] for each in rows) == [1, 1, 2, 2, 3, 3]
            assert all(len(each["replicaNodes"]) == 2 for each in rows)
            for row in rows:
                async with talk.another(row["leaderId"] - 1) as leader:
                    assert (await leader.produce("t", batch("a"), row["partitionIndex"]))["errorCode"] == 0

    run(work())


def test_clients_are_told_where_they_can_reach_it() -> None:
    async def work() -> None:
        config = {"advertised.listeners": "PLAINTEXT://broker.example:7000"}
        async with talking(nodes=2, config=config) as talk:
            answer = await talk(METADATA, 12, {"topics": []})
            assert [(each["host"], each["port"]) for each in answer["brokers"]] == [
                ("broker.example", 7000),
                ("broker.example", 7001),
            ]
        async with talking(host="0.0.0.0") as talk:
            answer = await talk(METADATA, 12, {"topics": []})
            assert [each["host"] for each in answer["brokers"]] == ["127.0.0.1"]
        with pytest.raises(UsageError, match="LISTENER://HOST:PORT"):
            Broker(config={"advertised.listeners": "broker.example:7000"})

    run(work())


def test_an_older_release_is_imitated() -> None:
    async def work() -> None:
        async with talking(release="2.8") as talk:
            answer = await talk(API_VERSIONS, 3, {"clientSoftwareName": "a", "clientSoftwareVersion": "1"})
            ranges = {each["apiKey"]: (each["minVersion"], each["maxVersion"]) for each in answer["apiKeys"]}
            assert (ranges[0], ranges[1]) == ((0, 9), (0, 12))
            # KIP-511: newer ApiVersions are answered in v0.
            newer = await talk(API_VERSIONS, 4, {"clientSoftwareName": "a", "clientSoftwareVersion": "1"})
            assert error_name(newer["errorCode"]) == "UNSUPPORTED_VERSION"
            assert [(each["apiKey"], each["maxVersion"]) for each in newer["apiKeys"]] == [(18, 3)]

    run(work())


def test_odd_client_software_is_refused() -> None:
    async def work() -> None:
        async with talking() as talk:
            answer = await talk(API_VERSIONS, 3, {"clientSoftwareName": "a b", "clientSoftwareVersion": "1"})
            assert error_name(answer["errorCode"]) == "INVALID_REQUEST"

    run(work())
