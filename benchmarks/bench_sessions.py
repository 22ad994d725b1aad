"""Fetch sessions: `explain` and `lint` beside `decode pcap --format jsonl`, and the state machines at two sizes.

    python -m benchmarks.bench_sessions [FETCHES]       default: 100000, in 100 sessions of 1,200 partitions

Commands run in turn, whole, with their output thrown away; a ratio is the median of the rounds' ratios. The machines:
one partition of a session moves in each fetch, and the session has 1,000 or 100,000 of them.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.fetch_capture import write_capture
from benchmarks.turns import spent, turn
from kcli.sessions.broker import BrokerSessions
from kcli.sessions.client import ClientSession
from kcli.sessions.draft import DraftBroker, DraftClient
from kcli.sessions.values import Partition, Position, Result

ROUNDS = 7
COMMANDS = (("decode", "pcap", "--format", "jsonl"), ("fetch-session", "lint"), ("fetch-session", "explain"))
SIZES = (1_000, 100_000)
STEPS = 2_000


def run(command: tuple[str, ...], capture: Path) -> tuple[float, int]:
    """(seconds, greatest kilobytes of memory) of one command."""
    found = spent([sys.executable, "-m", "kcli.cli", *command, "--quiet", str(capture)])
    return found.seconds, found.peak


def commands(fetches: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "sessions.pcap"
        write_capture(capture, fetches=fetches)
        print(f"{fetches:,} fetches in 100 sessions of 1,200 partitions, {capture.stat().st_size / 1e6:.0f} MB")
        rounds = [[run(command, capture) for command in COMMANDS] for _ in range(ROUNDS)]
        for number, command in enumerate(COMMANDS):
            seconds = statistics.median(each[number][0] for each in rounds)
            ratio = statistics.median(each[number][0] / each[0][0] for each in rounds)
            memory = max(each[number][1] for each in rounds) / 1024
            print(f"  {' '.join(command):32} {seconds:7.3f} s   {ratio:4.2f} x decode   {memory:5.0f} MiB")


def partition(number: int) -> Partition:
    return f"topic-{number % 100}", number // 100


def partitions(count: int) -> list[Partition]:
    return [partition(number) for number in range(count)]


class Design:
    """A session under way, with its two sides."""

    def __init__(self, client: Any, broker: Any, names: list[Partition]) -> None:
        self.client, self.broker = client, broker
        for name in names:
            self.client.want(name, Position(0))
        self.fetch(dict.fromkeys(names, Result(0, 0, 0)))

    def answer(self, request: Any, news: dict[Partition, Result]) -> Any:
        raise NotImplementedError

    def fetch(self, news: dict[Partition, Result]) -> tuple[float, float]:
        """Seconds spent by the client and by the broker on a fetch that tells these news."""
        a = time.perf_counter()
        request = self.client.build()
        b = time.perf_counter()
        for name in news:
            self.broker.mark(name)
        response = self.answer(request, news)
        c = time.perf_counter()
        self.client.accept(request, response)
        for name, result in response.partitions.items():
            if result.records_size:
                self.client.want(name, Position(result.high_watermark))
        return b - a + time.perf_counter() - c, c - b


class Final(Design):
    """KIP-227 as it came out."""

    def __init__(self, names: list[Partition]) -> None:
        super().__init__(ClientSession(), BrokerSessions(), names)

    def answer(self, request: Any, news: dict[Partition, Result]) -> Any:
        fetch = self.broker.begin(request, 0)
        return fetch.answer({name: news.get(name, Result(0, 0, 0)) for name, _ in fetch.candidates()}, 0)


class Draft(Design):
    """The same in the draft's design."""

    def __init__(self, names: list[Partition]) -> None:
        super().__init__(DraftClient(replica_id=1), DraftBroker(), names)

    def answer(self, request: Any, news: dict[Partition, Result]) -> Any:
        error = self.broker.begin(request)
        looked = self.broker.candidates(request)
        return self.broker.answer(request, {name: news.get(name, Result(0, 0, 0)) for name, _ in looked}, error)


def machines(design: type[Final | Draft]) -> None:
    """Medians over many fetches, the two sizes in turn."""
    sessions = [design(partitions(count)) for count in SIZES]
    turn()
    spent: list[list[tuple[float, float]]] = [[], []]
    for step in range(1, STEPS):
        for number, count in enumerate(SIZES):
            name = partition(step * 7919 % count)
            spent[number].append(sessions[number].fetch({name: Result(step, step, 0, records_size=100)}))
    for side, label in enumerate(("client", "broker")):
        small, big = (statistics.median(each[side] for each in times) * 1e6 for times in spent)
        text = f"{small:5.1f} us with {SIZES[0]:,} partitions, {big:5.1f} us with {SIZES[1]:,}"
        print(f"  {design.__name__.lower():6} {label}: {text}   {big / small:4.2f} x")


def main() -> None:
    commands(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
    print(f"an incremental fetch of which one partition moves, {STEPS:,} times")
    machines(Final)
    machines(Draft)


if __name__ == "__main__":
    main()
