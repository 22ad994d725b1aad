"""Adds topic names to rows of connections on which they were not seen. (`kcli decode pcap` reads all connections at
once and has the names.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from kcli.jsontext import dumps
from kcli.pipeline.context import RunContext
from kcli.pipeline.packets.decoding import Decoded
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.writing import NAMED, WrittenFile, rewrite, with_column
from kcli.schemas.definition import ZERO_UUID
from kcli.tables.arrays import column_of
from kcli.topic_names import METADATA_ID

if TYPE_CHECKING:
    from kcli.core.codec.topic_names import NameInserter

FEW_ROWS = 5000  # rows that the driver names itself, at most
KEPT = frozenset({ZERO_UUID, METADATA_ID})  # the id for no topic, and the id of the cluster's metadata

Names = Mapping[str, tuple[str, int]]  # topic id -> name, and the time at which it was learnt (ns)


def texts_of(names: Names) -> dict[str, str]:
    """Return the names by topic id."""
    return {topic_id: name for topic_id, (name, _) in names.items()}


def names_in(uri: str) -> Names:
    """Return the names in a file of `topic_names`, each with the earliest time for its topic id."""
    import pyarrow.parquet

    with StoragePath(uri).open() as file:
        table = pyarrow.parquet.ParquetFile(file).read().sort_by([("learnt_ns", "descending")])
    rows = (table.column(name).to_pylist() for name in ("topic_id", "topic", "learnt_ns"))
    return {topic_id: (name, since) for topic_id, name, since in zip(*rows, strict=True)}


def name_topics(uri: str, table: str, names: Names) -> None:
    """Write a file again with the topic names that were missing: a file of `exchanges`, or of a table with columns
    `topic` and `topic_id`.

    In exchanges a name is shown from the time at which it was learnt, as in `decode pcap`; in other tables always.
    """
    from kcli.core.codec.topic_names import NameInserter

    known = NameInserter({topic: (dumps(name).encode(), since) for topic, (name, since) in names.items()})
    rewrite(uri, lambda rows: name_exchanges(rows, known) if table == "exchanges" else name_columns(rows, names))


def name_columns(batch: Any, names: Names) -> Any:
    """Fill in the missing topic names of a batch of rows by their topic ids."""
    import pyarrow.compute

    ids = batch.column("topic_id").combine_chunks().dictionary_encode()
    known = [names.get(topic_id, (None, 0))[0] for topic_id in ids.dictionary.to_pylist()]
    found = column_of(known, pyarrow.string()).take(ids.indices)
    return with_column(batch, "topic", pyarrow.compute.coalesce(batch.column("topic"), found))


def name_exchanges(batch: Any, known: NameInserter) -> Any:
    import pyarrow

    moments = batch.column("completed_ns").to_numpy()
    for column in ("request", "response"):
        texts = pyarrow.concat_arrays(batch.column(column).chunks)
        valid, offsets, data = texts.buffers()
        if data is None:
            continue
        ends = numpy.frombuffer(offsets, numpy.int32)[: len(texts) + 1]
        made = known.insert(numpy.frombuffer(data, numpy.uint8), ends, moments)
        if made is not None:
            fresh, ends = map(pyarrow.py_buffer, made)
            whole = pyarrow.Array.from_buffers(pyarrow.string(), len(texts), [valid, ends, fresh])
            batch = with_column(batch, column, whole)
    return batch


class LearnedNames:
    """The topic names learnt in all runs, and the rows of this run that still lack one."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.read_files: dict[str, Names] = {}  # by file of `topic_names`; each file is read once in a run
        self.known: Names = {}

    def read(self) -> Names:
        """Return the names of all runs, each with the earliest time for its topic id."""
        return self.named_in(self.context.files("topic_names"))

    def named_in(self, uris: Sequence[str]) -> Names:
        """Return the names in files of `topic_names`, each with the earliest time for its topic id. Each file is read
        once in a run.
        """
        known: dict[str, tuple[str, int]] = {}
        for uri in uris:
            if uri not in self.read_files:
                self.read_files[uri] = names_in(uri)
            for topic_id, (name, since) in self.read_files[uri].items():
                if topic_id not in known or since < known[topic_id][1]:
                    known[topic_id] = name, since
        return known

    def name(self, decoded: Sequence[Decoded]) -> None:
        """Add topic names to a share's rows if its own connections did not tell them."""
        self.known = self.read()
        learnt = [each.unnamed & self.known.keys() for each in decoded]
        known = {topic: self.known[topic] for topics in learnt for topic in topics}
        files = [file for each, topics in zip(decoded, learnt, strict=True) for file in to_name(each, topics)]
        tasks = [(self.context.uri(file.path), file.table) for file in files]
        if sum(file.rows for file in files) <= FEW_ROWS:  # quicker than handing it out
            rename(known, tasks)
            return
        count = 2 * self.context.cores if len(tasks) > 1 else 1
        groups = [group for number in range(count) if (group := tasks[number::count])]
        self.context.hand_out("naming topics", groups, partial(rename, known))


def to_name(decoded: Decoded, topics: set[str]) -> list[WrittenFile]:
    """Return the files with topic ids whose name was unknown and is known now. Kafka's own ids are not searched for in
    rows: if one of them has a name after all, any row may lack it.
    """
    everywhere = not topics.isdisjoint(KEPT)
    files = [file for file in (*decoded.files, *decoded.passing) if file.table in NAMED]
    return [file for file in files if topics and (file.nameless or everywhere)]


def rename(known: Names, files: Sequence[tuple[str, str]]) -> None:
    for uri, table in files:
        name_topics(uri, table, known)
