"""A rebuilt broker goes through its capture once more, with those who fetched: real captures, strictly compared."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from kcli.broker.rebuilt import capture_clock
from kcli.broker.rebuilt.capture_clock import CapturedState
from kcli.cli.main import main
from kcli.schemas.apikeys import FETCH
from tests.capture.messages import request, response
from tests.capture.wires import CLIENT, Wire, pcap
from tests.noting import noted

DATA = Path(__file__).parents[1] / "data"


def replayed(capsys: pytest.CaptureFixture[str], file: Path, *words: str) -> list[dict[str, dict[str, object]]]:
    """Each session of a strict replay that finds nothing."""
    command = ["fetch-session", "replay", str(file), "--compare", "strict", "--format", "jsonl", *words]
    assert main(command) == 0, capsys.readouterr()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_leaders_that_move_and_followers_that_fetch(capsys: pytest.CaptureFixture[str]) -> None:
    rows = replayed(capsys, DATA / "leader-change.pcap.gz", "--speed", "max")
    assert len(rows) == 9
    errors = {name.partition(" ")[2] for row in rows for name in row["live"]["partitionErrors"]}  # type: ignore[attr-defined]
    assert errors == {"FENCED_LEADER_EPOCH"}
    assert {row["live"]["replicaId"] for row in rows} == {-1}
    assert sum(row["live"]["recordsBytes"] for row in rows) > 50_000  # type: ignore[misc]


def test_brokers_that_do_not_lead_yet(capsys: pytest.CaptureFixture[str]) -> None:
    rows = replayed(capsys, DATA / "kraft-boot.pcap.gz", "--speed", "max")
    errors = {name.partition(" ")[2] for row in rows for name in row["live"]["partitionErrors"]}  # type: ignore[attr-defined]
    assert errors == {"FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_LEADER_EPOCH"}


@pytest.mark.parametrize("words", [("--speed", "max"), ("--speed", "200"), ("--speed", "max", "--repeat", "2")])
def test_the_same_sessions_are_evicted_and_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    rows = replayed(capsys, DATA / "fetch-session-eviction.pcap.gz", *words)
    faults = [row["live"]["sessionFaults"] for row in rows]
    runs = 2 if "--repeat" in words else 1
    assert faults.count({"FETCH_SESSION_ID_NOT_FOUND": 1}) == 8 * runs
    assert len(faults) == 14 * runs


def test_a_fetch_that_nobody_announced_does_not_wait() -> None:
    from kcli.broker.rebuilt.rebuild import rebuild
    from tests.broker.talk import talking

    async def work() -> None:
        broker = rebuild([str(DATA / "fetch-session-eviction.pcap.gz")], staged=True)
        async with talking(broker) as talk:
            answer = await talk.fetch(12, ("narrow", 0, 0))
            assert answer["responses"][0]["partitions"][0]["highWatermark"] > 0

    asyncio.run(work())


def sharing(fetchers: int, partitions: int, rounds: int) -> bytes:
    """A capture of fetchers that have all partitions of one topic in a session each. In each round each is told that
    one of them begins later now."""

    def exchange(turn: int, session: int, reported: range) -> tuple[bytes, bytes]:
        wanted = [{"partition": each, "fetchOffset": 99, "partitionMaxBytes": 100} for each in reported]
        shown = {"highWatermark": 99, "lastStableOffset": 99, "logStartOffset": turn}
        given = [{"partitionIndex": each, **shown} for each in reported]
        head = {"maxWaitMs": 0, "minBytes": 0, "sessionId": session if turn else 0, "sessionEpoch": turn}
        topics = [] if turn else [{"topic": "t", "partitions": wanted}]
        answer = {"sessionId": session, "responses": [{"topic": "t", "partitions": given}]}
        return request(FETCH, 7, turn, head | {"topics": topics}), response(FETCH, 7, turn, answer)

    wires = [Wire((CLIENT[0], 40_000 + number)).open() for number in range(fetchers)]
    for turn in range(rounds + 1):
        for number, wire in enumerate(wires):
            wire.now = max(each.now for each in wires) + 1
            asked, answer = exchange(turn, number + 1, range(turn - 1, turn) if turn else range(partitions))
            wire.client(asked).server(answer)
    return pcap(sorted(packet for wire in wires for packet in wire.packets))


def test_a_fetch_costs_what_it_looks_at_whoever_shares_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fetchers, partitions, rounds = 3, 40, 20
    file = tmp_path / "shared.pcap"
    file.write_bytes(sharing(fetchers, partitions, rounds))
    touched = noted(monkeypatch, CapturedState, "_set")
    rows = replayed(capsys, file)
    assert [row["live"]["fetches"] for row in rows] == [rounds + 1] * fetchers
    assert fetchers * partitions <= len(touched) <= fetchers * (partitions + 3 * rounds)


def test_where_an_older_session_stood_is_looked_for_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session older than its capture, each of whose answers is about another partition."""
    steps = 20
    wire = Wire().open()
    for turn in range(steps):
        shown = {"partitionIndex": turn, "highWatermark": 5, "lastStableOffset": 5, "logStartOffset": 0}
        head = {"maxWaitMs": 0, "minBytes": 0, "sessionId": 7, "sessionEpoch": turn + 1, "topics": []}
        answer = {"sessionId": 7, "responses": [{"topic": "t", "partitions": [shown]}]}
        wire.client(request(FETCH, 7, turn, head)).server(response(FETCH, 7, turn, answer))
    file = tmp_path / "older.pcap"
    file.write_bytes(pcap(wire.packets))
    places = noted(monkeypatch, capture_clock, "captured_key")
    (row,) = replayed(capsys, file)
    assert row["live"]["partitionsDelivered"] == 0
    assert row["live"]["fetches"] == steps
    assert len(places) == 2 * steps
