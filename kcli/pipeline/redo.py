"""Runs that are done again, because late, grown or forgotten captures change the rows of earlier runs.

The rows of a connection depend on all of its packets, in order. If a capture has grown, or has packets of connections
that earlier runs have read further, the captures of these runs are read again with it, starting with the connections
that were open before them. The new run replaces them all. If a capture is gone, it can't be read again; then the new
ones are read on their own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Any

from kcli.pipeline.context import RunContext
from kcli.pipeline.entry import Entry
from kcli.pipeline.journal import TIMELY, Journal, fingerprint
from kcli.pipeline.packets.kept_state import kept_by
from kcli.pipeline.packets.shuffle import ShuffledRange
from kcli.pipeline.storage import StoragePath, StoredFile

TOUCHED = ("connection_sums", "undecodable")  # rows of connections with packets: of exchanges, or of other bytes

Marked = tuple[StoredFile, str]  # a capture and its fingerprint


class LateError(Exception):
    """A run has read packets of connections that earlier runs had read further. firsts: from `first_times`."""

    def __init__(self, firsts: Mapping[str, int]) -> None:
        super().__init__()
        self.firsts = firsts


@dataclass(frozen=True, slots=True)
class Task:
    """Captures for a run to read, and the last runs, which it replaces.

    notes: texts on what could not be done; forgotten: captures that were read and must not be read any more
    """

    files: list[Marked]
    redone: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    forgotten: list[dict[str, Any]] = field(default_factory=list)


def since(journal: Journal, first_ns: int) -> list[Entry]:
    """Return the runs from the first one on that has read packets after this time (ns)."""
    return list(dropwhile(lambda entry: entry.clock <= first_ns, journal.entries))


def from_run_on(journal: Journal, runs: Iterable[int]) -> list[Entry]:
    """Return the runs from the earliest of these numbers on."""
    wanted = set(runs)
    return list(dropwhile(lambda entry: entry.run not in wanted, journal.entries))


def first_times(scattered: Iterable[ShuffledRange]) -> dict[str, int]:
    """Return {URI of a capture: time of its first packet (ns)}; captures without packets are left out."""
    found: dict[str, int] = {}
    for each in scattered:
        if each.first_ns:
            found[each.part.uri] = min(each.first_ns, found.get(each.part.uri, each.first_ns))
    return found


def again(journal: Journal, redone: Sequence[Entry], fresh: Sequence[Marked], without: Sequence[str] = ()) -> Task:
    """Return the task of reading runs' captures again with new ones. It goes back to a run whose preceding state is
    kept.

    without: URIs of captures to leave out. If a capture is gone, only the new ones are read.
    """
    number = len(journal.entries) - len(redone)
    while number and not journal.is_state_kept(journal.entries[number - 1]):
        number -= 1
    redone = journal.entries[number:]
    taken = {file.uri: (file, mark) for file, mark in fresh}
    for each in (each for entry in redone for each in entry.inputs):
        if each["uri"] in taken or each["uri"] in without:
            continue
        found = unchanged(each)
        if found is None:
            note = f"{each['uri']}: gone or changed since run {redone[-1].run}, so that it can't be read again"
            return Task(list(fresh), notes=[f"{note} with captures of the same time"])
        taken[each["uri"]] = found, each["print"]
    return Task(list(taken.values()), list(redone), forgotten=[each for entry in redone for each in entry.forgotten])


def unchanged(read: dict[str, Any]) -> StoredFile | None:
    """Return a capture that a run has read, if it still begins with the same bytes; None if it is another, or gone.

    A capture without a fingerprint is compared by size and time: it has grown, or has the same time.
    """
    place = StoragePath(read["uri"])
    try:
        info = place.info()
        if not info.is_file or info.size < read["size"]:
            return None
        now, then = place.stored(info), StoredFile(read["uri"], read["size"], read["changed"])
        if read["print"]:
            return now if fingerprint(then) == read["print"] else None
        return now if now.size > then.size or abs(now.changed - then.changed) < TIMELY else None
    except OSError:
        return None


def is_late(context: RunContext, firsts: Mapping[str, int], untouched: set[str]) -> bool:
    """Return whether a decoded run has rows of connections that earlier runs had read further.

    firsts: from `first_times`; untouched: connections of which the run has rows but no packets
    """
    journal = context.journal
    earlier = since(journal, min(firsts.values())) if firsts else []
    if not earlier:
        return False
    uris = [uri for entry in earlier for table in TOUCHED for uri in journal.lasting(entry, table)]
    known = connections(uris) | kept_by(earlier[-1], journal.output).connections()
    read = connections([uri for table in TOUCHED for uri in context.own_files(table)]) - untouched
    return not ends_of(read).isdisjoint(ends_of(known))


def ends_of(found: Iterable[str]) -> set[frozenset[str]]:
    """Return the two ends of each connection, unordered, because it may become known late which one is the server."""
    return {frozenset(connection.split("-")) for connection in found}


def connections(uris: Iterable[str]) -> set[str]:
    """Return the connections in the rows of files. Some rows have none, such as those of a damaged file."""
    import pyarrow.parquet

    found: set[str] = set()
    for uri in uris:
        with StoragePath(uri).open() as file:
            names = pyarrow.parquet.ParquetFile(file).read(["connection"]).column(0)
            found.update(names.drop_null().unique().to_pylist())
    return found
