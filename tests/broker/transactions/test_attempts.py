import pytest

from kcli.broker import Broker
from tests.broker.talk import run, talking
from tests.broker.transactions.producer import Producer


@pytest.mark.parametrize(("version", "answer"), [(1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")])
def test_old_versions_get_the_error_that_they_know(version: int, answer: str) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            old, new = Producer(talk), Producer(talk)
            await old.init()
            await new.init()
            assert await old.end(version=version) == answer

    run(work())


def test_faults_come_first() -> None:
    async def work() -> None:
        async with talking(Broker(faults=["api=EndTxn,error=NOT_COORDINATOR,count=1"]), topic="t") as talk:
            producer = Producer(talk, implicit=True)
            await producer.init()
            await producer.send("a")
            assert await producer.end() == "NOT_COORDINATOR"
            assert await producer.end() == "NONE"

    run(work())


def test_what_can_not_be_written_is_a_coordinator_that_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    async def work() -> None:
        async with talking(Broker(note=notes.append), topic="t") as talk:
            producer = Producer(talk)
            await producer.init()
            monkeypatch.setattr(talk.broker.transactions, "write", full)
            assert await producer.end() == "INVALID_TXN_STATE"
            assert await producer.add(0) == ["COORDINATOR_NOT_AVAILABLE"]

    notes: list[str] = []
    run(work())
    assert notes == ["transactions: No space left on device"]
