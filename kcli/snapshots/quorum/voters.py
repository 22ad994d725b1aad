"""The voters of a quorum, as the control records of a log state them (KIP-853)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from kcli.errors import DecodeError, InputError
from kcli.schemas.field_codes import ControlType
from kcli.snapshots.quorum.startup import Cut
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.files import open_file
from kcli.snapshots.reading.framing import Batch, Fault, batches, release
from kcli.snapshots.reading.walk import opened, walk


class VoterKey(NamedTuple):
    """A voter. directory: None in a quorum of kraft.version 0, which names its voters only by id."""

    id: int
    directory: str | None = None
    address: str | None = None

    def is_node(self, node: int | None, directory: str | None) -> bool:
        """Return whether a node with this id and this directory id is the voter."""
        return self.id == node and self.directory in (None, directory)


def logged_voters(files: Sequence[str], dialect: str | None = None, cut: Cut | None = None) -> tuple[VoterKey, ...]:
    """Return the last voters in snapshots and segments, which are in the order of the log. Raises InputError.

    cut: where the log ends; a snapshot may follow that is newer
    """
    kept = [path for path in files if cut is None or path <= cut.path or not path.endswith(".log")]
    return last_voters(each for path in kept for each in controls(path, dialect, whole=path.endswith(".log"), cut=cut))


def last_voters(records: Iterable[tuple[int | None, Mapping[str, Any]]]) -> tuple[VoterKey, ...]:
    """Return the voters by control records, as (type, value); () below kraft.version 1."""
    kraft_version, voters = 0, tuple[VoterKey, ...]()
    for kind, value in records:
        if kind == ControlType.KRAFT_VERSION:
            kraft_version = value["kRaftVersion"]
        elif kind == ControlType.KRAFT_VOTERS:
            voters = tuple(map(voter_key, value["voters"]))
    return voters if kraft_version else ()


def controls(
    path: str, dialect: str | None, *, whole: bool, cut: Cut | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the control records of a file. whole: read all of it; else up to its first data batch, because a snapshot
    has them at its start. cut: where the log ends.
    """
    decoder = Decoder(dialect)
    with open_file(path) as file:
        for batch in batches(file.data):
            if isinstance(batch, Fault) or not (batch.is_control or whole):
                return
            if cut is not None and (path, batch.position) == (cut.path, cut.position):
                return
            if batch.is_control and batch.magic == 2:
                with suppress(DecodeError, InputError):  # `verify` reports it
                    yield from controls_in(opened(file.data, batch), batch, decoder)
            release(file.mapped, batch.position, batch.end)


def controls_in(records: memoryview, batch: Batch, decoder: Decoder) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records of a control batch about kraft.version and voters, as (type, value). Raises DecodeError."""
    for _, kind, _, start, end, problem in walk(records, batch):
        if kind in (ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS) and not problem:
            yield kind, decoder.read_control(kind, records[start:end])


def voter_key(value: Mapping[str, Any]) -> VoterKey:
    """Return a voter of a VotersRecord."""
    address = next((f"{each['host']}:{each['port']}" for each in value["endpoints"]), None)
    return VoterKey(value["voterId"], value["voterDirectoryId"], address)
