"""Configs are altered and described by requests."""

from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import ALTER_CONFIGS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from kcli.schemas.errors import error_name
from tests.broker.apis.asking import altered, codes
from tests.broker.talk import Talk, batch, run, talking


async def configs(talk: Talk, kind: int, name: str) -> dict[str, tuple[str, int]]:
    body = {"resources": [{"resourceType": kind, "resourceName": name, "configurationKeys": None}]}
    answer = (await talk(DESCRIBE_CONFIGS, 4, body))["results"][0]
    assert answer["errorCode"] == 0
    return {each["name"]: (each["value"], each["configSource"]) for each in answer["configs"]}


def test_configs(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path, config={"log.segment.bytes": "5000"}), topic="t") as talk:
            found = await configs(talk, 2, "t")
            assert found["segment.bytes"] == ("5000", 4)
            assert found["cleanup.policy"] == ("delete", 5)
            change = [
                {"name": "retention.ms", "configOperation": 0, "value": "77"},
                {"name": "cleanup.policy", "configOperation": 2, "value": "compact"},
            ]
            body = {"resources": [{"resourceType": 2, "resourceName": "t", "configs": change}], "validateOnly": False}
            assert (await talk(INCREMENTAL_ALTER_CONFIGS, 1, body))["responses"][0]["errorCode"] == 0
            found = await configs(talk, 2, "t")
            assert (found["retention.ms"], found["cleanup.policy"]) == (("77", 1), ("delete,compact", 1))
            back = [{"name": "retention.ms", "configOperation": 1, "value": None}]
            body["resources"] = [{"resourceType": 2, "resourceName": "t", "configs": back}]
            await talk(INCREMENTAL_ALTER_CONFIGS, 0, body)
            bad = [{"name": "retention.ms", "configOperation": 0, "value": "x"}]
            body["resources"] = [{"resourceType": 2, "resourceName": "t", "configs": bad}]
            answer = (await talk(INCREMENTAL_ALTER_CONFIGS, 0, body))["responses"][0]
            assert error_name(answer["errorCode"]) == "INVALID_CONFIG"
            assert "retention.ms=x" in answer["errorMessage"]
            found = await configs(talk, 4, "1")
            assert found["log.segment.bytes"] == ("5000", 4)
            change = [{"name": "log.retention.ms", "configOperation": 0, "value": "99"}]
            body["resources"] = [{"resourceType": 4, "resourceName": "1", "configs": change}]
            assert (await talk(INCREMENTAL_ALTER_CONFIGS, 0, body))["responses"][0]["errorCode"] == 0

    async def again() -> None:
        async with talking(Broker(tmp_path)) as talk:
            found = await configs(talk, 2, "t")
            assert found["cleanup.policy"] == ("delete,compact", 1)
            assert found["retention.ms"] == ("99", 2)
            body = {
                "resources": [
                    {"resourceType": 2, "resourceName": "t", "configs": [{"name": "segment.ms", "value": "5"}]}
                ],
                "validateOnly": False,
            }
            assert (await talk(ALTER_CONFIGS, 2, body))["responses"][0]["errorCode"] == 0
            found = await configs(talk, 2, "t")
            assert (found["cleanup.policy"], found["segment.ms"]) == (("delete", 5), ("5", 1))

    run(work())
    run(again())


def test_what_configs_do() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            topic = talk.broker.topics.by_name["t"]
            talk.broker.controller.configure_topic(topic, {"max.message.bytes": "100", "segment.bytes": "300"})
            assert error_name((await talk.produce("t", batch("x" * 200)))["errorCode"]) == "MESSAGE_TOO_LARGE"
            for _ in range(9):
                await talk.produce("t", batch("x" * 20))
            log = topic.partitions[0].log
            assert log is not None
            assert len(log.segments) >= 3
            talk.broker.controller.configure_topic(topic, {"retention.bytes": "200"})
            talk.broker.replicas.retain()
            assert log.size <= 500
            assert log.start_offset > 0
            talk.broker.controller.configure_topic(topic, {"retention.ms": "1"})
            talk.broker.replicas.retain()
            assert len(log.segments) == 1

    run(work())


ALTERED = [
    (altered(4, "1", "node.id"), "INVALID_REQUEST"),
    (altered(4, "1", "a.plugins.own"), "NONE"),
    (altered(4, "7", "log.cleaner.threads"), "INVALID_REQUEST"),
    (altered(4, "abc", "log.cleaner.threads"), "INVALID_REQUEST"),
    (altered(4, "", "log.cleaner.threads", 0, "abc"), "INVALID_REQUEST"),
    (altered(4, "1", "log.cleaner.threads", 0, "2"), "NONE"),
    (altered(4, "", "log.retention.ms", 0, None), "INVALID_REQUEST"),
    (altered(4, "", "log.retention.ms", 7), "UNKNOWN_SERVER_ERROR"),
    (altered(4, "", "log.retention.ms", 2), "INVALID_CONFIG"),
    (altered(4, "", "log.cleanup.policy", 2, "compact"), "NONE"),
    (altered(4, "", "min.insync.replicas", 0, "2"), "NONE"),
    (altered(4, "", "min.insync.replicas", 1, None), "INVALID_CONFIG"),
    (altered(4, "1", "min.insync.replicas", 0, "2"), "INVALID_CONFIG"),
    (altered(32, "g", "consumer.session.timeout.ms", 0, "50000"), "NONE"),
    (altered(32, "g", "consumer.session.timeout.ms", 0, "5"), "INVALID_CONFIG"),
    (altered(32, "g", "bogus"), "INVALID_CONFIG"),
    (altered(32, "", "consumer.session.timeout.ms", 0, "50000"), "INVALID_REQUEST"),
    (altered(16, "m", "interval.ms", 0, "50000"), "NONE"),
    (altered(16, "m", "interval.ms", 0, "5"), "INVALID_REQUEST"),
    (altered(16, "m", "bogus"), "INVALID_REQUEST"),
    (altered(16, "m", "match", 0, "foo"), "INVALID_CONFIG"),
    (altered(16, "m", "match", 0, "client_id=a.*"), "NONE"),
    (altered(16, "", "interval.ms", 0, "50000"), "INVALID_REQUEST"),
    (altered(8, "1", "root", 0, "DEBUG"), "NONE"),
    (altered(8, "1", "root", 0, "LOUD"), "INVALID_CONFIG"),
    (altered(8, "1", "root", 1, None), "INVALID_REQUEST"),
    (altered(8, "1", "kafka", 2, "INFO"), "INVALID_REQUEST"),
    (altered(8, "2", "root", 0, "INFO"), "INVALID_REQUEST"),
    (altered(1, "x", "a"), "INVALID_REQUEST"),
    (altered(2, "a b", "retention.ms"), "INVALID_TOPIC_EXCEPTION"),
    (altered(2, "", "retention.ms"), "INVALID_REQUEST"),
    (altered(2, "t", "min.cleanable.dirty.ratio", 0, "2"), "INVALID_CONFIG"),
    (altered(2, "t", "retention.ms", 0, "-2"), "INVALID_CONFIG"),
    (altered(2, "t", "retention.bytes", 0, "-5"), "NONE"),
    (altered(2, "t", "cleanup.policy", 0, ""), "NONE"),
    (altered(2, "t", "compression.gzip.level", 0, "0"), "INVALID_CONFIG"),
    (altered(2, "t", "leader.replication.throttled.replicas", 0, "x"), "INVALID_CONFIG"),
    (altered(2, "t", "leader.replication.throttled.replicas", 0, "0:1,1:1"), "NONE"),
]


@pytest.mark.parametrize(("body", "code"), ALTERED, ids=lambda each: each if isinstance(each, str) else None)
def test_configs_that_are_altered(body: dict[str, Any], code: str) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, body) == [code]

    run(work())


async def described(talk: Talk, kind: int, name: str, **more: Any) -> dict[str, dict[str, Any]]:
    resource = {"resourceType": kind, "resourceName": name, "configurationKeys": more.pop("names", None)}
    answer = (await talk(keys.DESCRIBE_CONFIGS, 4, {"resources": [resource], **more}))["results"][0]
    assert answer["errorCode"] == 0, answer
    return {each["name"]: each for each in answer["configs"]}


def test_eligible_leaders_need_one_min_insync_replicas_for_all_brokers() -> None:
    async def work() -> None:
        async with talking(config={"min.insync.replicas": "3"}, topic="t") as talk:
            kept = (await described(talk, 2, "t"))["min.insync.replicas"]
            assert (kept["value"], kept["configSource"]) == ("3", 3)
            update = {"feature": "eligible.leader.replicas.version", "maxVersionLevel": 0, "upgradeType": 2}
            body: dict[str, Any] = {"timeoutMs": 1000, "featureUpdates": [update], "validateOnly": False}
            assert await codes(talk, keys.UPDATE_FEATURES, 1, body) == ["NONE", "NONE"]
            own = altered(4, "1", "min.insync.replicas", 0, "2")
            assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, own) == ["NONE"]
            assert (await described(talk, 2, "t"))["min.insync.replicas"]["value"] == "2"
            update |= {"maxVersionLevel": 1, "upgradeType": 1}
            assert await codes(talk, keys.UPDATE_FEATURES, 1, body) == ["NONE", "NONE"]
            assert (await described(talk, 2, "t"))["min.insync.replicas"]["value"] == "3"

    run(work())


def test_configs_are_described_with_where_they_come_from() -> None:
    async def work() -> None:
        async with talking(config={"log.retention.hours": "2"}, topic="t") as talk:
            assert len(await described(talk, 2, "t")) == 37
            broker = await described(talk, 4, "1")
            assert len(broker) == 350
            assert broker["advertised.listeners"]["value"] == f"PLAINTEXT://{talk.broker.bootstrap}"
            assert broker["listeners"]["configSource"] == 4
            assert list(await described(talk, 4, "")) == ["min.insync.replicas"]
            assert (await described(talk, 2, "t"))["retention.ms"]["value"] == str(2 * 3600 * 1000)
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(4, "", "log.retention.ms", 0, "5000"))
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(4, "1", "log.retention.ms", 0, "6000"))
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(4, "", "mine", 0, "secret"))
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(2, "t", "retention.ms", 0, "7000"))
            rows = await described(talk, 2, "t", names=["retention.ms"], includeSynonyms=True)
            assert [tuple(each.values()) for each in rows["retention.ms"]["synonyms"]] == [
                ("retention.ms", "7000", 1),
                ("log.retention.ms", "6000", 2),
                ("log.retention.ms", "5000", 3),
                ("log.retention.hours", "2", 4),
                ("log.retention.hours", "168", 5),
            ]
            rows = await described(talk, 4, "")
            assert rows["log.retention.ms"]["value"] == "5000"
            assert (rows["mine"]["value"], rows["mine"]["isSensitive"]) == (None, True)
            assert (await described(talk, 8, "1"))["root"]["value"] == "INFO"
            rows = await described(talk, 32, "g", includeSynonyms=True)
            assert rows["share.session.timeout.ms"]["synonyms"][0]["name"] == "group.share.session.timeout.ms"
            assert len(rows) == 21 and len(await described(talk, 16, "m")) == 3

    run(work())


def test_a_config_is_not_said_to_come_from_one_that_stands_in_for_it() -> None:
    async def work() -> None:
        async with talking(config={"log.retention.hours": "2"}, topic="t") as talk:
            topic = await described(talk, 2, "t", includeSynonyms=True)
            shown = ("value", "configSource", "synonyms")
            assert [topic["retention.ms"][each] for each in shown] == ["7200000", 5, []]
            assert [topic["flush.ms"][each] for each in shown] == [str((1 << 63) - 1), 5, []]
            assert topic["segment.jitter.ms"]["synonyms"] == []
            broker = await described(talk, 4, "1", includeSynonyms=True)
            assert [broker["log.retention.ms"][each] for each in shown] == [None, 5, []]
            assert [each["source"] for each in broker["log.retention.hours"]["synonyms"]] == [4, 5]
            assert (await described(talk, 8, "1", includeSynonyms=True))["root"]["synonyms"] == []

    run(work())


def test_configs_are_documented_where_that_is_asked_for() -> None:
    async def work() -> None:
        async with talking(topic="t", config={"remote.read.latency.ms": "1"}) as talk:
            rows = await described(talk, 4, "1", includeDocumentation=True)
            assert rows["log.retention.ms"]["documentation"] == "As Apache Kafka's broker config log.retention.ms."
            assert "no effect" in rows["log.flush.interval.ms"]["documentation"]
            assert rows["remote.read.latency.ms"]["documentation"] is None
            assert (await described(talk, 4, "1"))["log.retention.ms"]["documentation"] is None
            documented = await described(talk, 2, "t", includeDocumentation=True)
            assert all(each["documentation"] for each in documented.values())
            assert (await described(talk, 8, "1", includeDocumentation=True))["root"]["documentation"] == ""

    run(work())


def test_groups_and_metrics_keep_their_configs(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(data=tmp_path) as talk:
            await talk(
                keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(32, "g", "share.isolation.level", 0, "read_committed")
            )

    async def again() -> None:
        async with talking(data=tmp_path) as talk:
            assert (await described(talk, 32, "g"))["share.isolation.level"]["value"] == "read_committed"

    run(work())
    run(again())


def test_configs_without_effect_are_noted() -> None:
    notes: list[str] = []

    async def work() -> None:
        config = {"listeners": "PLAINTEXT://:9092", "log.dirs": "/data", "num.io.threads": "4", "num.partitions": "2"}
        async with talking(Broker(config=config, note=notes.append), topic="t") as talk:
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(2, "t", "flush.ms"))
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(2, "t", "flush.ms"))

    run(work())
    names = ["listeners", "log.dirs", "num.io.threads", "flush.ms"]
    assert notes == [f"config {name} has no effect here" for name in names]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("share.isolation.level", "x", "INVALID_CONFIG"),
        ("share.auto.offset.reset", "sometime", "INVALID_CONFIG"),
        ("share.auto.offset.reset", "by_duration:-PT1H", "INVALID_CONFIG"),
        ("share.auto.offset.reset", "by_duration:xx", "INVALID_CONFIG"),
        ("share.auto.offset.reset", "by_duration:P", "INVALID_CONFIG"),
        ("share.auto.offset.reset", "by_duration:P1DT", "INVALID_CONFIG"),
        ("share.auto.offset.reset", "by_duration:P1DT2H3.5S", "NONE"),
        ("streams.num.standby.replicas", "9", "INVALID_CONFIG"),
        ("errors.deadletterqueue.topic.name", "a b", "NONE"),
    ],
)
def test_configs_of_groups_that_kafka_refuses(name: str, text: str, code: str) -> None:
    async def work() -> None:
        async with talking() as talk:
            assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(32, "g", name, 0, text)) == [code]

    run(work())


def test_a_group_s_own_configs_name_kafka_s_default_behind_them() -> None:
    async def work() -> None:
        async with talking() as talk:
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(32, "g", "share.auto.offset.reset", 0, "earliest"))
            asked = {"resourceType": 32, "resourceName": "g", "configurationKeys": ["share.auto.offset.reset"]}
            (row,) = (await talk(keys.DESCRIBE_CONFIGS, 4, {"resources": [asked], "includeSynonyms": True}))["results"]
            (config,) = row["configs"]
            assert [(each["value"], each["source"]) for each in config["synonyms"]] == [("earliest", 8), ("latest", 5)]

    run(work())
