"""The facts of single connections, from which the tables about several connections are made (see `aggregates`)."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from kcli.capture.audit import ClientProfile
from kcli.capture.kafka.exchange import Exchange
from kcli.schemas.errors import error_name

REMEMBERED = 1 << 16  # connections that are remembered, and responses to ApiVersions


class ClientUses:
    """The versions that ApiVersions showed on each connection (counted as in `kcli audit`).

    A voice is the number of a connection's profile: the client's software and the versions that the broker offered.
    Connections with equal profiles have the same number.
    """

    def __init__(self) -> None:
        self.profiles: dict[str, ClientProfile] = {}
        self.voices: list[ClientProfile] = [ClientProfile()]
        self.numbers: dict[Any, int] = {identity(ClientProfile()): 0}
        self.learnt: dict[tuple[int, bytes, bytes], int] = {}

    def learn(self, item: Exchange, voice: int) -> int:
        """Return the voice of a connection after an ApiVersions. voice: the one before."""
        key = voice, item.request_frame[8:], (item.response_frame or b"")[4:]
        number = self.learnt.get(key)
        if number is None:
            before = self.voices[voice]
            profile = ClientProfile(before.software, before.version, before.negotiates, dict(before.offered))
            profile.learn(item)
            number = self.number(profile)
            if len(self.learnt) > REMEMBERED:
                self.learnt.clear()
            self.learnt[key] = number
        self.remember(item.connection, number)
        return number

    def remember(self, connection: str, number: int) -> None:
        """Record the voice of a connection."""
        self.profiles[connection] = self.voices[number]
        self.forget()

    def remember_all(self, numbers: dict[str, int]) -> None:
        """Record the voices of many connections, as `remember` does for one."""
        self.profiles |= {connection: self.voices[number] for connection, number in numbers.items()}
        self.forget()

    def forget(self) -> None:
        """Forget the oldest connections beyond REMEMBERED."""
        for connection in [*islice(self.profiles, max(len(self.profiles) - REMEMBERED, 0))]:
            del self.profiles[connection]

    def number(self, profile: ClientProfile) -> int:
        """Return the number of a voice; a new one if no voice is equal."""
        number = self.numbers.setdefault(identity(profile), len(self.voices))
        if number == len(self.voices):
            self.voices.append(profile)
        return number


def identity(profile: ClientProfile) -> tuple[Any, ...]:
    return profile.software, profile.version, profile.negotiates, tuple(sorted(profile.offered.items()))


def snapshot_parts(item: Exchange) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `snapshot_parts`, without the columns of the exchange that they begin with."""
    requested = {
        (topic["name"], each["partition"]): each
        for topic in (item.request or {})["topics"]
        for each in topic["partitions"]
    }
    for topic in (item.response or {}).get("topics", ()):
        for each in topic["partitions"]:
            wanted = requested.get((topic["name"], each["index"]))
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
