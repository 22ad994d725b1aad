"""Facts of single connections, from which the tables that look across connections are made (see `aggregates`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kcli.capture.audit import Talk
from kcli.capture.io.files import FOREVER
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.columns import address_of
from kcli.pipeline.partitions import Answer
from kcli.schemas.apikeys import API_VERSIONS
from kcli.schemas.errors import error_name

Put = Callable[[str, tuple[Any, ...]], None]

OPEN_RUNS = 200_000  # after which all are put
REMEMBERED = 1 << 16  # connections, and what was said in answers to ApiVersions
APIS = {0: "PRODUCE", 1: "FETCH"}
LEADERSHIP = (6, 74)  # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH


class Outcomes:
    """What came of asking for a partition, on one connection: answers of one kind in a row are one fact.

    Only errors of leadership and answers without an error matter here. A run in two pieces says the same; where the
    core has runs of its own, none goes on over an error.
    """

    def __init__(self, put: Put) -> None:
        self.put = put
        self.on_error: Callable[[], None] = lambda: None  # the core's runs end here
        self.runs: dict[tuple[str, str | None, str, str | None, int], list[Any]] = {}

    def add(self, item: Exchange, who: tuple[Any, ...], answers: Sequence[Answer]) -> None:
        """Take in the answers of one exchange. who: the columns that all tables of exchanges begin with."""
        response = item.response
        if response is None or response.get("errorCode"):
            return
        endpoints = {each["nodeId"]: each for each in response.get("nodeEndpoints", ())}
        ns = item.response_ns or item.request_ns
        for answer in answers:
            if answer.error and answer.error not in LEADERSHIP:
                continue
            key = (item.connection, who[4], APIS[item.api_key], answer.topic or answer.topic_id, answer.partition)
            run = self.runs.get(key)
            if run is not None and run[0] == answer.error:
                run[3] = ns
                run[4] += 1
                continue
            if run is not None:
                self.put_run(key, run)
            self.runs[key] = [answer.error, item.request_ns, ns, ns, 1, *hint(answer, endpoints)]
        failed = any(answer.error in LEADERSHIP for answer in answers)
        if failed:
            self.on_error()
        if failed or len(self.runs) > OPEN_RUNS:
            self.finish()

    def put_run(self, key: tuple[str, str | None, str, str | None, int], run: list[Any]) -> None:
        """Put the row of a run of answers that has ended."""
        connection, client_id, api, topic, partition = key
        server, client = ends_of(connection)
        self.put("outcomes", (connection, server, client_id, address_of(client), api, topic, partition, *run))

    def finish(self) -> None:
        """Put all runs that are open, and begin anew."""
        for key, run in self.runs.items():
            self.put_run(key, run)
        self.runs.clear()


def hint(answer: Answer, endpoints: dict[int, Any]) -> tuple[int, str | None]:
    """Who leads, as the broker said (KIP-951)."""
    leader = ((answer.answered or {}).get("currentLeader") or {}).get("leaderId", -1) if answer.error else -1
    node = endpoints.get(leader)
    return leader, None if node is None else f"{node['host']}:{node['port']}"


def ends_of(connection: str) -> tuple[str, str]:
    """(server, client) of "server-client"; addresses have no dash."""
    server, _, client = connection.partition("-")
    return server, client


@dataclass(slots=True)
class Sums:
    """What exchanges of a connection come to. Bytes with headers and lengths; times in ns. client: (when it was
    complete, client id) of the first exchange that had one."""

    client: tuple[int, str] | None = None
    first: int = FOREVER
    last: int = 0
    requests: int = 0
    unanswered: int = 0
    with_errors: int = 0
    request_bytes: int = 0
    response_bytes: int = 0

    def row(self, connection: str) -> tuple[Any, ...]:
        """Of `connection_sums`, which TCP says nothing of."""
        completed, client_id = self.client or (None, None)
        counts = (self.requests, self.unanswered, self.with_errors, self.request_bytes, self.response_bytes)
        return (connection, client_id, completed, self.first // 1000, self.last // 1000, *counts, None, None)


class ConnectionSums:
    """What the exchanges of each connection come to."""

    def __init__(self, put: Put) -> None:
        self.put = put
        self.sums: dict[str, Sums] = {}

    def add(self, item: Exchange, completed: int, failed: bool) -> None:
        """Count an exchange. completed: ns; failed: it was answered with an error."""
        sums = self.sums.setdefault(item.connection, Sums())
        if item.client_id is not None and (sums.client is None or completed < sums.client[0]):
            sums.client = completed, item.client_id
        sums.first, sums.last = min(sums.first, item.request_ns), max(sums.last, item.request_ns)
        sums.requests += 1
        sums.unanswered += item.response_bytes is None
        sums.with_errors += failed
        sums.request_bytes += item.request_bytes
        sums.response_bytes += item.response_bytes or 0
        if len(self.sums) > REMEMBERED:
            self.finish()

    def end(self, connection: str, round_trip: int, retransmissions: int) -> None:
        """Put what TCP says of a connection. round_trip: ns, -1: not known."""
        trip = round_trip / 1e6 if round_trip >= 0 else None
        self.put("connection_sums", (connection, None, None, None, None, 0, 0, 0, 0, 0, trip, retransmissions))

    def finish(self) -> None:
        """Put a row for each connection, and begin anew."""
        for connection, sums in self.sums.items():
            self.put("connection_sums", sums.row(connection))
        self.sums.clear()


class ClientUses:
    """Versions used on each connection, and what ApiVersions said there (as `kcli audit` counts).

    A voice is what client and broker of a connection have said of themselves; connections share them, by number.
    """

    def __init__(self, put: Put) -> None:
        self.put = put
        self.talks: dict[str, Talk] = {}
        self.voices: list[Talk] = [Talk()]
        self.numbers: dict[Any, int] = {said(Talk()): 0}
        self.heard: dict[tuple[int, bytes, bytes], int] = {}
        self.used: Counter[tuple[str, str | None, str | None, str | None, bool, int, int, bool]] = Counter()
        self.ask: Callable[[str], int | None] = lambda connection: None  # what voice the core knows

    def add(self, item: Exchange, client_id: str | None) -> None:
        """Count an exchange."""
        talk = self.voices[self.voice(item.connection)]
        if item.api_key == API_VERSIONS:
            talk = self.voices[self.learn(item, self.number(talk))]
        free = talk.offered.get(item.api_key) != item.api_version
        who = (item.connection, client_id, talk.software, talk.version, talk.negotiates)
        self.used[(*who, item.api_key, item.api_version, free)] += 1

    def learn(self, item: Exchange, voice: int) -> int:
        """The voice after an ApiVersions on a connection that had `voice` before."""
        key = voice, item.request_frame[8:], (item.response_frame or b"")[4:]
        number = self.heard.get(key)
        if number is None:
            before = self.voices[voice]
            talk = Talk(before.software, before.version, before.negotiates, dict(before.offered))
            talk.learn(item)
            number = self.number(talk)
            if len(self.heard) > REMEMBERED:
                self.heard.clear()
            self.heard[key] = number
        self.remember(item.connection, number)
        return number

    def remember(self, connection: str, number: int) -> None:
        """Note the voice of a connection."""
        self.talks[connection] = self.voices[number]
        self.forget()

    def remember_all(self, numbers: dict[str, int]) -> None:
        """Note the voices of many connections, as `remember` does for one."""
        self.talks |= {connection: self.voices[number] for connection, number in numbers.items()}
        self.forget()

    def forget(self) -> None:
        """Forget the oldest connections beyond REMEMBERED."""
        for connection in [*islice(self.talks, max(len(self.talks) - REMEMBERED, 0))]:
            del self.talks[connection]

    def voice(self, connection: str) -> int:
        """The number of a connection's voice; 0: nothing was said."""
        known = self.ask(connection)
        if known is not None:
            return known
        talk = self.talks.get(connection)
        return 0 if talk is None else self.number(talk)

    def number(self, talk: Talk) -> int:
        """The number of a voice, a new one where nobody had the same."""
        number = self.numbers.setdefault(said(talk), len(self.voices))
        if number == len(self.voices):
            self.voices.append(talk)
        return number

    def finish(self) -> None:
        """Put a row for each combination that was counted, and begin anew."""
        for (connection, *who, negotiates, key, version, free), count in self.used.items():
            client_id, software, software_version = who
            address = address_of(ends_of(connection)[1])
            row = (connection, client_id, address, software, software_version, negotiates, key, version, count, free)
            self.put("client_uses", row)
        self.used.clear()


def said(talk: Talk) -> tuple[Any, ...]:
    return talk.software, talk.version, talk.negotiates, tuple(sorted(talk.offered.items()))


def snapshot_parts(item: Exchange) -> Iterator[tuple[Any, ...]]:
    """Rows of `snapshot_parts`, behind who asked."""
    asked = {
        (topic["name"], each["partition"]): each
        for topic in (item.request or {})["topics"]
        for each in topic["partitions"]
    }
    for topic in (item.response or {}).get("topics", ()):
        for each in topic["partitions"]:
            wanted = asked.get((topic["name"], each["index"]))
            snapshot = (wanted or each)["snapshotId"]
            error = error_name(each["errorCode"]) if each["errorCode"] else None
            row = (
                topic["name"],
                each["index"],
                snapshot["endOffset"],
                snapshot["epoch"],
                each["position"],
                each["size"],
            )
            yield (*row, len(each["unalignedRecords"] or b""), error, item.response_ns)
